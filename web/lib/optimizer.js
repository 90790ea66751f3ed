// @ts-check
// Optimisers, and the norm of gradients. What each option means stands in types.d.ts.
import * as check from './check.js';
import { Engine } from './engine.js';
import { AddnormError, isPlain, mismatch, shapeText } from './errors.js';
import { Frame } from './frame.js';
import { list } from './lists.js';
import { firstNotFinite, Module, matchNames, sumSquares } from './module.js';
import { addressOf, changed, isTensor, sameShape } from './tensor.js';

/** @typedef {import('./tensor.js').Tensor} Tensor */
/** @typedef {import('./types.js').State} State */
/** @typedef {Record<string, any>} Settings */
/**
 * A tensor that is learned. m and v: the addresses of its moments, 0 where there is none.
 * @typedef {{ name: string, shape: readonly number[], size: number, value: Tensor, gradient: Tensor }} Learned
 * @typedef {Learned & { settings: Settings, decay: number, layer: number | null, m: number, v: number }} Entry
 */

const adam = {
  rate: 1e-3,
  betas: Object.freeze(/** @type {const} */ ([0.9, 0.999])),
  eps: 1e-8,
  weightDecay: 0,
  epsilonFirst: false,
};

/** With PyTorch's defaults. */
export const optimizers = list(3, (i) => {
  const infos = /** @type {const} */ ([
    { name: 'sgd', defaults: { rate: 1e-3, momentum: 0, dampening: 0, nesterov: false, weightDecay: 0 } },
    { name: 'adam', defaults: adam },
    { name: 'adamw', defaults: { ...adam, weightDecay: 1e-2 } },
  ]);
  const { name, defaults } = infos[i];
  return { name, defaults: Object.freeze({ ...defaults, decay: /** @type {const} */ ('all') }) };
});

/** @type {Record<string, check.Check>} */
const checks = {
  rate: (what, value) => (typeof value === 'function' ? value : check.number(what, value, 0)),
  betas: (what, value) => {
    const betas = Array.isArray(value) ? [...value] : [];
    const fits = betas.length === 2 && betas.every((beta) => Number.isFinite(beta) && beta >= 0 && beta < 1);
    if (!fits) throw check.invalid(what, value, 'two numbers, from 0 to below 1');
    return betas;
  },
  eps: check.between(0),
  weightDecay: check.between(0),
  momentum: check.between(0, 1),
  dampening: check.float,
  nesterov: check.boolean,
  epsilonFirst: check.boolean,
  decay: ['all', 'matrices'],
};

/** The bits of an_sgd_step's and an_adam_step's flags. */
const CHECK = 1;
const NESTEROV = 2;
const DECOUPLED = 2;
const EPSILON_FIRST = 4;

/** Updates parameters by their gradients. Made by `an.optimizer`; to be disposed, since moments take memory. */
export class Optimizer {
  #engine;
  #kind;
  #module;
  #entries;
  #settings;
  #clip;
  #moments = 0;
  #steps = 0;
  #disposed = false;

  /**
   * @hideconstructor
   * @param {Engine} engine
   * @param {unknown} name
   * @param {unknown} source
   * @param {unknown} options
   */
  constructor(engine, name, source, options) {
    this.#engine = Engine.of(engine, 'Optimizer: made by an.optimizer');
    const names = optimizers.map((info) => info.name);
    this.#kind = check.name('optimizer', name, names, 'UNKNOWN_NAME');
    const { defaults } = optimizers[names.indexOf(this.#kind)];
    const known = Object.fromEntries(Object.keys(defaults).map((key) => [key, checks[key]]));
    const table = { ...known, groups: null, clip: check.between(0) };
    const { groups = [], clip = Infinity, ...own } = check.options(this.#kind, options, table);
    this.#clip = clip;
    const base = settingsOf('', { ...defaults, ...own });
    const learned = learnedOf(engine, source);
    const chosen = groupsOf(groups, { ...known, match: null }, learned, base);
    this.#settings = [base, ...chosen.map((group) => group.settings)];
    this.#module = source instanceof Module ? source : null;

    let bytes = 0;
    const entries = learned.map((one) => {
      const settings = chosen.find((group) => group.has(one))?.settings ?? base;
      const decay = settings.decay === 'matrices' && one.shape.length < 2 ? 0 : settings.weightDecay;
      const layer = /^layers\.(\d+)\./.exec(one.name);
      const room = Math.ceil(one.size / 4) * 16;
      const count = settings.betas ? 2 : Number(settings.momentum > 0);
      const at = bytes;
      bytes += count * room;
      return { ...one, settings, decay, layer: layer && Number(layer[1]) + 1, count, m: at, v: at + room };
    });
    const moments = engine.memory.alloc(bytes, 'the moments');
    engine.memory.floats(moments, bytes / 4).fill(0);
    this.#moments = moments;
    for (const entry of entries) {
      entry.m = entry.count > 0 ? moments + entry.m : 0;
      entry.v = entry.count > 1 ? moments + entry.v : 0;
    }
    this.#entries = entries;
    engine.track(this, [moments]);
  }

  #alive() {
    if (this.#disposed) throw new AddnormError('DISPOSED', 'this optimizer has been disposed');
  }

  /** Steps taken. */
  get steps() {
    return this.#steps;
  }

  /** The learning rate of the next step, groups aside. @returns {number} */
  get rate() {
    return rateOf(this.#settings[0], this.#steps + 1);
  }

  /**
   * Moves every parameter against its gradient; the gradients stay as they are: `zeroGrad()` before the next backward.
   *
   * ```js
   * const optimizer = an.optimizer('adamw', model, { rate: 1e-3 });
   * const y = model.forward(x, { train: true });
   * model.backward(y, { dx: false }); // for the loss sum(y²) / 2, whose gradient by y is y
   * optimizer.step();
   * model.zeroGrad();
   * ```
   * @throws {AddnormError} `DIVERGED`, with `step`, `tensor` and `layer`, if a gradient is not finite or a parameter or
   *   moment would become so: nothing has changed then
   */
  step() {
    this.#alive();
    const step = this.#steps + 1;
    const rates = new Map(this.#settings.map((settings) => [settings, rateOf(settings, step)]));
    this.#alive(); // still: a rate may have disposed it
    const scale =
      this.#clip === Infinity ? 1 : scaleOf(normOf(this.#engine, gradientsOf(this.#engine, this.#entries)), this.#clip);
    const kernel = this.#kind === 'sgd' ? 'an_sgd_step' : 'an_adam_step';
    /** @param {number[]} numbers */
    const run = (numbers) => this.#engine.succeeded(kernel, this.#engine.memory.call(kernel, ...numbers));
    const calls = this.#entries.map((entry) =>
      this.#call(entry, scale, /** @type {number} */ (rates.get(entry.settings)), step),
    );
    const failing = this.#entries.filter((_, i) => !run(calls[i]));
    if (failing.length > 0) throw this.#diverged(failing, step);
    for (const numbers of calls) {
      numbers[numbers.length - 3] -= CHECK; // the flags
      run(numbers);
    }
    for (const { value } of this.#entries) changed(value);
    this.#steps = step;
  }

  /**
   * What the kernel takes to check a step.
   * @param {Entry} entry
   * @param {number} scale of the gradient
   * @param {number} rate
   * @param {number} step
   */
  #call({ name, size, value, gradient, settings, decay, m, v }, scale, rate, step) {
    const { betas, eps, epsilonFirst, momentum, dampening, nesterov } = settings;
    const target = addressOf(value, this.#engine, name);
    const source = addressOf(gradient, this.#engine, `the gradient of ${name}`);
    const flags =
      (nesterov ? NESTEROV : 0) | (this.#kind === 'adamw' ? DECOUPLED : 0) | (epsilonFirst ? EPSILON_FIRST : 0);
    const own = betas ? [...betas, eps] : [momentum, dampening];
    return [target, m, ...(betas ? [v] : []), source, scale, rate, ...own, decay, CHECK | flags, step, size];
  }

  /**
   * Says where it began: in the first layer whose forward was not finite, else in the last tensor, where backward begins.
   * @param {Entry[]} failing
   * @param {number} step
   */
  #diverged(failing, step) {
    const from = this.#module && firstNotFinite(this.#module);
    const culprit =
      failing.findLast(({ layer }) => from === null || layer === from) ?? /** @type {Entry} */ (failing.at(-1));
    const { name, layer } = culprit;
    const finite = Number.isFinite(normOf(this.#engine, gradientsOf(this.#engine, [culprit])));
    const what = finite ? `'${name}' would become NaN or infinite` : `the gradient of '${name}' is not finite`;
    const where = from === null ? '' : `; the stream is not finite from ${from > 0 ? `layer ${from}` : 'the input'} on`;
    const error = new AddnormError('DIVERGED', `step ${step}: ${what}${where}; nothing has changed`);
    return Object.assign(error, { step, tensor: name, layer: from ?? layer });
  }

  /** What `state` holds: names, shapes and addresses. */
  #stored() {
    return this.#entries.flatMap(({ name, shape, size, m, v }) =>
      [
        { name: `m.${name}`, shape, size, address: m },
        { name: `v.${name}`, shape, size, address: v },
      ].filter(({ address }) => address !== 0),
    );
  }

  /**
   * A copy of the moments, `m.<name>` (sgd: the velocity) and `v.<name>`, and `step`, the number of steps taken, which
   * is exact up to 2^24. The names do not meet those of a module's state, so that one file can hold both.
   * @returns {State}
   */
  state() {
    this.#alive();
    const moments = this.#stored().map(({ name, shape, size, address }) => {
      return [name, { shape: [...shape], data: this.#engine.memory.floats(address, size).slice() }];
    });
    return { ...Object.fromEntries(moments), step: { shape: [], data: Float32Array.of(this.#steps) } };
  }

  /**
   * Continues where `state()` was taken, bit for bit; all of it or nothing.
   * @param {Readonly<Record<string, import('./types.js').TensorLike>>} state
   * @throws {AddnormError} `INVALID_ARGUMENT` if one is missing, `UNKNOWN_NAME`, `SHAPE_MISMATCH`
   */
  loadState(state) {
    this.#alive();
    const stored = this.#stored();
    Frame.run(this.#engine, (frame) => {
      const values = matchNames('state', state, [...stored.map(({ name }) => name), 'step']);
      const operands = stored.map(({ name, shape }) => frame.input(`state.${name}`, values[name], shape));
      const steps = check.word('state.step', frame.input('state.step', values.step, []).numbers[0]);
      this.#alive(); // still: a getter of the state may have disposed it
      operands.forEach((operand, i) => void operand.copyTo(stored[i].address));
      this.#steps = steps;
    });
  }

  /** Frees the moments; parameters and gradients stay. More than once is fine. */
  dispose() {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#engine.memory.free(this.#moments);
    this.#engine.untrack(this);
  }

  /** For `using`: dispose(). */
  [Symbol.dispose]() {
    this.dispose();
  }

  /** For Object.prototype.toString. */
  get [Symbol.toStringTag]() {
    return 'Optimizer';
  }
}

/**
 * The Euclidean norm of all gradients together; where it is above maxNorm they are scaled down to it.
 * @param {Engine} engine
 * @param {unknown} source
 * @param {unknown} maxNorm
 */
export function clipGradNorm(engine, source, maxNorm) {
  const max = maxNorm === Infinity ? maxNorm : check.number('maxNorm', maxNorm, 0);
  const gradients = gradientsOf(engine, learnedOf(engine, source));
  const norm = normOf(engine, gradients);
  const scale = scaleOf(norm, max);
  if (scale < 1) for (const [at, size] of gradients) engine.compute('an_add_bwd', at, null, at, scale, size);
  return norm;
}

/** @param {Engine} engine @param {readonly Learned[]} learned */
const gradientsOf = (engine, learned) =>
  learned.map(({ name, gradient, size }) => {
    return /** @type {const} */ ([addressOf(gradient, engine, `the gradient of ${name}`), size]);
  });

/** @param {Engine} engine @param {ReturnType<typeof gradientsOf>} gradients */
const normOf = (engine, gradients) => Math.sqrt(sumSquares(engine, gradients));

/**
 * As PyTorch's clip_grad_norm_; 1 where the norm is not finite.
 * @param {number} norm
 * @param {number} max
 */
const scaleOf = (norm, max) => (Number.isFinite(norm) ? Math.min(1, max / (norm + 1e-6)) : 1);

/**
 * @param {Settings} settings
 * @param {number} step
 * @returns {number}
 */
function rateOf({ rate }, step) {
  return typeof rate === 'function' ? check.number(`rate(${step})`, rate(step), 0) : rate;
}

/**
 * What there is to learn: of a module, or as given.
 * @param {Engine} engine
 * @param {unknown} source
 * @returns {Learned[]}
 */
function learnedOf(engine, source) {
  if (!(source instanceof Module) && !isPlain(source)) {
    throw check.invalid('parameters', source, 'an Ffn, Block or Stack, or an object of { value, gradient }');
  }
  const values = source instanceof Module ? source.parameters : source;
  const gradients = source instanceof Module ? source.gradients : null;
  const learned = Object.entries(values).map(([name, own]) => {
    const pair = gradients ? { value: own, gradient: gradients[name] } : own;
    const place = `parameters.${name}`;
    const { value, gradient } = check.options(place, pair, ['value', 'gradient']);
    for (const [what, tensor] of Object.entries({ value, gradient })) {
      if (!isTensor(tensor)) throw check.invalid(`${place}.${what}`, tensor, 'a Tensor');
      addressOf(tensor, engine, `${place}.${what}`);
    }
    const { shape, size } = value;
    if (!sameShape(gradient.shape, shape)) {
      throw mismatch(`${place}.gradient`, shapeText(shape), gradient.shape);
    }
    return { name, shape, size, value, gradient };
  });
  if (new Set(learned.flatMap(({ value, gradient }) => [value, gradient])).size < 2 * learned.length) {
    throw new AddnormError('INVALID_ARGUMENT', 'parameters: a tensor comes twice');
  }
  return learned;
}

/**
 * @param {unknown} groups
 * @param {Record<string, check.Check>} known
 * @param {readonly Learned[]} learned
 * @param {Settings} base
 */
function groupsOf(groups, known, learned, base) {
  if (!Array.isArray(groups)) throw check.invalid('groups', groups, 'an array');
  const names = learned.map(({ name }) => name);
  return Array.from(groups, (group, i) => {
    const what = `groups[${i}].`;
    const { match, ...own } = check.options(what.slice(0, -1), group, known, 'option', what);
    if (Array.isArray(match)) for (const name of match) check.name(`${what}match`, name, names, 'UNKNOWN_NAME');
    else if (typeof match !== 'function') throw check.invalid(`${what}match`, match, 'a function or an array of names');
    return {
      settings: settingsOf(what, { ...base, ...own }),
      /** @param {Learned} one */
      has: ({ name, shape }) => (typeof match === 'function' ? match(name, shape) : match.includes(name)),
    };
  });
}

/**
 * @param {string} what before the names, in messages
 * @param {Settings} settings each checked
 * @returns {Settings} that go together
 */
function settingsOf(what, settings) {
  const { momentum, nesterov, dampening } = settings;
  if (nesterov && (momentum === 0 || dampening !== 0)) {
    throw check.invalid(`${what}nesterov`, nesterov, 'false where momentum is 0 or dampening is not');
  }
  return settings;
}
