// The Weights panel's half in the worker: figures of the weights, activity of the hidden units, and what each
// configuration with the same weights makes of the same input, against the block as the model has it.
import { estimate, makeBlock, makeInput } from '../../compute.js';
import { completed } from '../../fields.js';
import { outputOf as blockOutput, traced } from '../../trace.js';
import { activity, apart, describeTensor, isOneSided, spreadOf } from './stats.js';

// Beyond this the steps inside a block are not looked at, which would hold its weights a second time.
const MAX_TRACE_BYTES = 128e6;
const KEPT = 24;
const kept = { figures: new Map(), outputs: new Map() };

/** What has been computed for a key before, else the function's result, which is kept. */
async function once(map, key, compute) {
  const known = map.get(key);
  const value = known ?? (await compute());
  map.delete(key);
  map.set(key, value); // the newest is last
  if (map.size > KEPT) map.delete(map.keys().next().value);
  return value;
}

/** As in panels/runs.js. */
export async function weightsRun(job, context) {
  const { send, progress, breathe } = context;
  const { original, others, weights, open } = job;
  const total = others.length + 2;
  progress(0, total);
  const trained = await context.loadTrained(weights);
  const figures = await once(kept.figures, `${open} ${weights}`, () => figuresOf(trained, breathe));
  send({ of: weights, figures });
  progress(1, total);
  const first = await outputOf(original, trained, job, context);
  send({ activity: first.activity, rows: first.rows, given: first.given });
  const differences = [];
  for (const [done, { index, fields }] of others.entries()) {
    progress(2 + done, total);
    await breathe();
    differences.push({ index, ...(await differenceOf(fields, first, trained, job, context)) });
    send({ differences: [...differences] });
  }
  send({ differences });
}

async function figuresOf(trained, breathe) {
  const tensors = [];
  for (const { name, data } of trained) tensors.push({ name, data, figures: await describeTensor(data, breathe) });
  const matrices = tensors.filter(({ name }) => ['gate', 'up', 'down'].includes(name));
  const spread = await spreadOf(matrices, breathe);
  return {
    tensors: tensors.map(({ name, figures }) => ({ name, ...figures })),
    spread: { ...spread, names: matrices.map(({ name }) => name) },
  };
}

async function differenceOf(fields, first, trained, job, context) {
  try {
    const own = await outputOf(fields, trained, job, context);
    return {
      output: apart(own.y, first.y),
      branch: own.branch && first.branch ? apart(own.branch, first.branch) : null,
    };
  } catch (error) {
    if (!error.code) throw error; // a run that is given up
    return { error: { code: error.code, message: error.message } };
  }
}

function outputOf(fields, trained, job, { an, file }) {
  const { weights, open, rows, seed, inputMean, inputStd, variant, file: fileId } = job;
  const key = JSON.stringify([fields, weights, open, rows, seed, inputMean, inputStd, variant, fileId]);
  return once(kept.outputs, key, async () => {
    const values = completed(fields, an.fields);
    const input = makeInput(values, { ...job, file });
    const { block } = makeBlock(an, fields, seed, trained);
    try {
      return an.scope(() => computed(an, block, input));
    } finally {
      block.dispose();
    }
  });
}

function computed(an, block, input) {
  const { config } = block;
  const x = an.tensor(input.data, input.shape);
  const { rows, given } = input;
  if (estimate(config).bytes > MAX_TRACE_BYTES) {
    return { y: blockOutput(block, x).toArray(), branch: null, activity: { reason: 'large' }, rows, given };
  }
  const { stages, y } = traced(an, block, x);
  const { activation, gated, d_ff } = config;
  const result = { y, branch: stages.branch.toArray(), rows, given };
  if (!isOneSided(activation)) return { ...result, activity: { reason: 'two-sided' } };
  const { gate, gate_bias: bias } = block.parameters;
  const pre = gated ? an.linear(stages.norm ?? stages.middle ?? x, gate, { bias }) : stages.up;
  return { ...result, activity: activity(pre.toArray(), d_ff) };
}
