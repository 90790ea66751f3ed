// The Speed panel's half in the worker: the parts of every block, LayerNorm beside RMSNorm, and time against rows and width.
import { estimate, HEAVY_BYTES, measure, rowsWithin } from '../../compute.js';
import { completed } from '../../fields.js';
import { normsOf } from './figures.js';
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
 * As in panels/runs.js. Sends parts: of each configuration breakdown() with its rows and its width d, or { reason }, with rows
 * and d where there is such a block; norms: of each such shape { d, rows, layer, rms },
 * without the times where the width itself is refused; rows and width: { sizes, lines, reasons },
 * a line of each configuration: times, null where it is too large or impossible; a reason where it is so throughout, else null.
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
  // On as many tokens as the block had: else the share of its time would be of another amount of work.
  const norms = [];
  for (const one of parts) {
    if (one.d && !normsOf(norms, one)) {
      norms.push(await known(['norms', one.d, one.rows], () => normTimes(an, one, time)));
      send({ norms: [...norms] });
    }
    done++;
  }
  for (const [name, sizes] of Object.entries(sweeps)) {
    const passes = configs.map(() => []);
    for (const size of sizes) {
      for (const [i, fields] of configs.entries()) {
        const at = name === 'rows' ? [fields, size] : [scaled(fields, size, an), SWEEP_ROWS];
        passes[i].push(await known(['sweep', ...at], () => passTime(an, ...at, time)));
      }
      done++;
    }
    const lines = passes.map((line) => line.map((pass) => (pass.reason ? null : pass)));
    const reasons = passes.map((line) => (line.every(({ reason }) => reason) ? line[0].reason : null));
    send({ [name]: { sizes, lines, reasons } });
  }
}

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
  const values = completed(fields, an.fields);
  const size = estimate(values);
  const rows = rowsWithin(asked, size);
  if (size.bytes > HEAVY_BYTES) return { reason: 'large', rows, d: values.d_model };
  try {
    return await within(an, async (own) => {
      const subjects = partsOf(own, fields, rows);
      return { rows, d: values.d_model, ...breakdown(subjects, await time(subjects, PARTS)) };
    });
  } catch (error) {
    if (!error.code) throw error;
    return { reason: 'error' }; // said where the block itself stands
  }
}

async function normTimes(an, { d, rows }, time) {
  try {
    return await within(an, async (own) => {
      const [layer, rms] = await time(rivalsOf(own, rows, d), PARTS);
      return { d, rows, layer, rms };
    });
  } catch (error) {
    if (!error.code) throw error;
    return { d, rows }; // of a block that is refused for its width; said where it stands
  }
}

/** The same configuration in another width, its hidden one in proportion. */
function scaled(fields, width, an) {
  const { d_model, d_ff } = completed(fields, an.fields);
  return { ...fields, d_model: width, ...(d_ff > 0 && { d_ff: Math.max(1, Math.round((d_ff * width) / d_model)) }) };
}

/** { reason } where it would take too long, or where there is no such block (heads or groups that do not divide its width). */
async function passTime(an, fields, rows, time) {
  const size = estimate(completed(fields, an.fields));
  if (size.bytes > HEAVY_BYTES) return { reason: 'large' };
  if (rowsWithin(rows, size, SWEEP_FLOPS) < rows) return { reason: 'long' };
  try {
    return await within(an, async (own) => {
      const block = blockToTime(own, fields);
      const x = own.random([1, rows, fields.d_model ?? block.config.d_model], { seed: 1 });
      const [{ median, low, high, count }] = await time([{ run: () => block.forward(x).dispose() }], SWEEP);
      return { median, low, high, count };
    });
  } catch (error) {
    if (!error.code) throw error;
    return { reason: 'impossible' };
  }
}
