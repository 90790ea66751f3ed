// The Speed panel's half in the worker: the parts of every block, LayerNorm beside RMSNorm, and time against rows and width.
import { estimate, HEAVY_BYTES, measure, rowsWithin } from '../../compute.js';
import { completed } from '../../fields.js';
import { blockToTime, breakdown, partsOf, rivalsOf } from './parts.js';

const ROWS = [1, 2, 4, 8, 16, 64, 256, 1024];
const WIDTHS = [32, 64, 128, 256, 512, 768, 1024];
const SWEEP_ROWS = 64; // of the sweep over widths; the page says so
const SWEEP_FLOPS = 3e8; // of one pass: a tenth of a second on a phone
const PARTS = { batches: 7, milliseconds: 6 };
const SWEEP = { batches: 5, milliseconds: 4 };
const KEPT = 400; // each some hundred bytes

/** By its text: what has been measured stays, as one comes back to the panel. */
const kept = new Map();

/**
 * As in panels/runs.js. Sends parts: of each configuration breakdown() with its rows, or { reason }; norms: of each width
 * { d, rows, times }; sweeps: { rows: { sizes, lines }, width: { sizes, lines } }, a line of each configuration: times, null
 * where it is too large or impossible.
 */
export async function speedRun({ configs, rows, variant }, { an, undisturbed, progress, send }) {
  const sweeps = { rows: ROWS, width: WIDTHS };
  const steps = configs.length * 2 + ROWS.length + WIDTHS.length;
  let done = 0;
  const pause = async () => {
    progress(done, steps);
    return undisturbed();
  };
  const known = async (what, make) => {
    const text = JSON.stringify([variant, what]);
    if (!kept.has(text)) kept.set(text, await make());
    if (kept.size > KEPT) kept.delete(kept.keys().next().value);
    return kept.get(text);
  };
  const time = (subjects, options) => measure(subjects, { ...options, pause });

  const parts = [];
  for (const fields of configs) {
    parts.push(await known(['parts', fields, rows], () => partsTimes(an, fields, rows, time)));
    done++;
    send({ parts: [...parts] });
  }
  const norms = [];
  for (const d of new Set(parts.flatMap((one) => one.d ?? []))) {
    norms.push(await known(['norms', d, rows], () => normTimes(an, d, rows, time)));
    done++;
    send({ norms: [...norms] });
  }
  for (const [name, sizes] of Object.entries(sweeps)) {
    const lines = configs.map(() => []);
    for (const size of sizes) {
      for (const [i, fields] of configs.entries()) {
        const at = name === 'rows' ? [fields, size] : [scaled(fields, size, an), SWEEP_ROWS];
        lines[i].push(await known(['sweep', ...at], () => passTime(an, ...at, time)));
      }
      done++;
    }
    send({ [name]: { sizes, lines } });
  }
}

const isHeavy = (an, fields) => estimate(completed(fields, an.fields)).bytes > HEAVY_BYTES;

/** A scope that may wait: what is made in it is given back at its end. */
async function within(an, act) {
  const made = [];
  const own = new Proxy(an, {
    get(target, name) {
      const value = target[name];
      if (typeof value !== 'function') return value;
      return (...given) => {
        const result = value.apply(target, given);
        if (['block', 'ffn', 'tensor', 'zeros', 'random'].includes(name)) made.push(result);
        return result;
      };
    },
  });
  try {
    return await act(own);
  } finally {
    for (const thing of made) thing.dispose();
  }
}

async function partsTimes(an, fields, asked, time) {
  if (isHeavy(an, fields)) return { reason: 'large' };
  const rows = rowsWithin(asked, estimate(completed(fields, an.fields)));
  try {
    return await within(an, async (own) => {
      const { values, subjects } = partsOf(own, fields, rows);
      return { rows, d: values.d_model, ...breakdown(subjects, await time(subjects, PARTS)) };
    });
  } catch (error) {
    if (!error.code) throw error;
    return { reason: 'error' }; // said where the block itself stands
  }
}

const normTimes = (an, d, rows, time) =>
  within(an, async (own) => {
    const [layer, rms] = await time(rivalsOf(own, rows, d), PARTS);
    return { d, rows, layer, rms };
  });

/** The same configuration in another width, its hidden one in proportion. */
function scaled(fields, width, an) {
  const { d_model, d_ff } = completed(fields, an.fields);
  return { ...fields, d_model: width, ...(d_ff && { d_ff: Math.max(1, Math.round((d_ff * width) / d_model)) }) };
}

/** null where it would take too long, or where there is no such block (heads or groups that do not divide its width). */
async function passTime(an, fields, rows, time) {
  const size = estimate(completed(fields, an.fields));
  if (size.bytes > HEAVY_BYTES || rowsWithin(rows, size, SWEEP_FLOPS) < rows) return null;
  try {
    return await within(an, async (own) => {
      const block = blockToTime(own, fields);
      const x = own.random([1, rows, fields.d_model ?? block.config.d_model], { seed: 1 });
      const [{ median, low, high }] = await time([{ run: () => block.forward(x).dispose() }], SWEEP);
      return { median, low, high };
    });
  } catch (error) {
    if (!error.code) throw error;
    return null;
  }
}
