// @ts-check
/// <reference lib="esnext.disposable" preserve="true" />
// What every entry of the package offers. This file is the manual of the JavaScript API.
import * as check from './check.js';
import { Engine } from './engine.js';
import { AddnormError } from './errors.js';
import { limits } from './limits.js';
import { variantOf } from './loader.js';
import { loss } from './loss.js';
import { Block, Ffn, Stack } from './module.js';
import { addNorm, addNormBackward, norm, normBackward } from './norm.js';
import {
  activation,
  activationBackward,
  add,
  addBackward,
  dropout,
  glu,
  gluBackward,
  linear,
  linearBackward,
  random,
  softmax,
  softmaxBackward,
  tensor,
  zeros,
} from './ops.js';
import { clipGradNorm, Optimizer, optimizers } from './optimizer.js';
import { schedule, schedules } from './schedule.js';
import { selfTest } from './self-test.js';
import { Tensor } from './tensor.js';
import { theory } from './theory.js';

export { AddnormError, Block, Ffn, Optimizer, Stack, Tensor };

/**
 * @template T
 * @typedef {import('./types.js').Like<T>} Like
 */

/**
 * @template O
 * @template Stats
 * @template Bare
 * @typedef {import('./types.js').WithStats<O, Stats, Bare>} WithStats
 */

/**
 * @template T
 * @template N
 * @typedef {import('./types.js').NormGradients<T, N>} NormGradients
 */

/**
 * @template T
 * @typedef {import('./types.js').AddGradients<T>} AddGradients
 */

/**
 * @template T
 * @typedef {import('./types.js').AddNormResult<T>} AddNormResult
 */

/**
 * @template T
 * @typedef {import('./types.js').AlphaGradient<T>} AlphaGradient
 */

/**
 * @template T
 * @typedef {import('./types.js').GluGradients<T>} GluGradients
 */

/**
 * @template T
 * @typedef {import('./types.js').LinearGradients<T>} LinearGradients
 */

/**
 * @template T
 * @typedef {import('./types.js').NormResult<T>} NormResult
 */

/**
 * @template T
 * @typedef {import('./types.js').NormStats<T>} NormStats
 */

/**
 * @template T
 * @typedef {import('./types.js').ResidualGradient<T>} ResidualGradient
 */

/**
 * @template T
 * @typedef {import('./types.js').RowGradients<T>} RowGradients
 */

/**
 * @template Config
 * @typedef {import('./types.js').Resolved<Config>} Resolved
 */

/**
 * @template T
 * @template Options
 * @typedef {import('./types.js').Dx<T, Options>} Dx
 */

/**
 * @template O
 * @template T
 * @typedef {import('./types.js').LossResult<O, T>} LossResult
 */

// The types that have names, for `import type { BlockConfig } from 'addnorm'`.
/** @typedef {import('./types.js').ActivationAlias} ActivationAlias */
/** @typedef {import('./types.js').ActivationInfo} ActivationInfo */
/** @typedef {import('./types.js').ActivationName} ActivationName */
/** @typedef {import('./types.js').ActivationParams} ActivationParams */
/** @typedef {import('./types.js').AdamSettings} AdamSettings */
/** @typedef {import('./types.js').AddNormBackwardOptions} AddNormBackwardOptions */
/** @typedef {import('./types.js').AddNormOptions} AddNormOptions */
/** @typedef {import('./types.js').AddOptions} AddOptions */
/** @typedef {import('./types.js').AffineName} AffineName */
/** @typedef {import('./types.js').BackwardOptions} BackwardOptions */
/** @typedef {import('./types.js').BigIntegers} BigIntegers */
/** @typedef {import('./types.js').BlockConfig} BlockConfig */
/** @typedef {import('./types.js').Capabilities} Capabilities */
/** @typedef {import('./types.js').Capability} Capability */
/** @typedef {import('./types.js').CommonSettings} CommonSettings */
/** @typedef {import('./types.js').Cost} Cost */
/** @typedef {import('./types.js').Divergence} Divergence */
/** @typedef {import('./types.js').DropoutOptions} DropoutOptions */
/** @typedef {import('./types.js').FfnConfig} FfnConfig */
/** @typedef {import('./types.js').FieldInfo} FieldInfo */
/** @typedef {import('./types.js').ForwardOptions} ForwardOptions */
/** @typedef {import('./types.js').GluAlias} GluAlias */
/** @typedef {import('./types.js').HeadersLike} HeadersLike */
/** @typedef {import('./types.js').Init} Init */
/** @typedef {import('./types.js').InitName} InitName */
/** @typedef {import('./types.js').Integers} Integers */
/** @typedef {import('./types.js').Labels} Labels */
/** @typedef {import('./types.js').Layout} Layout */
/** @typedef {import('./types.js').Learnable} Learnable */
/** @typedef {import('./types.js').Learned} Learned */
/** @typedef {import('./types.js').Limits} Limits */
/** @typedef {import('./types.js').LimitsOptions} LimitsOptions */
/** @typedef {import('./types.js').LinearOptions} LinearOptions */
/** @typedef {import('./types.js').LoadOptions} LoadOptions */
/** @typedef {import('./types.js').LossAlias} LossAlias */
/** @typedef {import('./types.js').LossInfo} LossInfo */
/** @typedef {import('./types.js').LossName} LossName */
/** @typedef {import('./types.js').LossOptions} LossOptions */
/** @typedef {import('./types.js').MixingName} MixingName */
/** @typedef {import('./types.js').NormInfo} NormInfo */
/** @typedef {import('./types.js').NormName} NormName */
/** @typedef {import('./types.js').NormOptions} NormOptions */
/** @typedef {import('./types.js').OptimizerInfo} OptimizerInfo */
/** @typedef {import('./types.js').OptimizerName} OptimizerName */
/** @typedef {import('./types.js').ParameterInfo} ParameterInfo */
/** @typedef {import('./types.js').PlacementInfo} PlacementInfo */
/** @typedef {import('./types.js').PlacementName} PlacementName */
/** @typedef {import('./types.js').Probe} Probe */
/** @typedef {import('./types.js').ProbeOptions} ProbeOptions */
/** @typedef {import('./types.js').ProbeStream} ProbeStream */
/** @typedef {import('./types.js').ProbeSublayer} ProbeSublayer */
/** @typedef {import('./types.js').RandomOptions} RandomOptions */
/** @typedef {import('./types.js').ResponseLike} ResponseLike */
/** @typedef {import('./types.js').ScheduleInfo} ScheduleInfo */
/** @typedef {import('./types.js').ScheduleName} ScheduleName */
/** @typedef {import('./types.js').ScheduleOptions} ScheduleOptions */
/** @typedef {import('./types.js').SelfTestCheck} SelfTestCheck */
/** @typedef {import('./types.js').SelfTestReport} SelfTestReport */
/** @typedef {import('./types.js').SgdSettings} SgdSettings */
/** @typedef {import('./types.js').Shaped} Shaped */
/** @typedef {import('./types.js').ShapedLabels} ShapedLabels */
/** @typedef {import('./types.js').SoftmaxOptions} SoftmaxOptions */
/** @typedef {import('./types.js').StackConfig} StackConfig */
/** @typedef {import('./types.js').State} State */
/** @typedef {import('./types.js').StateTensor} StateTensor */
/** @typedef {import('./types.js').Stats} Stats */
/** @typedef {import('./types.js').TensorLike} TensorLike */
/** @typedef {import('./types.js').Theory} Theory */
/** @typedef {import('./types.js').TheoryGradients} TheoryGradients */
/** @typedef {import('./types.js').TheoryMoments} TheoryMoments */
/** @typedef {import('./types.js').TheoryOptions} TheoryOptions */
/** @typedef {import('./types.js').Variant} Variant */
/** @typedef {import('./types.js').ErrorCode} ErrorCode */

/**
 * @template {OptimizerName} N
 * @typedef {import('./types.js').OptimizerSettings<N>} OptimizerSettings
 */

/**
 * @template {OptimizerName} [N=OptimizerName]
 * @typedef {import('./types.js').ParameterGroup<N>} ParameterGroup
 */

/**
 * @template {OptimizerName} [N=OptimizerName]
 * @typedef {import('./types.js').OptimizerOptions<N>} OptimizerOptions
 */

/**
 * One instance of the module.
 *
 * Where a tensor is taken, so is a Float32Array (shape `[n]`) or `{ data: Float32Array, shape }`. If the main
 * argument, the first one, is a Tensor the results are new Tensors, which the caller disposes; else they are
 * Float32Arrays and nothing is left behind. For the other arguments a plain Float32Array fits wherever its length
 * does. Nothing is changed by an error, and every error on purpose is an AddnormError. Each method may throw
 * `INVALID_ARGUMENT`, `SHAPE_MISMATCH`, `UNKNOWN_NAME`, `UNKNOWN_OPTION`, `OUT_OF_MEMORY`, `DISPOSED` and
 * `WRONG_INSTANCE`: {@link ErrorCode} says what each means.
 *
 * NaN comes through, in its row and no other. Where nothing is said of Infinity it is as in IEEE 754.
 */
export class Addnorm {
  #engine;

  /**
   * @hideconstructor
   * @param {Engine} engine
   * @param {Capabilities} able
   */
  constructor(engine, able) {
    this.#engine = Engine.of(engine, 'Addnorm: made by load()');
    const { activations, norms, losses, placements, fields } = engine.lists;
    const { build } = engine.memory;
    /**
     * How the module was built: version, a number that changes with its interface, variant, compiler.
     * @readonly
     * @type {string}
     */
    this.build = build;
    /**
     * Which build this is.
     * @readonly
     */
    this.variant = variantOf(build);
    /**
     * The package's version.
     * @readonly
     * @type {string}
     */
    this.version = build.split(' ')[1];
    /**
     * Per variant: whether this engine runs it, and why not.
     * @readonly
     * @type {Capabilities}
     */
    this.capabilities = able;
    /**
     * What `activation`, `glu` and `linear` take, with parameters, their defaults and the formula.
     * @readonly
     * @type {readonly ActivationInfo[]}
     */
    this.activations = activations;
    /**
     * What `norm` takes.
     * @readonly
     * @type {readonly NormInfo[]}
     */
    this.norms = norms;
    /**
     * What `loss` takes.
     * @readonly
     * @type {readonly LossInfo[]}
     */
    this.losses = losses;
    /**
     * Where a block's norm may sit.
     * @readonly
     * @type {readonly PlacementInfo[]}
     */
    this.placements = placements;
    /**
     * What a configuration may say: type, default, range, help. `an.stack` takes all but `layer`, `an.block` all but those
     * of group stack, `an.ffn` those of the network alone.
     * @readonly
     * @type {readonly FieldInfo[]}
     */
    this.fields = fields;
    /**
     * What `optimizer` takes.
     * @readonly
     * @type {readonly OptimizerInfo[]}
     */
    this.optimizers = optimizers;
    /**
     * What `schedule` takes.
     * @readonly
     * @type {readonly ScheduleInfo[]}
     */
    this.schedules = schedules;
    Object.freeze(this);
  }

  /**
   * A tensor with a copy of the data.
   *
   * ```js
   * const t = an.tensor(Float32Array.of(1, 2, 3, 4), [2, 2]);
   * t.toArray(); // Float32Array [1, 2, 3, 4]
   * t.dispose();
   * ```
   * @param {TensorLike} data
   * @param {readonly number[]} [shape] default: data's own, or `[data.length]`
   * @returns {Tensor}
   * @throws {AddnormError} `SHAPE_MISMATCH`, `OUT_OF_MEMORY`, `INVALID_ARGUMENT`
   */
  tensor(data, shape) {
    return tensor(this.#engine, data, shape);
  }

  /**
   * A tensor of zeros.
   * @param {readonly number[]} shape
   * @returns {Tensor}
   */
  zeros(shape) {
    return zeros(this.#engine, shape);
  }

  /**
   * Numbers from a counter-based generator, bit-identical in all variants: each depends on seed, stream and its place
   * alone.
   *
   * ```js
   * const x = an.random([8, 64], { seed: 1 }); // N(0, 1)
   * const u = an.random([64], { distribution: 'uniform', low: -1, high: 1 });
   * ```
   * @param {readonly number[]} shape
   * @param {RandomOptions} [options] default: normal with mean 0 and standard deviation 1, seed 0
   * @returns {Tensor}
   */
  random(shape, options) {
    return random(this.#engine, shape, options);
  }

  /**
   * Runs fn and disposes every tensor and module that was made in it, except what it returns (also inside arrays and
   * plain objects). fn must not be async (TypeScript: it would have to return `never`). If it throws, everything is disposed.
   *
   * ```js
   * const y = an.scope(() => an.softmax(an.add(x, an.activation('silu', x))));
   * ```
   * @template T
   * @param {() => T extends PromiseLike<unknown> ? never : T} fn
   * @returns {T}
   */
  scope(fn) {
    if (typeof fn !== 'function') throw check.invalid('fn', fn, 'a function');
    return this.#engine.scope(fn);
  }

  /**
   * How much memory is in use. Results that come as Float32Arrays leave nothing in it.
   * @returns {Stats}
   */
  stats() {
    const { memory, live, collected } = this.#engine;
    return { bytes: memory.bytes, peak: memory.peak, live, collected, memory: memory.size };
  }

  /**
   * y[i] = activation(x[i]). At ±Infinity it is the limit (leaky_relu with slope 0: NaN, as the product is).
   * At most 4 ULP from the true value at default parameters: {@link "docs/accuracy"}.
   *
   * ```js
   * an.activation('relu', Float32Array.of(-1, 0, 2)); // Float32Array [0, 0, 2]
   * an.activation('elu', Float32Array.of(-1), { alpha: 0.5 });
   * ```
   * @template {TensorLike} T
   * @param {ActivationName | ActivationAlias} name
   * @param {T} x any shape
   * @param {ActivationParams} [params] e.g. `{ alpha: 0.5 }`; `an.activations` says which there are
   * @returns {Like<T>} x's shape
   */
  activation(name, x, params) {
    return activation(this.#engine, name, x, params);
  }

  /**
   * The gradient of `activation`: dx[i] = dy[i] * activation'(x[i]). At a kink the derivative is that from below
   * (relu'(0) = 0), at ±Infinity the limit.
   *
   * ```js
   * an.activationBackward('relu', Float32Array.of(-1, 2), Float32Array.of(10, 10)); // Float32Array [0, 10]
   * ```
   * @template {TensorLike} T
   * @param {ActivationName | ActivationAlias} name
   * @param {T} x what activation was given
   * @param {TensorLike} dy the gradient of the result; x's shape
   * @param {ActivationParams} [params]
   * @returns {Like<T>} dx, x's shape
   */
  activationBackward(name, x, dy, params) {
    return activationBackward(this.#engine, name, x, dy, params);
  }

  /**
   * y[i] = activation(gate[i]) * up[i], a gated linear unit (Shazeer 2020, arXiv 2002.05202): `glu` (sigmoid), `bilinear`
   * (identity), `reglu`, `geglu` (gelu_erf), `swiglu` (silu), or any activation. 0 * Infinity is NaN.
   *
   * ```js
   * an.glu('reglu', Float32Array.of(-1, 2), Float32Array.of(3, 4)); // Float32Array [0, 8]
   * ```
   * @template {TensorLike} T
   * @param {ActivationName | ActivationAlias | GluAlias} name
   * @param {T} gate any shape
   * @param {TensorLike} up the same shape
   * @param {ActivationParams} [params]
   * @returns {Like<T>}
   */
  glu(name, gate, up, params) {
    return glu(this.#engine, name, gate, up, params);
  }

  /**
   * The gradients of `glu`: dGate = dy * activation'(gate) * up, dUp = dy * activation(gate).
   * @template {TensorLike} T
   * @param {ActivationName | ActivationAlias | GluAlias} name
   * @param {T} gate any shape
   * @param {TensorLike} up the same shape
   * @param {TensorLike} dy the same shape
   * @param {ActivationParams} [params]
   * @returns {GluGradients<T>} both in gate's shape
   */
  gluBackward(name, gate, up, dy, params) {
    return gluBackward(this.#engine, name, gate, up, dy, params);
  }

  /**
   * Softmax or log-softmax along one axis. -Infinity gives 0 (log: -Infinity); Infinity makes its row NaN, and so does
   * -Infinity alone, unless `maskedRow` says otherwise. At most 4 ULP from the true value.
   *
   * ```js
   * an.softmax({ data: new Float32Array(4), shape: [2, 2] }, { axis: 0 }); // Float32Array [0.5, 0.5, 0.5, 0.5]
   * ```
   * @template {TensorLike} T
   * @param {T} x at least one axis
   * @param {SoftmaxOptions} [options]
   * @returns {Like<T>} x's shape
   */
  softmax(x, options) {
    return softmax(this.#engine, x, options);
  }

  /**
   * The gradient of `softmax`, from its result: dx = y * (dy - sum(dy * y)), of log-softmax dx = dy - e^y * sum(dy). A
   * row that `maskedRow: 'zero'` has masked gives zeros.
   * @template {TensorLike} T
   * @param {T} y what softmax gave, with the same options
   * @param {TensorLike} dy y's shape
   * @param {SoftmaxOptions} [options]
   * @returns {Like<T>} dx, y's shape
   */
  softmaxBackward(y, dy, options) {
    return softmaxBackward(this.#engine, y, dy, options);
  }

  /**
   * Normalises x. What a norm computes, its kind and its default eps stand in `an.norms`.
   * - Kind row (layer_norm, layer_norm_std, rms_norm, rms_norm_outside, dyt, none): statistics over `axes`, any list
   *   in any order; weight and bias have the sizes of these axes in this order. An empty list normalises each element
   *   by itself.
   * - batch_norm: x [..., channels, ...], statistics a channel over all other axes; `mask` says where there is padding,
   *   which counts for nothing and gives 0.
   * - group_norm, instance_norm: x [batch, ..., channels, ...], statistics a batch entry and group of channels.
   *
   * Without spread (the RMS norms: of zeros) the result is the bias, also with eps 0. NaN or Infinity among the elements
   * of one statistic make all of them NaN.
   *
   * ```js
   * const y = an.norm('rms_norm', Float32Array.of(3, 4), { eps: 0, weight: Float32Array.of(1, 2) });
   * const { mean, rstd } = an.norm('layer_norm', { data: new Float32Array(6), shape: [2, 3] }, { stats: true }); // [2, 1]
   * ```
   * @template {TensorLike} T
   * @template {NormOptions} [O={}]
   * @param {NormName} name
   * @param {T} x
   * @param {O} [options]
   * @returns {WithStats<O, NormResult<T>, Like<T>>} y in x's shape; with `stats: true` an object of y, mean and rstd
   */
  norm(name, x, options) {
    return norm(this.#engine, name, x, options);
  }

  /**
   * The gradients of `norm`, from its x: statistics are computed anew. Options are those of `norm`, so that one object
   * serves both; bias, stats, momentum and biasedRunningVar are of no account here, and running statistics are read
   * (where `training` is false) and never updated: pass them as they were before the forward.
   *
   * Without spread the derivative is that with the norm's eps; where there is none (eps 0 or outside the root) dx is
   * rstd * (g - mean(g)), g = dy * weight. NaN or Infinity among the elements of one statistic make all their dx NaN.
   *
   * ```js
   * const options = { weight: new Float32Array(64).fill(1) };
   * const y = an.norm('layer_norm', x, options);
   * const { dx, dWeight, dBias } = an.normBackward('layer_norm', x, y, options); // for the loss sum(y²) / 2, whose dy is y
   * ```
   * @template {TensorLike} T
   * @template {NormName} N
   * @param {N} name
   * @param {T} x what norm was given
   * @param {TensorLike} dy the gradient of y; x's shape
   * @param {NormOptions} [options]
   * @returns {NormGradients<T, N>} dx in x's shape; dWeight and dBias in the shape that weight and bias have or would
   *   have; dyt: dAlpha [1]
   */
  normBackward(name, x, dy, options) {
    return normBackward(this.#engine, name, x, dy, options);
  }

  /**
   * alpha * x + y, the residual addition, rounded after the product and after the sum.
   *
   * ```js
   * an.add(Float32Array.of(1, 2), Float32Array.of(10, 20), { alpha: 3 }); // Float32Array [13, 26]
   * ```
   * @template {TensorLike} T
   * @param {T} x any shape
   * @param {TensorLike} y the same shape
   * @param {AddOptions} [options]
   * @returns {Like<T>}
   */
  add(x, y, options) {
    return add(this.#engine, x, y, options);
  }

  /**
   * The gradients of `add`: dx = alpha * dOut, dy = dOut.
   * @template {TensorLike} T
   * @param {T} dOut the gradient of the sum, any shape
   * @param {AddOptions} [options]
   * @returns {AddGradients<T>} both in dOut's shape
   */
  addBackward(dOut, options) {
    return addBackward(this.#engine, dOut, options);
  }

  /**
   * sum = alpha * x + residual and y = norm(sum), for row norms in one pass over memory. Options as `norm` has them.
   *
   * ```js
   * const residual = an.zeros([8, 64]);
   * const { sum, y } = an.addNorm('rms_norm', x, residual); // the next residual, and what the next sublayer sees
   * ```
   * @template {TensorLike} T
   * @template {AddNormOptions} [O={}]
   * @param {NormName} name
   * @param {T} x
   * @param {TensorLike} residual the same shape
   * @param {O} [options]
   * @returns {AddNormResult<T> & WithStats<O, NormStats<T>, {}>}
   */
  addNorm(name, x, residual, options) {
    return addNorm(this.#engine, name, x, residual, options);
  }

  /**
   * The gradients of `addNorm`, from its sum: dResidual = dSum + what normBackward gives, dx = alpha * dResidual. Options
   * are addNorm's, and `dSum` where the sum is used further, as by the next residual.
   * @template {TensorLike} T
   * @template {NormName} N
   * @param {N} name
   * @param {T} sum what addNorm gave
   * @param {TensorLike} dy the gradient of y; sum's shape
   * @param {AddNormBackwardOptions} [options]
   * @returns {NormGradients<T, N> & ResidualGradient<T>}
   */
  addNormBackward(name, sum, dy, options) {
    return addNormBackward(this.#engine, name, sum, dy, options);
  }

  /**
   * y = activation(x Wᵀ + b). The weight is packed in every call; modules pack theirs when it has changed. Nothing is
   * skipped: 0 * NaN and 0 * Infinity are NaN.
   *
   * ```js
   * const weight = { data: Float32Array.of(1, 0, 0, 1, 1, 1), shape: [3, 2] };
   * an.linear(Float32Array.of(2, -5), weight, { activation: 'relu' }); // Float32Array [2, 0, 0]
   * ```
   * @template {TensorLike} T
   * @param {T} x [..., in]
   * @param {TensorLike} weight [out, in]; [in, out] with `layout: 'in_out'`; a Tensor or `{ data, shape }`
   * @param {LinearOptions} [options]
   * @returns {Like<T>} [..., out]
   */
  linear(x, weight, options) {
    return linear(this.#engine, x, weight, options);
  }

  /**
   * The gradients of `linear`: with g = dy * activation'(x Wᵀ + b), computed anew, dx = g W, dWeight = gᵀ x in the
   * weight's layout, dBias = g summed over the rows.
   * @template {TensorLike} T
   * @param {T} x [..., in]
   * @param {TensorLike} weight [out, in]; [in, out] with `layout: 'in_out'`
   * @param {TensorLike} dy [..., out]
   * @param {LinearOptions} [options] linear's
   * @returns {LinearGradients<T>}
   */
  linearBackward(x, weight, dy, options) {
    return linearBackward(this.#engine, x, weight, dy, options);
  }

  /**
   * Inverted dropout (Srivastava et al. 2014): x[i] / (1 - p) with probability 1 - p, else 0, also where x is NaN. Which ones
   * stay depends on seed, stream and i alone, in all variants alike, so the gradient is the same call on dy.
   *
   * ```js
   * const y = an.dropout(x, 0.1, { seed: 1 });
   * const dx = an.dropout(y, 0.1, { seed: 1 }); // for the loss sum(y²) / 2, whose dy is y
   * ```
   * @template {TensorLike} T
   * @param {T} x any shape
   * @param {number} p from 0 to below 1
   * @param {DropoutOptions} [options]
   * @returns {Like<T>} x's shape
   */
  dropout(x, p, options) {
    return dropout(this.#engine, x, p, options);
  }

  /**
   * A loss, summed in double, and its gradient by the prediction. `an.losses` says what each is.
   * - `mse`: the target has the prediction's shape.
   * - `softmax_cross_entropy`, `nll`: the target holds labels, whole numbers in the prediction's shape without the class
   *   axis, or probabilities in the prediction's shape. With `reduction: 'mean'` labels divide by the number of rows
   *   that count, or the sum of their classWeights; probabilities by the number of rows.
   *
   * Without any row that counts a mean is NaN, a sum 0, the gradient 0. NaN makes its row NaN, and the value.
   *
   * ```js
   * const { value, gradient } = an.loss('softmax_cross_entropy', logits, [2, 0, 1]);
   * ```
   * @template {TensorLike} T
   * @template {LossOptions} [O={}]
   * @param {LossName | LossAlias} name
   * @param {T} prediction
   * @param {TensorLike | Labels} target
   * @param {O} [options]
   * @returns {LossResult<O, T>} value: a number; with `reduction: 'none'` the terms, in the labels' shape (mse: the
   *   prediction's), and gradient is then that of their sum. gradient: the prediction's shape
   * @throws {AddnormError} `INVALID_ARGUMENT` with the label and its place, where one is no class
   */
  loss(name, prediction, target, options) {
    return loss(this.#engine, name, prediction, target, options);
  }

  /**
   * A feed-forward network.
   *
   * ```js
   * const ffn = an.ffn({ d_model: 64, d_ff: 172, activation: 'silu', gated: true, bias: false }, { seed: 7 });
   * const y = ffn.forward(new Float32Array(64));
   * ```
   * @param {FfnConfig} [config]
   * @param {Init} [init] default `{ seed: 0 }`
   * @returns {Ffn} to be disposed
   */
  ffn(config, init) {
    return new Ffn(this.#engine, config, init);
  }

  /**
   * A residual block: a feed-forward network with its norm, in one of `an.placements`; with `mixing` a whole Transformer
   * layer, whose first sublayer mixes tokens.
   *
   * ```js
   * // Llama's: x + FFN(RMSNorm(x)) with SwiGLU
   * const block = an.block({ d_model: 64, d_ff: 172, activation: 'silu', gated: true, bias: false, norm: 'rms_norm' });
   * const y = block.forward(x);
   * block.dispose();
   * ```
   * @param {BlockConfig} [config]
   * @param {Init} [init] default `{ seed: 0 }`
   * @returns {Block} to be disposed
   */
  block(config, init) {
    return new Block(this.#engine, config, init);
  }

  /**
   * `depth` blocks one after another, with what may stand around them: an input projection, learned positions, a final
   * norm, a head.
   *
   * ```js
   * const model = an.stack({ d_model: 64, depth: 6, mixing: 'attention', causal: true, d_in: 16, d_out: 16 });
   * ```
   * @param {StackConfig} [config]
   * @param {Init} [init] default `{ seed: 0 }`
   * @returns {Stack} to be disposed
   */
  stack(config, init) {
    return new Stack(this.#engine, config, init);
  }

  /**
   * An optimiser with PyTorch's formulas and defaults. Each `step()` takes the gradients as they are.
   *
   * ```js
   * const optimizer = an.optimizer('adamw', model, { rate: 3e-4, decay: 'matrices', clip: 1 });
   * ```
   * @template {OptimizerName} N
   * @param {N} name
   * @param {Learnable} parameters a module, or tensors and their gradients by name
   * @param {OptimizerOptions<N>} [options]
   * @returns {Optimizer} to be disposed
   */
  optimizer(name, parameters, options) {
    return new Optimizer(this.#engine, name, parameters, options);
  }

  /**
   * The Euclidean norm of all gradients together. Where it is above maxNorm, and finite, they are scaled down to it in
   * place, as PyTorch's clip_grad_norm_ does it (Pascanu et al. 2013, arXiv 1211.5063).
   *
   * ```js
   * const before = an.clipGradNorm(model, 1);
   * ```
   * @param {Learnable} parameters as `optimizer` takes them
   * @param {number} maxNorm Infinity only measures
   * @returns {number} the norm before
   */
  clipGradNorm(parameters, maxNorm) {
    return clipGradNorm(this.#engine, parameters, maxNorm);
  }

  /**
   * A learning rate for every step, counted from 1; the same bits on every engine.
   *
   * ```js
   * const rate = an.schedule('warmup_cosine', { rate: 3e-4, warmup: 100, total: 2000 });
   * const optimizer = an.optimizer('adam', model, { rate });
   * ```
   * @param {ScheduleName} name
   * @param {ScheduleOptions} options
   * @returns {(step: number) => number}
   */
  schedule(name, options) {
    return schedule(name, options);
  }

  /**
   * What theory expects of a stack of this configuration at its initialisation, for a stream and an output gradient of
   * independent N(0, 1): how the stream grows, how the gradient comes back, and how large it is by each weight. A
   * module's `probe` measures them.
   *
   * ```js
   * const { stream, gradient } = an.theory({ d_model: 256, depth: 24, placement: 'pre' });
   * const growth = stream[24] / stream[0];
   * ```
   * @param {StackConfig} [config]
   * @param {TheoryOptions} [options]
   * @returns {Theory}
   */
  theory(config, options) {
    return theory(this.#engine, config, options);
  }

  /**
   * Measures what this engine can do at most with this variant, in about 50 milliseconds: what the speed of a kernel or
   * a module is to be compared with, measured in the same moments.
   *
   * ```js
   * const { flops } = an.limits();
   * const share = ffn.cost(rows).flops / seconds / flops;
   * ```
   * @param {LimitsOptions} [options]
   * @returns {Limits}
   * @throws {AddnormError} `OUT_OF_MEMORY` if there is no room for `bytes`
   */
  limits(options) {
    return limits(this.#engine, options);
  }

  /**
   * Computes a small workload whose results are known, in about a millisecond.
   *
   * ```js
   * const { checks } = an.selfTest();
   * ```
   * @returns {SelfTestReport} the error of each operation
   * @throws {AddnormError} `SELF_TEST` if one is outside its tolerance: this engine computes wrongly, so load another
   *   variant
   */
  selfTest() {
    return selfTest(this);
  }

  /**
   * Ends the instance: its memory goes back to the engine, its tensors and modules are dead. More than once is fine.
   */
  dispose() {
    this.#engine.dispose();
  }

  /** For `using`: dispose(). */
  [Symbol.dispose]() {
    this.dispose();
  }

  /** For Object.prototype.toString. */
  get [Symbol.toStringTag]() {
    return 'Addnorm';
  }
}
