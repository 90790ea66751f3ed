// What is to be trained: a plain object that follows from the page's state, what a change of it means, and the stack that
// a configuration stands for. No DOM, no module: page, worker and tests read it alike.
import { stackOf } from '../../fields.js';

const CONFIG_WIDTH = 768; // the module's default d_model
const RATIO = 4; // d_ff by d_model where a configuration leaves it open
const STD = 0.02;
/** The largest init_std that the module takes. */
export const MAX_STD = 1000;

/** What may change in the middle of a run that has been rewound: it acts from there on. */
export const SETTINGS = ['rate', 'schedule', 'warmup', 'clip', 'decay'];

/**
 * @param {object} state the page's
 * @param {object[]} configs of each configuration the fields that it says, as fieldsOf() gives them
 */
export function planOf(state, configs) {
  return {
    variant: state.variant,
    seed: state.seed,
    task: state.trainTask,
    batch: state.trainBatch,
    depth: state.trainDepth,
    width: state.trainWidth,
    optimizer: state.trainOptimizer,
    rate: state.trainRate,
    schedule: state.trainSchedule,
    warmup: state.trainWarmup,
    clip: state.trainClip,
    decay: state.trainDecay,
    steps: state.trainSteps,
    designs: configs.map(designOf),
  };
}

/** What of a configuration does not depend on its size: d_ff by d_model; init_std times the root of the width. */
function designOf(fields) {
  const { d_model = CONFIG_WIDTH, d_ff, depth: _, d_in: _in, d_out: _out, init_std = STD, ...own } = stackOf(fields);
  const design = { ...own, ratio: d_ff ? d_ff / d_model : RATIO };
  if (!['normal', 'gpt2'].includes(own.init)) return design;
  // What is out of range stays as it is, and the stack says why.
  if (!(init_std >= 0 && init_std <= MAX_STD)) return { ...design, init_std };
  // Pre-activations keep their size: their variance is the width times that of the weights.
  return { ...design, std: init_std * Math.sqrt(d_model) };
}

const stdAt = ({ std }, width) => std / Math.sqrt(width);
/** Whether a design's stack of this width has a smaller init_std than it would need: the largest that there is. */
export const isHeld = (design, width) => stdAt(design, width) > MAX_STD;

/**
 * What separates two plans.
 * @returns {{ common: string[], designs: boolean }} common: names of what changed for all; a cosine reaches its end in the
 *   last step, so that their number belongs to it. designs: whether the list of configurations differs
 */
export function changes(before, after) {
  const common = Object.keys(after).filter(
    (name) => name !== 'designs' && name !== 'steps' && before[name] !== after[name],
  );
  if (before.steps !== after.steps && after.schedule === 'cosine') common.push('steps');
  return { common, designs: JSON.stringify(before.designs) !== JSON.stringify(after.designs) };
}

/**
 * The places of former designs in a new list; -1 where there is none. Each is taken once, first at its own place.
 * @param {object[]} before @param {object[]} after
 */
export function places(before, after) {
  const [old, now] = [before, after].map((list) => list.map((design) => JSON.stringify(design)));
  const found = now.map((text, i) => (old[i] === text ? i : -1));
  for (const [i, text] of now.entries()) {
    if (found[i] < 0) found[i] = old.findIndex((former, k) => former === text && !found.includes(k));
  }
  return found;
}

/**
 * The stack that a configuration's design makes at the panel's size for a task. The task says what goes in and out and
 * whether later tokens are seen; tokens are mixed as the design says, or else as the task needs it.
 * @param {object} design @param {object} wanted the task's own configuration
 * @param {{ depth: number, width: number }} size
 */
export function stackFor(design, wanted, { depth, width }) {
  const { ratio, std, heads, positions, groups, ...own } = design;
  const mixing = own.mixing ?? wanted.mixing ?? 'none';
  const config = { ...own, mixing, depth, d_model: width, d_in: wanted.d_in, d_out: wanted.d_out };
  config.d_ff = Math.max(1, Math.round(ratio * width));
  if (std) config.init_std = Math.min(MAX_STD, stdAt(design, width));
  if (groups) config.groups = divisorBelow(width, groups);
  if (wanted.causal) config.causal = true;
  if (mixing === 'attention') config.heads = [heads, wanted.heads].find((count) => fits(count, width)) ?? 1;
  // As many as the task has tokens, if any.
  const needed = wanted.positions ?? 0;
  if (positions === undefined ? needed > 0 : positions > 0) config.positions = Math.max(needed, positions ?? 0);
  return config;
}

const NARROW = 4; // of a head
const fits = (heads, width) => heads && width % heads === 0 && width / heads >= NARROW;

function divisorBelow(width, limit) {
  for (let n = Math.min(width, limit); n > 1; n--) if (width % n === 0) return n;
  return 1;
}

/** Parameters of the matrices, about. */
const weightsOf = ({ d_model, d_ff, gated, mixing, depth }) =>
  depth * d_model * ((gated ? 3 : 2) * d_ff + d_model * ({ mean: 2, attention: 4 }[mixing] ?? 0));

const STEP_FLOPS = 4e9;

/** As many samples as keep a step of the largest stack within a second or so on a slow device. */
export function samplesWithin(batch, stacks, length) {
  const flops = Math.max(...stacks.map((stack) => 6 * length * weightsOf(stack)));
  return Math.max(1, Math.min(batch, Math.floor(STEP_FLOPS / flops)));
}

/** The package's schedule: name and options. Warm-up is one of its own there where nothing follows. */
export function scheduleOf({ schedule, rate, warmup, steps }) {
  if (schedule === 'cosine') {
    return ['warmup_cosine', { rate, warmup: Math.min(warmup, steps), total: steps }];
  }
  return schedule === 'constant' ? ['warmup', { rate, warmup }] : ['warmup_inverse_sqrt', { rate, warmup }];
}

/** The package's optimiser: name and options but for the rate. Norms and biases do not decay. */
export function optimizerOf({ optimizer, clip, decay }) {
  const common = { weightDecay: decay, decay: 'matrices', ...(clip > 0 && { clip }) };
  return optimizer === 'momentum' ? ['sgd', { ...common, momentum: 0.9 }] : [optimizer, common];
}

/** Whether the held-out data are looked at after so many steps: often at first, then rarely. */
export const isDue = (step) => step % (step <= 500 ? 10 : step <= 5000 ? 50 : 200) === 0;
