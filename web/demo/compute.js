// Runs configurations and times them. No DOM and no worker: `an` is an instance of the package, so Node's tests run it too.
import { blockOf } from './fields.js';
import { agree, medianSpread, seededNormal, summarize } from './numbers.js';
import { outputOf, summarizeStages, traced } from './trace.js';

// A forward pass of more work than this takes fewer rows, so that one stays far below a second on a phone.
const MAX_FLOPS = 1e9;
/** Beyond this a block is measured by itself, and its memory is given back before the next one is made. */
export const HEAVY_BYTES = 64e6;
// Beyond this the steps inside the block are not looked at: they would hold its weights a second time.
const MAX_TRACE_BYTES = 128e6;

/** The module's lists as plain objects, for the page. */
export function describe(an) {
  const plain = (list, keys) => Array.from(list, (entry) => Object.fromEntries(keys.map((key) => [key, entry[key]])));
  return {
    version: an.version,
    variant: an.variant,
    capabilities: JSON.parse(JSON.stringify(an.capabilities)),
    fields: plain(an.fields, ['name', 'type', 'default', 'min', 'max', 'group', 'help', 'options']).map((field) => ({
      ...field,
      min: field.name === 'layer' ? 1 : field.min, // 0 is the whole stack
      options: field.options && [...field.options],
    })),
    activations: plain(an.activations, ['name', 'params', 'formula', 'source']).map((entry) => ({
      ...entry,
      params: plain(entry.params, ['name', 'default']),
    })),
    norms: plain(an.norms, ['name', 'kind', 'eps', 'affine', 'formula', 'source']),
    placements: plain(an.placements, ['name', 'formula', 'help']),
  };
}

/** A block's size by its fields alone, before anything is made. */
export function estimate(values) {
  const { d_model, d_ff, gated, mixing } = values;
  const ffn = d_model * (d_ff ?? 4 * d_model) * (gated ? 3 : 2);
  const weights = ffn + d_model * d_model * ({ mean: 2, attention: 4 }[mixing] ?? 0);
  // Attention's scores and sums are of every row with every other.
  return { bytes: 4 * weights, flopsPerRow: 2 * weights, flopsPerPair: mixing === 'attention' ? 4 * d_model : 0 };
}

/** As many rows of one sequence as stay within the limit of work. */
export function rowsWithin(rows, { flopsPerRow, flopsPerPair }, limit = MAX_FLOPS) {
  const root = Math.sqrt(flopsPerRow ** 2 + 4 * flopsPerPair * limit);
  return Math.max(1, Math.min(rows, Math.floor((2 * limit) / (flopsPerRow + root))));
}

/** The rows that a configuration gets, seeded or from the file: one sequence. */
export function makeInput(values, { rows, seed, inputMean, inputStd, file }) {
  const d = values.d_model;
  if (file) checkRows(file.shape, d);
  const given = file ? file.data.length / d : rows;
  const used = rowsWithin(given, estimate(values));
  const data = file ? file.data.slice(0, used * d) : seededNormal(seed, used * d, inputMean, inputStd);
  return { data, shape: [1, used, d], rows: used, given };
}

// Rows of another width could be cut up into such of this one, and would mean nothing.
function checkRows(shape, d) {
  const last = shape[shape.length - 1];
  if (last === d) return;
  const message = `the input file has ${last} numbers in a row, d_model is ${d}`;
  throw Object.assign(new Error(message), { code: 'SHAPE_MISMATCH' });
}

/** A block with seeded weights, replaced by a trained model's where it has such a parameter; without dropout. */
export function makeBlock(an, fields, seed, trained) {
  const config = { ...blockOf(fields), dropout: 0, residual_dropout: 0 };
  // Matrices that are replaced anyway: the quickest to make, which is not so of all that mixing has beside.
  const isWhole = trained && (fields.mixing ?? 'none') === 'none';
  const block = an.block(isWhole ? { ...config, init: 'zero' } : config, { seed });
  if (!trained) return { block, seeded: [] };
  try {
    for (const { name, data } of trained) block.parameters[name]?.set(data);
  } catch (error) {
    block.dispose();
    throw error;
  }
  const names = new Set(trained.map(({ name }) => name));
  return { block, seeded: Object.keys(block.parameters).filter((name) => !names.has(name)) };
}

/** One forward pass: its statistics, those of every step inside where the block is small enough, and the values. */
export function forward(an, block, input) {
  return an.scope(() => {
    const x = an.tensor(input.data, input.shape);
    const isSmall = estimate(block.config).bytes <= MAX_TRACE_BYTES;
    const { stages, y } = isSmall ? traced(an, block, x) : { y: outputOf(block, x).toArray() };
    const result = { rows: input.rows, given: input.given, cost: block.cost(input.rows), output: summarize(y) };
    const signals = { stream: input.data, output: y };
    const { placement, residual, mixing } = block.config;
    result.complete = isSmall;
    if (isSmall) {
      signals.branch = stages.branch.toArray();
      signals.hidden = stages.hidden.toArray();
      result.stages = summarizeStages(stages);
    } else if (residual && mixing === 'none' && placement !== 'post' && placement !== 'deepnorm') {
      signals.branch = y.map((value, i) => value - input.data[i]);
      result.stages = { x: summarize(input.data), branch: summarize(signals.branch), y: result.output };
    }
    return { result, signals };
  });
}

const WARM_UP = 8;

function timed(run, repeats) {
  const start = performance.now();
  for (let i = 0; i < repeats; i++) run();
  return performance.now() - start;
}

// Long enough by the last time; at most tenfold at once, since first passes are slower than later ones.
const longer = (repeats, took, milliseconds) =>
  Math.max(repeats + 1, Math.ceil(repeats * Math.min(10, (1.1 * milliseconds) / Math.max(took, 0.01))));

// The engine compiles again while it runs: until two successive batches agree, none counts. Returns how many passes make
// a batch that is long enough for the clock.
async function warmUp(run, milliseconds, pause) {
  run(); // compiles, touches the memory
  await pause();
  let repeats = 1;
  let before = 0;
  for (let left = WARM_UP; left > 0; ) {
    const took = timed(run, repeats);
    await pause();
    const each = took / repeats;
    if (took < milliseconds) repeats = longer(repeats, took, milliseconds);
    else if (agree(each, before)) break;
    else left--;
    before = each;
  }
  return repeats;
}

/**
 * Times subjects in turns, so that a change of the machine's speed meets all alike: each is warmed up, its batch is
 * made long enough for the clock, and `batches` rounds follow.
 * @param subjects [{ run }] one call of run is one forward pass
 * @param {{ batches?: number, milliseconds?: number, pause?: (done: number, total: number) => Promise<boolean>,
 *   onRound?: (times: object[]) => unknown }} options
 *   pause is awaited after each batch; false repeats it. onRound gets the figures so far after each round, and is awaited
 * @returns {Promise<{ median: number, half: number, count: number, repeats: number }[]>} seconds per forward
 */
export async function measure(subjects, { batches = 5, milliseconds = 20, pause = async () => true, onRound } = {}) {
  const total = subjects.length * (batches + 1);
  let done = 0;
  const states = [];
  const soFar = () => states.map(({ samples, repeats }) => ({ ...medianSpread(samples), repeats }));
  for (const { run } of subjects) {
    const repeats = await warmUp(run, milliseconds, () => pause(done, total));
    states.push({ run, repeats, samples: [] });
    await pause(++done, total);
  }
  for (let round = 0; round < batches; round++) {
    for (const state of states) {
      for (;;) {
        const { run, repeats } = state;
        const took = timed(run, repeats);
        if (!(await pause(done + 1, total))) continue;
        if (took >= milliseconds) {
          state.samples.push(took / 1000 / repeats);
          break;
        }
        state.repeats = longer(repeats, took, milliseconds); // the machine has become faster: too short for the clock
      }
      done++;
    }
    await onRound?.(soFar());
  }
  return soFar();
}

/** A subject for measure(): a forward pass whose result is freed. */
export function subject(an, block, input) {
  const x = an.tensor(input.data, input.shape);
  return {
    run: () => block.forward(x).dispose(),
    dispose: () => {
      x.dispose();
      block.dispose();
    },
  };
}
