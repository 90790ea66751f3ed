// @ts-check
/**
 * Small things to learn, whose data is made on the spot from a seed. The same bits on every engine: random numbers come from
 * the module, the rest is sums, products and square roots. (The teacher's answers are the module's, and so in the variant
 * relaxed its own.)
 *
 * ```js
 * import { load } from 'addnorm';
 * import { makeTask, tasks } from 'addnorm/tasks';
 *
 * const an = await load();
 * console.log(tasks.map((task) => task.name).includes('spiral')); // prints `true`
 * const { x, target } = makeTask(an, 'spiral', { seed: 1 }).batch(0);
 * an.dispose();
 * ```
 * @module addnorm/tasks
 */
import * as check from './check.js';
import { AddnormError, shapeText } from './errors.js';
import { list } from './lists.js';
import { cosine } from './schedule.js';
import { numbersOf } from './tensor.js';
import { text } from './text.js';

/** @import { Addnorm } from './core.js' */
/** @import { Shaped, StackConfig, TaskDraw, TaskMaker, TensorLike } from './types.js' */
/** @typedef {import('./types.js').Batch} Batch */
/** @typedef {import('./types.js').Task} Task */
/** @typedef {import('./types.js').TaskGoal} TaskGoal */
/** @typedef {import('./types.js').TaskInfo} TaskInfo */
/** @typedef {import('./types.js').TaskKind} TaskKind */
/** @typedef {import('./types.js').TaskMetric} TaskMetric */
/** @typedef {import('./types.js').TaskOption} TaskOption */
/** @typedef {import('./types.js').TaskRecipe} TaskRecipe */

/** Where a label is this, nothing is asked for: what `an.loss` ignores by default. */
const IGNORED = -100;
/** Steps are below this; the random streams from there on are the test's. */
const MAX_STEPS = 2 ** 30;

/**
 * @param {string} name
 * @param {number} value default
 * @param {number} min
 * @param {number} max
 * @param {string} help
 * @returns {TaskOption}
 */
const integer = (name, value, min, max, help) => ({ name, default: value, min, max, integer: true, help });
/** @type {typeof integer} */
const real = (name, value, min, max, help) => ({ name, default: value, min, max, integer: false, help });

const NOISE = 'Standard deviation of what is added to each coordinate.';
/** @param {number} value */
const batchOf = (value) => integer('batch', value, 1, 65536, 'Samples of a batch.');

// ---- Points in the plane --------------------------------------------------------------------------------------------

/** @param {number} turns any number of full turns @returns {[x: number, y: number]} the point of the unit circle */
function circle(turns) {
  /** @param {number} t */
  const cos = (t) => {
    const x = 2 * Math.abs(t - Math.round(t));
    return cosine(x);
  };
  return [cos(turns), cos(turns - 0.25)];
}

/**
 * @param {(options: Record<string, number>) => number} classes
 * @param {(label: number, u: number, v: number, options: Record<string, number>) => [x: number, y: number]} place where a point of this
 *   class is, by two uniform numbers
 * @param {(x: number, y: number) => number} [judge] its class, if the place says it
 * @returns {TaskMaker}
 */
const points = (classes, place, judge) => ({
  config: (options) => ({ d_in: 2, d_out: classes(options) }),
  make(draw, rows, options) {
    const uniform = draw.uniform(2 * rows);
    const normal = draw.normal(2 * rows);
    const data = new Float32Array(2 * rows);
    const target = new Int32Array(rows);
    for (let i = 0; i < rows; i++) {
      const label = i % classes(options);
      const at = place(label, uniform[2 * i], uniform[2 * i + 1], options);
      target[i] = judge ? judge(...at) : label;
      for (const axis of [0, 1]) data[2 * i + axis] = at[axis] + options.noise * normal[2 * i + axis];
    }
    return { x: { data, shape: [rows, 2] }, target };
  },
});

const spiral = points(
  ({ classes }) => classes,
  (label, u, _, { classes, turns }) => {
    const [x, y] = circle(turns * u + label / classes);
    return [2 * u * x, 2 * u * y];
  },
);
const circles = points(
  ({ classes }) => classes,
  (label, u, _, { classes }) => {
    const [x, y] = circle(u);
    const radius = (2 * (label + 1)) / classes;
    return [radius * x, radius * y];
  },
);
const xor = points(
  () => 2,
  (_, u, v) => [4 * u - 2, 4 * v - 2],
  (x, y) => Number(x > 0 !== y > 0),
);
const gaussians = points(
  ({ classes }) => classes,
  (label, _u, _v, { classes }) => {
    const [x, y] = circle(label / classes);
    return [2 * x, 2 * y];
  },
);

// ---- A teacher ------------------------------------------------------------------------------------------------------

/** @type {TaskMaker} */
const teacher = {
  config: ({ width }) => ({ d_in: width, d_out: width }),
  make(draw, rows, { width, d_ff }, _, an, seed) {
    const x = { data: draw.normal(rows * width), shape: [rows, width] };
    const config = /** @type {const} */ ({ d_model: width, d_ff, activation: 'tanh', init: 'normal', bias: false });
    // Pre-activations of variance 4, well into the bends of tanh: E[tanh²] is 0.635 there. Answers of about variance 1.
    const std = 2 / Math.sqrt(width);
    const data = an.scope(() => an.ffn({ ...config, init_std: std }, { seed }).forward(x));
    const scale = 1 / (std * Math.sqrt(0.635 * d_ff));
    return { x, target: { data: data.map((value) => value * scale), shape: [rows, width] } };
  },
};

// ---- Sequences ------------------------------------------------------------------------------------------------------

/**
 * Tokens to one-hot vectors.
 * @param {Int32Array} tokens
 * @param {number} length of a sequence
 * @param {number} symbols
 * @returns {Shaped}
 */
function oneHot(tokens, length, symbols) {
  const data = new Float32Array(tokens.length * symbols);
  for (const [i, token] of tokens.entries()) data[i * symbols + token] = 1;
  return { data, shape: [tokens.length / length, length, symbols] };
}

/**
 * A question of symbols, then one or more markers (the last symbol) where the answer is wanted.
 * @param {object} form
 * @param {(options: Record<string, number>) => number} form.symbols the marker is one more
 * @param {(options: Record<string, number>) => number} form.question its length
 * @param {(options: Record<string, number>) => number} form.answer its length
 * @param {(question: Int32Array, options: Record<string, number>) => number[]} form.solve
 * @param {(question: Int32Array, test: boolean) => void} [form.arrange] makes a question of the training or of the test
 * @param {StackConfig} form.config
 * @returns {TaskMaker}
 */
const questions = ({ symbols, question, answer, solve, arrange, config }) => ({
  config: (options) => ({
    d_in: symbols(options) + 1,
    d_out: symbols(options),
    positions: question(options) + answer(options),
    ...config,
  }),
  make(draw, rows, options, test) {
    const count = symbols(options);
    const asked = question(options);
    const length = asked + answer(options);
    const uniform = draw.uniform(rows * asked);
    const tokens = new Int32Array(rows * length).fill(count);
    const target = new Int32Array(rows * length).fill(IGNORED);
    for (let row = 0; row < rows; row++) {
      const symbolsOfRow = Int32Array.from(uniform.subarray(row * asked, (row + 1) * asked), (u) =>
        Math.floor(u * count),
      );
      arrange?.(symbolsOfRow, test);
      tokens.set(symbolsOfRow, row * length);
      target.set(solve(symbolsOfRow, options), row * length + asked);
    }
    return { x: oneHot(tokens, length, count + 1), target };
  },
});

/** @param {(question: number[]) => number[]} order @returns {TaskMaker} */
const recall = (order) =>
  questions({
    symbols: ({ symbols }) => symbols,
    question: ({ length }) => length,
    answer: ({ length }) => length,
    solve: (question) => order([...question]),
    config: { mixing: 'attention', heads: 2 },
  });

const addition = questions({
  symbols: ({ modulus }) => modulus,
  question: () => 2,
  answer: () => 1,
  solve: ([a, b], { modulus }) => [(a + b) % modulus],
  // The test has a + b where training has b + a: which of the two it is follows from the pair.
  arrange(question, test) {
    const [low, high] = [...question].sort((a, b) => a - b);
    const swapped = (low + high + Number(test)) % 2 === 1;
    question.set(swapped ? [high, low] : [low, high]);
  },
  // Without positions a + b and b + a are the same to the model.
  config: { mixing: 'attention', heads: 2, positions: 0 },
});

const majority = questions({
  symbols: ({ symbols }) => symbols,
  question: ({ length }) => length,
  answer: () => 1,
  solve(question, { symbols }) {
    const counts = new Array(symbols).fill(0);
    for (const symbol of question) counts[symbol]++;
    return [counts.indexOf(Math.max(...counts))];
  },
  config: { mixing: 'mean', positions: 0 },
});

// ---- Text -----------------------------------------------------------------------------------------------------------

/** The characters of the text, in their order: what the classes of the task `text` stand for. */
export const alphabet = Object.freeze([...new Set(text)].sort());
const letters = Int32Array.from(text, (letter) => alphabet.indexOf(letter));
/** The last tenth is held out. */
const learned = Math.floor(letters.length * 0.9);

/** @type {TaskMaker} */
const nextCharacter = {
  config: ({ length }) => ({
    d_in: alphabet.length,
    d_out: alphabet.length,
    positions: length,
    mixing: 'attention',
    heads: 4,
    causal: true,
  }),
  make(draw, rows, { length }, test) {
    const [from, to] = test ? [learned, letters.length] : [0, learned];
    // As many places as there are with one more letter behind the window.
    const places = to - from - length;
    const starts = test
      ? Array.from({ length: Math.floor((to - from - 1) / length) }, (_, i) => from + i * length)
      : Array.from(draw.uniform(rows), (u) => from + Math.floor(u * places));
    const tokens = new Int32Array(starts.length * length);
    const target = new Int32Array(starts.length * length);
    for (const [row, start] of starts.entries()) {
      tokens.set(letters.subarray(start, start + length), row * length);
      target.set(letters.subarray(start + 1, start + length + 1), row * length);
    }
    return { x: oneHot(tokens, length, alphabet.length), target };
  },
};

// ---- The list -------------------------------------------------------------------------------------------------------

const CLASSES = integer('classes', 2, 2, 10, 'Number of classes.');
const SYMBOLS = integer('symbols', 8, 2, 64, 'Number of different symbols.');
const LENGTH = integer('length', 6, 1, 64, 'Symbols of a question.');

/** @type {(TaskInfo & { maker: TaskMaker, rate: number })[]} */
const all = [
  {
    name: 'spiral',
    kind: 'classification',
    help: 'Arms of a spiral that wind around each other: which arm is a point of?',
    options: [CLASSES, real('turns', 1, 0.1, 5, 'Turns of each arm.'), real('noise', 0.05, 0, 1, NOISE), batchOf(128)],
    good: {
      metric: 'accuracy',
      value: 0.96,
      steps: 200,
      chance: 0.5,
      help: 'A straight line finds little more than half of the points.',
    },
    maker: spiral,
    rate: 0.003,
  },
  {
    name: 'circles',
    kind: 'classification',
    help: 'Circles around one centre: which circle is a point of?',
    options: [CLASSES, real('noise', 0.1, 0, 1, NOISE), batchOf(128)],
    good: { metric: 'accuracy', value: 0.98, steps: 60, chance: 0.5, help: 'No straight line parts the circles.' },
    maker: circles,
    rate: 0.003,
  },
  {
    name: 'xor',
    kind: 'classification',
    help: 'Do the signs of the two coordinates differ?',
    options: [real('noise', 0, 0, 1, NOISE), batchOf(128)],
    good: {
      metric: 'accuracy',
      value: 0.95,
      steps: 200,
      chance: 0.5,
      help: 'No straight line parts the classes. What is missed lies on the axes.',
    },
    maker: xor,
    rate: 0.003,
  },
  {
    name: 'gaussians',
    kind: 'classification',
    help: 'Clouds of points around places on a circle: which cloud is a point of?',
    options: [{ ...CLASSES, default: 4 }, real('noise', 0.5, 0, 2, NOISE), batchOf(128)],
    good: {
      metric: 'accuracy',
      value: 0.98,
      steps: 60,
      chance: 0.25,
      help: 'A linear model can do it. The clouds overlap a little, so 1 is out of reach.',
    },
    maker: gaussians,
    rate: 0.003,
  },
  {
    name: 'teacher_student',
    kind: 'regression',
    help: 'What a feed-forward network with random weights answers to random vectors.',
    options: [
      integer('width', 8, 1, 256, 'Width of the vectors.'),
      integer('d_ff', 16, 1, 4096, 'Width of the hidden layer of the teacher.'),
      batchOf(128),
    ],
    good: {
      metric: 'r2',
      value: 0.95,
      steps: 300,
      chance: 0,
      help: 'The share of the variance of the answers that is explained.',
    },
    maker: teacher,
    rate: 0.01,
  },
  {
    name: 'copy',
    kind: 'sequence',
    help: 'Symbols, then as many markers: repeat the symbols.',
    options: [SYMBOLS, LENGTH, batchOf(32)],
    good: {
      metric: 'accuracy',
      value: 0.99,
      steps: 150,
      chance: 0.125,
      help: 'Without mixing a marker sees no symbol: one guess in as many as there are symbols.',
    },
    maker: recall((question) => question),
    rate: 0.005,
  },
  {
    name: 'reverse',
    kind: 'sequence',
    help: 'Symbols, then as many markers: repeat the symbols backwards.',
    options: [SYMBOLS, LENGTH, batchOf(32)],
    good: {
      metric: 'accuracy',
      value: 0.99,
      steps: 150,
      chance: 0.125,
      help: 'Without mixing a marker sees no symbol: one guess in as many as there are symbols.',
    },
    maker: recall((question) => question.reverse()),
    rate: 0.005,
  },
  {
    name: 'modular_addition',
    kind: 'sequence',
    help: 'Two numbers and a marker: their sum, modulo a number. The test has a + b where training had b + a.',
    options: [integer('modulus', 11, 2, 113, 'The sum is taken modulo this.'), batchOf(64)],
    good: {
      metric: 'accuracy',
      value: 0.95,
      steps: 200,
      chance: 1 / 11,
      help: 'Without mixing the marker sees no number.',
    },
    maker: addition,
    rate: 0.005,
  },
  {
    name: 'majority',
    kind: 'sequence',
    help: 'Symbols and a marker: which symbol comes most often? Of several the first.',
    options: [{ ...SYMBOLS, default: 2 }, { ...LENGTH, default: 15 }, batchOf(64)],
    good: {
      metric: 'accuracy',
      value: 0.98,
      steps: 60,
      chance: 0.5,
      help: 'Without mixing the marker sees no symbol. The mean over tokens is enough.',
    },
    maker: majority,
    rate: 0.005,
  },
  {
    name: 'text',
    kind: 'sequence',
    help: 'The next character of a short text about a stream and its mills. The last tenth of the text is held out.',
    options: [integer('length', 32, 2, 256, 'Characters of a window.'), batchOf(16)],
    good: {
      metric: 'loss',
      value: 1.85,
      steps: 300,
      chance: 2.14,
      help: 'Nats per character. Without mixing a model knows the last character alone; counting which follows which gives 2.14.',
    },
    maker: nextCharacter,
    rate: 0.005,
  },
];

/**
 * The tasks that there are, with their options and what a good model reaches.
 * @type {readonly TaskInfo[]}
 */
export const tasks = list(all.length, (i) => {
  const { name, kind, help, options, good } = all[i];
  return { name, kind, help, options: list(options.length, (k) => options[k]), good: Object.freeze(good) };
});

/** What the configurations of a kind have in common. @type {Readonly<Record<TaskKind, StackConfig>>} */
const configs = {
  classification: { d_model: 32, d_ff: 64, depth: 2 },
  regression: { d_model: 32, d_ff: 128, depth: 2 },
  sequence: { d_model: 32, d_ff: 64, depth: 2 },
};

/**
 * Makes a task.
 *
 * ```js
 * const task = makeTask(an, 'reverse', { seed: 1, length: 8 });
 * const model = an.stack(task.config, { seed: 1 });
 * const { optimizer: name, ...settings } = task.recipe;
 * const optimizer = an.optimizer(name, model, settings);
 * for (let step = 0; step < task.good.steps; step++) {
 *   an.scope(() => {
 *     const { x, target } = task.batch(step);
 *     const y = model.forward(an.tensor(x), { train: true });
 *     const { gradient } = an.loss(task.loss, y, target, task.lossOptions);
 *     model.zeroGrad();
 *     model.backward(gradient, { dx: false });
 *     optimizer.step();
 *   });
 * }
 * const { x, target } = task.test;
 * const reached = an.scope(() => task.metric(model.forward(an.tensor(x)), target));
 * ```
 * @param {Addnorm} an whose random numbers are drawn
 * @param {string} name one of `tasks`
 * @param {Readonly<{ seed?: number | undefined, [option: string]: number | undefined }>} [options] `tasks` has them, with their
 *   defaults; seed: default 0
 * @returns {Task}
 * @throws {AddnormError} `UNKNOWN_NAME`, `UNKNOWN_OPTION`, `INVALID_ARGUMENT`
 */
export function makeTask(an, name, options) {
  if (typeof an?.scope !== 'function' || typeof an.random !== 'function') {
    throw check.invalid('an', an, 'an instance of addnorm, as load() gives it');
  }
  const names = all.map((task) => task.name);
  const found = all[names.indexOf(check.name('task', name, names, 'UNKNOWN_NAME'))];
  const { kind, options: known, good, maker, rate } = found;
  const given = check.options('options', options, ['seed', ...known.map((option) => option.name)]);
  const seed = check.word('seed', given.seed ?? 0);
  /** @type {Record<string, number>} */
  const used = {};
  for (const { name: option, default: value, min, max, integer } of known) {
    used[option] = (integer ? check.integer : check.number)(option, given[option] ?? value, min, max);
  }
  // Not the model's own numbers, where it has the same seed.
  const dataSeed = (Math.imul(seed, 0x9e3779b1) ^ 0x5bd1e995) >>> 0;
  /** @param {number} stream @param {number} rows @param {boolean} test */
  const make = (stream, rows, test) => maker.make(drawOf(an, dataSeed, 2 * stream), rows, used, test, an, dataSeed);
  const regression = kind === 'regression';
  /** @type {Task} */
  const task = {
    name,
    kind,
    options: Object.freeze({ seed, ...used }),
    config: Object.freeze({ ...configs[kind], ...maker.config(used) }),
    recipe: Object.freeze({ optimizer: 'adamw', rate, weightDecay: 0.01, clip: 1 }),
    loss: regression ? 'mse' : 'softmax_cross_entropy',
    lossOptions: Object.freeze(regression ? {} : { ignoreIndex: IGNORED }),
    batch: (step) => make(check.integer('step', step, 0, MAX_STEPS - 1), used.batch, false),
    test: Object.freeze(make(MAX_STEPS, kind === 'sequence' ? 256 : 1024, true)),
    metric: (prediction, target) => metrics[good.metric](an, prediction, target),
    good,
  };
  return Object.freeze(task);
}

/**
 * @param {Addnorm} an
 * @param {number} seed
 * @param {number} stream and the one after it
 * @returns {TaskDraw}
 */
function drawOf(an, seed, stream) {
  /** @param {'uniform' | 'normal'} distribution @param {number} which */
  const from = (distribution, which) => (/** @type {number} */ n) =>
    an.scope(() => an.random([n], { distribution, seed, stream: stream + which }).toArray());
  return { uniform: from('uniform', 0), normal: from('normal', 1) };
}

/** @type {Record<TaskMetric, (an: Addnorm, prediction: TensorLike, target: any) => number>} */
const metrics = {
  accuracy(_, prediction, target) {
    const { data, classes } = classesOf(prediction, target);
    let [right, count] = [0, 0];
    for (let i = 0; i < target.length; i++) {
      if (target[i] === IGNORED) continue;
      const row = data.subarray(i * classes, (i + 1) * classes);
      count++;
      right += Number(row[target[i]] === row.reduce((a, b) => Math.max(a, b)));
    }
    return right / count;
  },
  r2(_, prediction, target) {
    const { data } = numbersOf(prediction, 'prediction');
    const wanted = numbersOf(target, 'target').data;
    if (data.length !== wanted.length) throw unlike(prediction, wanted.length);
    const mean = wanted.reduce((sum, value) => sum + value, 0) / wanted.length;
    let [left, all] = [0, 0];
    for (let i = 0; i < wanted.length; i++) {
      left += (data[i] - wanted[i]) ** 2;
      all += (wanted[i] - mean) ** 2;
    }
    return 1 - left / all;
  },
  loss(an, prediction, target) {
    const { data, classes } = classesOf(prediction, target);
    const logits = { data, shape: [target.length, classes] };
    return an.loss('softmax_cross_entropy', logits, target, { ignoreIndex: IGNORED }).value;
  },
};

/** @param {TensorLike} prediction @param {ArrayLike<number>} target labels */
function classesOf(prediction, target) {
  if (!Array.isArray(target) && !ArrayBuffer.isView(target)) {
    throw check.invalid('target', target, 'the labels of the batch or of the test');
  }
  const { data, shape } = numbersOf(prediction, 'prediction');
  const classes = shape?.at(-1) ?? data.length / target.length;
  if (!Number.isInteger(classes) || classes === 0 || classes * target.length !== data.length) {
    throw unlike(prediction, target.length);
  }
  return { data, classes };
}

/** @param {TensorLike} prediction @param {number} rows */
function unlike(prediction, rows) {
  const { data, shape } = numbersOf(prediction, 'prediction');
  const got = shapeText(shape ?? [data.length]);
  return new AddnormError(
    'SHAPE_MISMATCH',
    `prediction: expected what the model makes of x, for ${rows} targets, got ${got}`,
  );
}
