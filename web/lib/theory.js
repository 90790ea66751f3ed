// @ts-check
// What theory expects of a stack at its initialisation. In the limit of wide layers every pre-activation is a Gaussian, so
// second moments alone say how the stream grows and how the gradient comes back (Schoenholz et al. 2017, arXiv 1611.01232;
// with residuals Yang and Schoenholz 2017, arXiv 1712.08969; Xiong et al. 2020, arXiv 2002.04745).
//
// All that is followed through the layers is a pair of numbers, for the stream forwards and for the gradient backwards:
//   own    E[x_t x_t], the second moment of an element of one token
//   cross  E[x_s x_t], of the same element of two tokens of a sequence; without mixing it is of no account
// Weights are independent of what they multiply, so a matrix multiplies both by the number of its columns times its
// variance, an activation takes them through Gaussian integrals, and sums of independent terms add up.
import * as check from './check.js';
import { Frame } from './frame.js';
import { configure } from './module.js';

/** @typedef {import('./engine.js').Engine} Engine */
/** @typedef {{ own: number, cross: number }} Moments */
/** @typedef {{ out: Moments, back: (gradient: Moments) => Moments }} Step what comes out, and the gradient's way back */
/** @typedef {(x: Moments) => Step} Operation */
/** @typedef {readonly [index: number, p0: number, p1: number]} Activation */

const NODES = 4096;
/** Hermite coefficients of an activation that are computed, for two tokens. */
const ORDERS = 48;
const ROOTS = Float64Array.from({ length: ORDERS + 1 }, (_, k) => Math.sqrt(k));
/** From this sigma on integrals are powers of it; float32 squares of such numbers are far from overflow. */
const FAR = 1e9;

/** @param {Moments} x @param {number} factor @returns {Moments} */
const times = ({ own, cross }, factor) => ({ own: own * factor, cross: cross * factor });
/** @param {Moments} a @param {Moments} b @returns {Moments} */
const plus = (a, b) => ({ own: a.own + b.own, cross: a.cross + b.cross });
/** Of the product of independent factors. @param {Moments} a @param {Moments} b @returns {Moments} */
const product = (a, b) => ({ own: a.own * b.own, cross: a.cross * b.cross });
/** @param {number} factor @returns {Operation} */
const linear = (factor) => (x) => ({ out: times(x, factor), back: (g) => times(g, factor) });
/** Every element and token has a mask of its own. @param {Moments} x @param {number} p @returns {Moments} */
const dropped = ({ own, cross }, p) => ({ own: own / (1 - p), cross });

/** @type {(...operations: Operation[]) => Operation} */
const chain =
  (...operations) =>
  (x) => {
    /** @type {Step['back'][]} */
    const backs = [];
    let out = x;
    for (const operation of operations) {
      const step = operation(out);
      out = step.out;
      backs.unshift(step.back);
    }
    return { out, back: (g) => backs.reduce((gradient, back) => back(gradient), g) };
  };

/** Gaussian integrals of activations and their derivatives, from the values that the module's own kernels give. */
class Gauss {
  /** Nodes by their density. @type {Map<number, { z: Float64Array, weights: Float64Array }>} */
  #grids = new Map();

  /**
   * @param {Engine} engine
   * @param {boolean} pairs whether cross is wanted
   */
  constructor(engine, pairs) {
    this.engine = engine;
    this.pairs = pairs;
  }

  /**
   * Of phi(x) and phi'(x), for a Gaussian x with these moments: E[phi(x)], the moments of phi(x) and those of phi'(x).
   * @param {Activation} activation
   * @param {Moments} x
   * @returns {{ mean: number, value: Moments, slope: Moments }}
   */
  integrals(activation, x) {
    const sigma = Math.sqrt(x.own);
    const rho = this.pairs && x.own > 0 ? Math.min(1, x.cross / x.own) : 0;
    if (sigma > FAR) {
      const [far, nearer] = [FAR, FAR / 2].map((at) =>
        this.integrals(activation, { own: at ** 2, cross: at ** 2 * rho }),
      );
      /** @param {Moments} a @param {Moments} b a power of sigma from here on */
      const grown = (a, b) => (sigma / FAR) ** Math.log2(a.own / b.own || 1);
      const growth = grown(far.value, nearer.value);
      return {
        mean: far.mean * Math.sqrt(growth),
        value: times(far.value, growth),
        slope: times(far.slope, grown(far.slope, nearer.slope)),
      };
    }
    const { z, weights } = this.#grid(Math.max(0, Math.ceil(Math.log2(sigma))));
    const [values, slopes] = this.#evaluate(activation, z, sigma);
    let mean = 0;
    let value = 0;
    let slope = 0;
    for (let i = 0; i < NODES; i++) {
      mean += weights[i] * values[i];
      value += weights[i] * values[i] ** 2;
      slope += weights[i] * slopes[i] ** 2;
    }
    /** @param {Float64Array} f @param {number} own */
    const cross = (f, own) => (this.pairs ? mehler(f, own, rho, z, weights) : 0);
    return {
      mean,
      value: { own: value, cross: cross(values, value) },
      slope: { own: slope, cross: cross(slopes, slope) },
    };
  }

  /**
   * Midpoints in t of z = a sinh(t), a = 2^-density: as dense near 0 as sigma asks for, where activations have their
   * bends, and with 0 between two of them, where some have a kink. Smooth functions converge faster than any power of
   * the step.
   * @param {number} density
   */
  #grid(density) {
    let grid = this.#grids.get(density);
    if (!grid) {
      const a = 2 ** -density;
      const end = Math.asinh(9 / a);
      const t = Float64Array.from({ length: NODES }, (_, i) => (end * (2 * i + 1 - NODES)) / NODES);
      const z = t.map((at) => a * Math.sinh(at));
      const unscaled = z.map((at, i) => Math.exp((-at * at) / 2) * Math.cosh(t[i]));
      const total = unscaled.reduce((sum, weight) => sum + weight);
      grid = { z, weights: unscaled.map((weight) => weight / total) };
      this.#grids.set(density, grid);
    }
    return grid;
  }

  /**
   * phi(sigma z) and phi'(sigma z).
   * @param {Activation} activation
   * @param {Float64Array} z
   * @param {number} sigma
   */
  #evaluate(activation, z, sigma) {
    const { memory } = this.engine;
    return Frame.run(this.engine, (frame) => {
      const input = frame.room(NODES * 4);
      const ones = frame.room(NODES * 4);
      const result = frame.room(NODES * 4);
      const x = memory.floats(input, NODES);
      for (let i = 0; i < NODES; i++) x[i] = sigma * z[i];
      memory.floats(ones, NODES).fill(1);
      const read = () => new Float64Array(memory.floats(result, NODES));
      this.engine.compute('an_activation_fwd', result, input, NODES, ...activation);
      const values = read();
      this.engine.compute('an_activation_bwd', result, input, ones, NODES, ...activation);
      return [values, read()];
    });
  }
}

/**
 * E[f(z) f(z')] = sum over k of a_k^2 rho^k, a_k = E[f(z) He_k(z)] / sqrt(k!) (Mehler 1866).
 * @param {Float64Array} f
 * @param {number} own E[f(z)^2], the sum of all a_k^2
 * @param {number} rho
 * @param {Float64Array} z
 * @param {Float64Array} weights
 */
function mehler(f, own, rho, z, weights) {
  const sums = new Float64Array(ORDERS);
  for (let i = 0; i < NODES; i++) {
    const weighted = weights[i] * f[i];
    let [before, now] = [0, 1];
    for (let k = 0; k < ORDERS; k++) {
      sums[k] += weighted * now;
      [before, now] = [now, (z[i] * now - ROOTS[k] * before) / ROOTS[k + 1]];
    }
  }
  let result = 0;
  let rest = own;
  let half = own;
  for (let k = 0; k < ORDERS; k++) {
    if (k === ORDERS / 2) half = rest;
    result += sums[k] ** 2 * rho ** k;
    rest -= sums[k] ** 2;
  }
  return result + tail(rest, half, rho);
}

/**
 * What the terms from k = ORDERS on are. Where there are any, the function has a kink or a jump, so that a_k^2 falls as a
 * power of k, and so do their sums, which their halves tell: rest(k) = rest (ORDERS / k)^power. rho^k is averaged over it.
 * @param {number} rest the sum of a_k^2 from there on
 * @param {number} half the same from ORDERS / 2 on
 * @param {number} rho
 */
function tail(rest, half, rho) {
  if (rest < 1e-12 * half || half === 0) return 0;
  const power = Math.log2(half / rest);
  const points = 128;
  let sum = 0;
  for (let i = 0; i < points; i++) sum += rho ** (ORDERS / ((i + 0.5) / points) ** (1 / power));
  return (rest * sum) / points;
}

/**
 * The variances that an initialisation gives (src/plan.c).
 * @param {any} config resolved
 * @param {number} additions residual ones, of the whole stack
 */
function variances(config, additions) {
  const { init, init_std: std, beta, bias } = config;
  /** @type {Record<string, (columns: number, rows: number) => number>} */
  const rules = {
    xavier_uniform: (columns, rows) => 2 / (columns + rows),
    xavier_normal: (columns, rows) => 2 / (columns + rows),
    kaiming_uniform: (columns) => 2 / columns,
    kaiming_normal: (columns) => 2 / columns,
    normal: () => std ** 2,
    gpt2: () => std ** 2,
  };
  const rule = rules[init] ?? ((columns) => 1 / (3 * columns));
  const last = init === 'zero' ? 0 : init === 'gpt2' ? 1 / additions : 1;
  const biases = bias && !(init in rules);
  return {
    /** @param {number} columns @param {number} rows @param {boolean} [ends] the branch's last matrix */
    weight: (columns, rows, ends = false) => rule(columns, rows) * beta ** 2 * (ends ? last : 1),
    /** @param {number} columns @param {boolean} [ends] @returns {Moments} all tokens have the same one */
    bias: (columns, ends = false) => {
      const variance = biases ? (ends ? last : 1) / (3 * columns) : 0;
      return { own: variance, cross: variance };
    },
  };
}

/**
 * @param {Engine} engine
 * @param {unknown} given
 * @param {unknown} options
 * @returns {import('./types.js').Theory}
 */
export function theory(engine, given, options) {
  /** @type {any} */
  const config = Frame.run(engine, (frame) =>
    configure(engine, ({ name }) => name !== 'layer', given, { layer: 0 }, frame.room(engine.lists.fields.length * 8)),
  );
  const { length: tokens } = check.options('options', options, ['length']);
  const length = check.integer('length', tokens ?? (config.positions || 1), 1, 2 ** 32 - 1);

  const { d_model: d, d_ff: h, depth, placement, norm, mixing } = config;
  const mixes = mixing === 'mean';
  const variance = variances(config, mixing === 'none' ? depth : 2 * depth);
  const gauss = new Gauss(engine, mixes);
  /** @param {string} name @returns {Activation} */
  const activationOf = (name, p0 = 0, p1 = 0) => [Number(engine.lists.numbers.activation.get(name)), p0, p1];
  const activation = activationOf(config.activation, config.activation_p0, config.activation_p1);

  /** Squares of weight gradients, an element's and per token, from the last layer down. @type {Record<string, number[]>} */
  const squares = { up: [], down: [] };
  if (config.gated) squares.gate = [];
  if (mixes) Object.assign(squares, { value: [], out: [] });
  /** Of the sum over tokens of gradient times input. @param {string} name @param {Moments} g @param {Moments} x */
  const learn = (name, g, x) => {
    squares[name].unshift(g.own * x.own + (length - 1) * g.cross * x.cross);
  };

  /** @param {Moments} x @returns {Step & { mean: number }} and the mean of the hidden layer */
  const ffn = (x) => {
    const up = variance.weight(d, h);
    const down = variance.weight(h, d, true);
    const z = plus(times(x, d * up), variance.bias(d));
    const phi = gauss.integrals(activation, z);
    const hidden = config.gated ? product(phi.value, z) : phi.value;
    const kept = dropped(hidden, config.dropout);
    return {
      mean: phi.mean,
      out: plus(times(kept, h * down), variance.bias(h, true)),
      back: (g) => {
        learn('down', g, kept);
        const dHidden = dropped(times(g, d * down), config.dropout);
        const dSlope = product(dHidden, phi.slope);
        if (!config.gated) {
          learn('up', dSlope, x);
          return times(dSlope, h * up);
        }
        const dGate = product(dSlope, z);
        const dUp = product(dHidden, phi.value);
        learn('gate', dGate, x);
        learn('up', dUp, x);
        return times(plus(dGate, dUp), h * up);
      },
    };
  };

  /** All tokens get the same: out(mean of value(x)). @type {Operation} */
  const mean = (x) => {
    const value = variance.weight(d, d);
    const out = variance.weight(d, d, true);
    /** @param {Moments} pair @returns {Moments} */
    const average = ({ own, cross }) => {
      const all = (own + (length - 1) * cross) / length;
      return { own: all, cross: all };
    };
    const mid = plus(times(average(x), d * value), variance.bias(d));
    return {
      out: plus(times(mid, d * out), variance.bias(d, true)),
      back: (g) => {
        learn('out', g, mid);
        const dValue = times(average(g), d * out);
        learn('value', dValue, x);
        return times(dValue, d * value);
      },
    };
  };

  /** With weight 1 and bias 0. @type {Operation} */
  const normed = (x) => {
    if (norm === 'none') return linear(1)(x);
    if (norm === 'dyt') {
      const alpha = config.norm_alpha ** 2;
      const z = times(x, alpha);
      const { value, slope } = gauss.integrals(activationOf('tanh'), z);
      return { out: value, back: (g) => times(product(g, slope), alpha) };
    }
    const outside = norm === 'layer_norm_std' || norm === 'rms_norm_outside';
    const divisor = outside ? (Math.sqrt(x.own) + config.eps) ** 2 : x.own + config.eps;
    return linear(divisor > 0 ? 1 / divisor : 0)(x);
  };

  const before = ['pre', 'peri', 'lns', 'layer_scale'].includes(placement);
  const after = ['peri', 'output'].includes(placement);
  const post = ['post', 'deepnorm'].includes(placement);
  const gate = ['rezero', 'layer_scale'].includes(placement) ? config.alpha ** 2 : 1;
  const stream = placement === 'deepnorm' ? config.alpha ** 2 : 1;
  /** @param {Operation} sublayer @param {number} layer from 1 @returns {Operation} */
  const wired = (sublayer, layer) => {
    const branch = chain(
      before ? normed : linear(1),
      linear(placement === 'lns' ? 1 / layer : 1),
      sublayer,
      (x) => ({ out: dropped(x, config.residual_dropout), back: (g) => dropped(g, config.residual_dropout) }),
      after ? normed : linear(1),
      linear(gate),
    );
    const kept = linear(config.residual ? stream : 0);
    /** @type {Operation} */
    const sum = (x) => {
      const [a, b] = [kept(x), branch(x)];
      return { out: plus(a.out, b.out), back: (g) => plus(a.back(g), b.back(g)) };
    };
    return post ? chain(sum, normed) : sum;
  };

  // What F makes of a normed stream.
  const first = ffn({ own: 1, cross: 0 });
  const moments = {
    mean: config.gated ? 0 : first.mean,
    c: first.out.own,
    cPrime: first.back({ own: 1, cross: 0 }).own,
  };
  for (const list of Object.values(squares)) list.length = 0;

  const { reason, notes } = remarks(config, length, !['none', 'rezero'].includes(placement) || config.final_norm);
  if (reason) return { supported: false, moments, stream: [], gradient: [], weights: {}, notes: [reason] };

  /** @type {Step[]} */
  const steps = [];
  let x = { own: 1, cross: 0 };
  const streams = [1];
  for (let layer = 1; layer <= depth; layer++) {
    for (const sublayer of mixes ? [mean, ffn] : [ffn]) {
      steps.push(wired(sublayer, layer)(x));
      x = /** @type {Step} */ (steps.at(-1)).out;
      streams.push(x.own);
    }
  }
  let g = (config.final_norm ? normed(x) : linear(1)(x)).back({ own: 1, cross: 0 });
  const gradients = [g.own];
  for (const step of steps.reverse()) {
    g = step.back(g);
    gradients.unshift(g.own);
  }
  const weights = Object.fromEntries(
    Object.entries(squares).map(([name, list]) => {
      const rms = list.map(Math.sqrt);
      return [name, { rms, ratio: rms.map((value) => value / rms[depth - 1]) }];
    }),
  );
  return { supported: true, moments, stream: streams, gradient: gradients, weights, notes };
}

/**
 * What the curves do not say, and why there are none.
 * @param {any} config
 * @param {number} length
 * @param {boolean} normed
 * @returns {{ reason: string | null, notes: string[] }}
 */
function remarks(config, length, normed) {
  const { mixing, causal, norm, placement } = config;
  /** @type {[boolean, string][]} */
  const reasons = [
    [
      mixing === 'attention',
      'With attention the scores decide how fast tokens become alike; curves are for mixing none and mean.',
    ],
    [mixing === 'mean' && causal, 'With causal mixing every position has moments of its own.'],
    [
      normed && (norm === 'batch_norm' || norm === 'instance_norm'),
      'This norm takes statistics over tokens, which the moments of one token do not tell.',
    ],
  ];
  /** @type {[boolean, string][]} */
  const notes = [
    [true, 'Expected over seeds, in the limit of wide layers; one stack scatters around it.'],
    [
      norm === 'none' || placement === 'none',
      'Nothing holds the stream: stacks scatter widely, so compare averages of logarithms over seeds.',
    ],
    [normed && norm === 'dyt', 'The stream is taken as Gaussian, which matters to dyt alone.'],
    [mixing === 'mean', `Sequences of ${length} tokens, independent of each other at the start.`],
    [
      config.d_in > 0 || config.d_out > 0 || config.positions > 0,
      'Without input projection, positions and head: the stream starts as N(0, 1), and so does its gradient.',
    ],
    [config.dropout > 0 || config.residual_dropout > 0, 'In training, with dropout.'],
  ];
  /** @param {[boolean, string][]} list */
  const said = (list) => list.flatMap(([holds, text]) => (holds ? [text] : []));
  return { reason: said(reasons)[0] ?? null, notes: said(notes) };
}
