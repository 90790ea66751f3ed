// The types of the public API that are not classes. The names in the unions are those of the module's lists, in their
// order; tests/js/types.test.js compares them.
import type { Addnorm } from './core.js';
import type { Block, Ffn, Stack } from './module.js';
import type { Tensor } from './tensor.js';

// ---- Names ----------------------------------------------------------------------------------------------------------

/**
 * A build of the kernels: without SIMD; with 128-bit SIMD, the same bits on every engine; with relaxed SIMD, whose fused
 * multiply-adds are faster and whose last bits may differ.
 */
export type Variant = 'scalar' | 'simd' | 'relaxed';

/**
 * What is applied to each element. σ is the sigmoid, Φ the normal distribution's; parameters and their defaults:
 * {@link ActivationParams}. How exact each is: {@link "docs/accuracy"}.
 *
 * | name | formula | source |
 * |---|---|---|
 * | relu | max(x, 0) | Nair and Hinton 2010 |
 * | leaky_relu | x for x ≥ 0, else negative_slope x | Maas et al. 2013 |
 * | relu_squared | max(x, 0)² | So et al. 2021 (Primer), arXiv 2109.08668 |
 * | elu | x for x ≥ 0, else alpha (eˣ - 1) | Clevert et al. 2015, arXiv 1511.07289 |
 * | selu | gamma times elu | Klambauer et al. 2017, arXiv 1706.02515 |
 * | celu | max(x, 0) + min(0, alpha (exp(x / alpha) - 1)) | Barron 2017, arXiv 1704.07483 |
 * | gelu_erf | x Φ(x) | Hendrycks and Gimpel 2016, arXiv 1606.08415 |
 * | gelu_tanh | x / 2 (1 + tanh(√(2/π) (x + 0.044715 x³))) | Hendrycks and Gimpel 2016, arXiv 1606.08415 |
 * | gelu_quick | x σ(1.702 x) | Hendrycks and Gimpel 2016, arXiv 1606.08415 |
 * | silu | x σ(x) | Elfwing et al. 2017, arXiv 1702.03118 |
 * | swish | x σ(beta x) | Ramachandran et al. 2017, arXiv 1710.05941 |
 * | mish | x tanh(log(1 + eˣ)) | Misra 2019, arXiv 1908.08681 |
 * | softplus | log(1 + exp(beta x)) / beta | Dugas et al. 2001 |
 * | softsign | x / (1 + abs(x)) | Bergstra et al. 2009 |
 * | hard_sigmoid | max(0, min(1, alpha x + beta)) | ONNX HardSigmoid |
 * | hard_swish | x max(0, min(1, x / 6 + 1 / 2)) | Howard et al. 2019 (MobileNetV3), arXiv 1905.02244 |
 * | sigmoid | 1 / (1 + e⁻ˣ) | |
 * | log_sigmoid | -log(1 + e⁻ˣ) | |
 * | tanh | tanh(x) | |
 * | identity | x | |
 * | softcap | cap tanh(x / cap) | Gemma Team 2024 (Gemma 2), arXiv 2408.00118 |
 */
export type ActivationName =
  | 'relu'
  | 'leaky_relu'
  | 'relu_squared'
  | 'elu'
  | 'selu'
  | 'celu'
  | 'gelu_erf'
  | 'gelu_tanh'
  | 'gelu_quick'
  | 'silu'
  | 'swish'
  | 'mish'
  | 'softplus'
  | 'softsign'
  | 'hard_sigmoid'
  | 'hard_swish'
  | 'sigmoid'
  | 'log_sigmoid'
  | 'tanh'
  | 'identity'
  | 'softcap';

/** Other names that are taken: gelu for gelu_erf, gelu_new and gelu_pytorch_tanh for gelu_tanh, relu2 for relu_squared. */
export type ActivationAlias = 'gelu' | 'gelu_new' | 'gelu_pytorch_tanh' | 'relu2';

/** Gated linear units by their own names (Shazeer 2020, arXiv 2002.05202): with sigmoid, identity, relu, gelu_erf and silu. */
export type GluAlias = 'glu' | 'bilinear' | 'reglu' | 'geglu' | 'swiglu';

/**
 * A normalisation. μ and σ² are mean and biased variance of x over what the kind says, s is the unbiased standard deviation,
 * mean(x²) the mean square; weight multiplies and bias is added.
 *
 * | name | kind | formula | source |
 * |---|---|---|---|
 * | layer_norm | row | (x - μ) / √(σ² + eps) | Ba et al. 2016, arXiv 1607.06450 |
 * | layer_norm_std | row | (x - μ) / (s + eps) | The Annotated Transformer: unbiased s, eps outside the root |
 * | rms_norm | row | x / √(mean(x²) + eps) | Zhang and Sennrich 2019, arXiv 1910.07467 |
 * | rms_norm_outside | row | x / (√mean(x²) + eps) | Zhang and Sennrich 2019, their code: eps outside the root |
 * | batch_norm | batch | (x - μ) / √(σ² + eps) | Ioffe and Szegedy 2015, arXiv 1502.03167 |
 * | group_norm | group | (x - μ) / √(σ² + eps) | Wu and He 2018, arXiv 1803.08494 |
 * | instance_norm | instance | (x - μ) / √(σ² + eps) | Ulyanov et al. 2016, arXiv 1607.08022 |
 * | dyt | row | tanh(alpha x) | Zhu et al. 2025, arXiv 2503.10622 |
 * | none | row | x | |
 */
export type NormName =
  | 'layer_norm'
  | 'layer_norm_std'
  | 'rms_norm'
  | 'rms_norm_outside'
  | 'batch_norm'
  | 'group_norm'
  | 'instance_norm'
  | 'dyt'
  | 'none';

/** What is minimised: the mean of (prediction - target)²; cross-entropy of logits; cross-entropy of log-probabilities. */
export type LossName = 'mse' | 'softmax_cross_entropy' | 'nll';

/** Other names that are taken: cross_entropy and soft_cross_entropy for softmax_cross_entropy, nll_loss for nll. */
export type LossAlias = 'cross_entropy' | 'soft_cross_entropy' | 'nll_loss';

/**
 * Where the norm N sits beside the sublayer F and the residual addition.
 *
 * | name | formula | source |
 * |---|---|---|
 * | post | N(x + F(x)) | Vaswani et al. 2017, arXiv 1706.03762 |
 * | pre | x + F(N(x)) | Xiong et al. 2020, arXiv 2002.04745; GPT-2, Llama |
 * | deepnorm | N(alpha x + F(x)), weights scaled by beta | Wang et al. 2022, arXiv 2203.00555 |
 * | peri | x + N₂(F(N₁(x))) | Kim et al. 2025 (Peri-LN), arXiv 2502.02732; Gemma 2 |
 * | output | x + N(F(x)) | OLMo 2, 2024, arXiv 2501.00656 |
 * | none | x + F(x) | |
 * | lns | x + F(N(x) / √layer) | Sun et al. 2025, arXiv 2502.05795 |
 * | rezero | x + a F(x), a = 0 at the start | Bachlechner et al. 2020, arXiv 2003.04887 |
 * | layer_scale | x + γ ⊙ F(N(x)) | Touvron et al. 2021, arXiv 2103.17239 |
 */
export type PlacementName = 'post' | 'pre' | 'deepnorm' | 'peri' | 'output' | 'none' | 'lns' | 'rezero' | 'layer_scale';

/** Which learned parameters a norm has. */
export type AffineName = 'none' | 'weight' | 'weight_bias';

/**
 * How initial weights are drawn: PyTorch's default for linear layers; Glorot and Bengio 2010 (xavier); N(0, init_std); He et al. 2015,
 * arXiv 1502.01852 (kaiming); N(0, init_std) with the branch's last matrix divided by the root of the number of residual additions
 * (Radford et al. 2019, gpt2); PyTorch's with that matrix 0.
 */
export type InitName =
  | 'pytorch'
  | 'xavier_uniform'
  | 'xavier_normal'
  | 'normal'
  | 'kaiming_uniform'
  | 'kaiming_normal'
  | 'gpt2'
  | 'zero';

/** What mixes the tokens before the feed-forward network: nothing, their mean, multi-head self-attention. */
export type MixingName = 'none' | 'mean' | 'attention';

/** Sutskever et al. 2013; Kingma and Ba 2014, arXiv 1412.6980; Loshchilov and Hutter 2017, arXiv 1711.05101. */
export type OptimizerName = 'sgd' | 'adam' | 'adamw';

/**
 * What the rate is in a step, after `warmup` steps from rate / warmup up to the rate: the rate throughout, without a warm-up; the rate; half
 * a cosine down to `min` at `total` (Loshchilov and Hutter 2016, arXiv 1608.03983); rate * sqrt(warmup / step) (Vaswani et al. 2017).
 */
export type ScheduleName = 'constant' | 'warmup' | 'warmup_cosine' | 'warmup_inverse_sqrt';

/** `out_in`: a weight is [out, in], as PyTorch has it. */
export type Layout = 'out_in' | 'in_out';

// ---- Errors ---------------------------------------------------------------------------------------------------------

/**
 * What an AddnormError says to programs.
 * - `INVALID_ARGUMENT`: a value of the wrong type or outside its range
 * - `SHAPE_MISMATCH`: a shape that does not fit, or an axis of length 0 where there must be one
 * - `UNKNOWN_NAME`: no operation, norm, placement or parameter of that name
 * - `UNKNOWN_OPTION`: no option or configuration field of that name
 * - `OUT_OF_MEMORY`: more than `maxBytes`, or than the engine gives
 * - `DISPOSED`: the tensor, module or instance has been disposed
 * - `WRONG_INSTANCE`: the tensor belongs to another `load()`
 * - `TRAP`: the WebAssembly code trapped; the instance cannot be used any more
 * - `WASM_LOAD`: what came from the URL (or was given) is not this package's module
 * - `UNSUPPORTED`: the engine does not have what the variant needs
 * - `INVALID_FORMAT`: a file is not what its format says, or holds what cannot be read
 * - `NO_FORWARD`: backward without a forward in training that goes with it
 * - `DIVERGED`: a step of an optimizer would make a parameter NaN or infinite; nothing has changed. The error has the
 *   fields of {@link Divergence} too
 * - `SELF_TEST`: `selfTest()` found a result outside its tolerance
 */
export type ErrorCode =
  | 'INVALID_ARGUMENT'
  | 'SHAPE_MISMATCH'
  | 'UNKNOWN_NAME'
  | 'UNKNOWN_OPTION'
  | 'OUT_OF_MEMORY'
  | 'DISPOSED'
  | 'WRONG_INSTANCE'
  | 'TRAP'
  | 'WASM_LOAD'
  | 'UNSUPPORTED'
  | 'INVALID_FORMAT'
  | 'NO_FORWARD'
  | 'DIVERGED'
  | 'SELF_TEST';

// ---- Loading --------------------------------------------------------------------------------------------------------

// Taken from the surrounding program's types where they are there, so that these need neither the DOM's nor Node's.
type URLObject = typeof globalThis extends { URL: { prototype: infer T } } ? T & object : never;
type WasmModule = typeof globalThis extends { WebAssembly: { Module: { prototype: infer T } } } ? T & object : never;

/** What is used of a Response, as fetch gives it. */
export interface ResponseLike {
  /** 200 where there is a file. */
  readonly status: number;
  /** Where it came from, for messages. */
  readonly url: string;
  /** Asked for the content type. */
  readonly headers: HeadersLike;
  /** The file's bytes. */
  arrayBuffer(): Promise<ArrayBuffer>;
}

/** What is used of Headers. */
export interface HeadersLike {
  /** A header's value; null where there is none. */
  get(name: string): string | null;
}

/** How `load` gets its module. */
export interface LoadOptions {
  /** `'auto'`, the default, takes the best that the engine validates: relaxed, simd, scalar. */
  variant?: 'auto' | Variant | undefined;
  /**
   * Where the module comes from, if not from beside this package's JavaScript. Say which `variant` it is; a string is
   * an absolute URL, or in a page or worker one relative to its address.
   */
  wasm?: string | URLObject | ResponseLike | ArrayBuffer | ArrayBufferView | WasmModule | undefined;
  /** The most memory that the instance may take, from 1 MiB to 4 GiB, the default; rounded down to 64 KiB. */
  maxBytes?: number | undefined;
}

/** Whether this engine runs a variant. */
export interface Capability {
  /** It validates what the variant needs. */
  readonly available: boolean;
  /** Why not; `''` if it is available. */
  readonly reason: string;
}

/** A variant each. */
export type Capabilities = Readonly<Record<Variant, Capability>>;

/** Memory of an instance. */
export interface Stats {
  /** Bytes allocated in the instance's memory now: tensors, modules and their workspaces. */
  bytes: number;
  /** The most bytes that were allocated at one time. */
  peak: number;
  /** Tensors, modules and optimizers that have not been disposed. */
  live: number;
  /** Those that were lost without `dispose()` and freed when the garbage collector had them. */
  collected: number;
  /** Bytes of the WebAssembly memory itself, which never shrinks. */
  memory: number;
}

/** Options of `limits`. */
export interface LimitsOptions {
  /** What is read or copied, at least; 16 MiB if not said. It is allocated for the while. */
  readonly bytes?: number | undefined;
}

/** The best of a few samples. */
export interface Limits {
  /** Multiply-adds in registers, two operations each, in a second. */
  readonly flops: number;
  /** Bytes read in a second. */
  readonly read: number;
  /** Bytes read and bytes written in a second, together, one half of the working set being copied to the other. */
  readonly copy: number;
}

/** One operation of the self-test. */
export interface SelfTestCheck {
  /** The operation. */
  readonly name: string;
  /** Of the weighted sum of its results, against double precision. */
  readonly error: number;
  /** What error is allowed. */
  readonly tolerance: number;
}

/** What `selfTest` found. */
export interface SelfTestReport {
  /** What was tested. */
  readonly variant: Variant;
  /** One an operation. */
  readonly checks: readonly SelfTestCheck[];
}

// ---- Tensors --------------------------------------------------------------------------------------------------------

/** Numbers with a shape, in row-major order. */
export interface Shaped {
  /** As many as the shape's product. */
  readonly data: Float32Array;
  /** The length of each axis. */
  readonly shape: readonly number[];
}

/** Whole numbers in a typed array. */
export type Integers = Int8Array | Uint8Array | Uint8ClampedArray | Int16Array | Uint16Array | Int32Array | Uint32Array;
/** 64-bit integers in a typed array. */
export type BigIntegers = BigInt64Array | BigUint64Array;

/** Class labels with a shape. */
export interface ShapedLabels {
  /** As many as the shape's product. */
  readonly data: readonly number[] | Integers | BigIntegers;
  /** The prediction's without the class axis. */
  readonly shape: readonly number[];
}

/** Class labels; without a shape, as many as there are rows. */
export type Labels = readonly number[] | Integers | BigIntegers | ShapedLabels;

/** What is taken where a tensor is. */
export type TensorLike = Tensor | Float32Array | Shaped;

/** A Tensor for a Tensor, a Float32Array for anything else. */
export type Like<T> = T extends Tensor ? Tensor : Float32Array;

// ---- Options of operations ------------------------------------------------------------------------------------------

/** An activation's parameters; what is left out has its default. `an.activations` says which has which. */
export interface ActivationParams {
  /** leaky_relu: default 0.01. */
  negative_slope?: number | undefined;
  /** elu and celu (not 0): default 1. selu: default 1.6732632423543772. hard_sigmoid: default 0.2. */
  alpha?: number | undefined;
  /** selu: default 1.0507009873554805. */
  gamma?: number | undefined;
  /** swish and softplus (> 0): default 1. hard_sigmoid: default 0.5. */
  beta?: number | undefined;
  /** softcap: > 0; default 30. */
  cap?: number | undefined;
}

/** Options of `softmax` and its gradient. */
export interface SoftmaxOptions {
  /** Default -1. */
  axis?: number | undefined;
  /** Log-softmax; default false. */
  log?: boolean | undefined;
  /** What a row of -Infinity alone gives: NaN, or zeros (log-softmax: -Infinity). Default `'nan'`. */
  maskedRow?: 'nan' | 'zero' | undefined;
}

/** Options of `add` and its gradient. */
export interface AddOptions {
  /** Scale of x; default 1. */
  alpha?: number | undefined;
}

/** Which option goes with which kind of norm is said here; others are refused. */
export interface NormOptions {
  /** Default: ones. */
  weight?: TensorLike | undefined;
  /** Default: zeros. */
  bias?: TensorLike | undefined;
  /** >= 0; default: the norm's own, in `an.norms`: 1e-5, of layer_norm_std and the RMS norms 1e-6. */
  eps?: number | undefined;
  /** Added to weight, where one is given, when it is applied: 1 for Gemma, which stores weight - 1. Default 0. */
  weightOffset?: number | undefined;
  /** Return mean and rstd as well; default false. */
  stats?: boolean | undefined;
  /** Row norms: the axes to normalise over, in the order in which weight and bias lie. Default [-1]. */
  axes?: readonly number[] | undefined;
  /** dyt: its scale, a number or one element. Default 0.5. */
  alpha?: number | TensorLike | undefined;
  /** Batch, group and instance norm: default -1. */
  channelAxis?: number | undefined;
  /** Group norm: divides the channels; default 1. */
  groups?: number | undefined;
  /** Batch norm: x's shape without the channel axis; where it is 0 there is padding. Default: none. */
  mask?: TensorLike | undefined;
  /** Batch norm: one a channel, together with runningVar. */
  runningMean?: TensorLike | undefined;
  /** Batch norm. */
  runningVar?: TensorLike | undefined;
  /** Batch norm in training: the weight of the new statistics, as in PyTorch (ONNX's is 1 - momentum). Default 0.1. */
  momentum?: number | undefined;
  /**
   * Batch norm: normalise by this batch's statistics, and update the running ones in place where they are given.
   * Default: false where running statistics are given, true where not.
   */
  training?: boolean | undefined;
  /** Batch norm in training: the running variance is that of n, not n - 1. Default false. */
  biasedRunningVar?: boolean | undefined;
}

/** What comes back with `stats: true`, and without; either where the type of the options leaves it open. */
export type WithStats<Options, Stats, Bare> =
  Options extends Record<'stats', infer Wanted>
    ? Wanted extends true
      ? Stats
      : Bare
    : Options extends Partial<Record<'stats', infer Wanted>>
      ? Wanted extends true
        ? Stats | Bare
        : Bare
      : Bare;

/** As NormOptions, but `alpha` scales x in the sum, and dyt's own scale is `normAlpha`. */
export interface AddNormOptions extends Omit<NormOptions, 'alpha'> {
  /** Scale of x in the sum; default 1. */
  alpha?: number | undefined;
  /** dyt: its scale, a number or one element. Default 0.5. */
  normAlpha?: number | TensorLike | undefined;
}

/** As AddNormOptions, with the gradient of the sum itself. */
export interface AddNormBackwardOptions extends AddNormOptions {
  /** sum's shape; default: none, the sum being used by the norm alone. */
  dSum?: TensorLike | undefined;
}

/** What a norm gives with `stats: true`. */
export interface NormResult<T> extends NormStats<T> {
  /** x's shape. */
  y: Like<T>;
}

/** The statistics that a norm has used: x's shape with 1 for each of the axes (row), [channels] (batch), [batch, groups] (group). */
export interface NormStats<T> {
  /** 0 where the norm has none. */
  mean: Like<T>;
  /** What x - mean was multiplied by, before weight: 1 / √(variance + eps) of layer_norm; 1 of dyt and none. */
  rstd: Like<T>;
}

/** What `addNorm` gives. */
export interface AddNormResult<T> {
  /** alpha * x + residual, in x's shape. */
  sum: Like<T>;
  /** norm(sum), in x's shape. */
  y: Like<T>;
}

/** What a norm's backward gives; dAlpha for dyt alone. */
export type NormGradients<T, N> = RowGradients<T> & (N extends 'dyt' ? AlphaGradient<T> : unknown);

/** The gradients of a norm by x and by what is learned. */
export interface RowGradients<T> {
  /** x's shape. */
  dx: Like<T>;
  /** The shape that weight has or would have. */
  dWeight: Like<T>;
  /** The shape that bias has or would have. */
  dBias: Like<T>;
}

/** dyt's, beside those of all norms. */
export interface AlphaGradient<T> {
  /** [1] */
  dAlpha: Like<T>;
}

/** What `addNormBackward` gives beside the norm's gradients. */
export interface ResidualGradient<T> {
  /** The gradient by the residual, which is that by the sum; its shape. */
  dResidual: Like<T>;
}

/** What `addBackward` gives. */
export interface AddGradients<T> {
  /** alpha * dOut */
  dx: Like<T>;
  /** dOut */
  dy: Like<T>;
}

/** What `gluBackward` gives. */
export interface GluGradients<T> {
  /** dy * activation'(gate) * up */
  dGate: Like<T>;
  /** dy * activation(gate) */
  dUp: Like<T>;
}

/** What `linearBackward` gives. */
export interface LinearGradients<T> {
  /** [..., in] */
  dx: Like<T>;
  /** The weight's shape. */
  dWeight: Like<T>;
  /** [out] */
  dBias: Like<T>;
}

/** Options of `linear` and its gradient. */
export interface LinearOptions {
  /** [out]; default: none. */
  bias?: TensorLike | undefined;
  /** Applied to the result; default: none. */
  activation?: ActivationName | ActivationAlias | undefined;
  /** The activation's. */
  params?: ActivationParams | undefined;
  /** Of weight; default `'out_in'`. */
  layout?: Layout | undefined;
}

/** Which sequence of numbers is drawn. All variants draw the same. */
export interface DropoutOptions {
  /** An integer from 0 to 2^32 - 1; default 0. */
  seed?: number | undefined;
  /** Another sequence of the same seed, as for another layer or step: an integer from 0 to 2^32 - 1; default 0. */
  stream?: number | undefined;
}

/** What `random` draws: by Philox4x32-10 (Salmon et al. 2011), normal numbers by Wichura's AS 241. */
export interface RandomOptions extends DropoutOptions {
  /** Default `'normal'`. */
  distribution?: 'normal' | 'uniform' | undefined;
  /** Normal: default 0. */
  mean?: number | undefined;
  /** Normal: the standard deviation, >= 0; default 1. */
  std?: number | undefined;
  /** Uniform: default 0. */
  low?: number | undefined;
  /** Uniform: >= low, and excluded; default 1. */
  high?: number | undefined;
}

/** mse takes the reduction alone. */
export interface LossOptions {
  /** Default `'mean'`; `'none'`: the terms. */
  reduction?: 'mean' | 'sum' | 'none' | undefined;
  /** The share of the target that is spread evenly over all classes, from 0 to 1; default 0. */
  labelSmoothing?: number | undefined;
  /** A row with this label counts for nothing; default -100. */
  ignoreIndex?: number | undefined;
  /** One a class; default: ones. */
  classWeights?: TensorLike | undefined;
  /** Where the classes are in the prediction; default -1. */
  axis?: number | undefined;
}

/** value is a number, or with `reduction: 'none'` the terms; either where the type of the options leaves it open. */
export interface LossResult<Options, T> {
  /** The loss; with `reduction: 'none'` its terms. */
  value: Options extends Record<'reduction', infer R>
    ? R extends 'none'
      ? Like<T>
      : number
    : Options extends Partial<Record<'reduction', infer R>>
      ? R extends 'none'
        ? Like<T> | number
        : number
      : number;
  /** Of the value by the prediction, with `reduction: 'none'` of the terms' sum; the prediction's shape. */
  gradient: Like<T>;
}

// ---- Modules --------------------------------------------------------------------------------------------------------

/** A feed-forward network. Every field's default, range and meaning: `an.fields`; null is auto. */
export interface FfnConfig {
  /** Width of the residual stream: the length of each token's vector. From 1 to 65536. Default 768. */
  d_model?: number | null | undefined;
  /** Width of the hidden layer. Auto: 4 x d_model. From 1 to 262144. */
  d_ff?: number | null | undefined;
  /** Non-linearity of the hidden layer. Default `'gelu_erf'`. */
  activation?: ActivationName | ActivationAlias | null | undefined;
  /** First parameter of the activation (slope, alpha, beta or cap). Auto: its default. From -1000 to 1000. */
  activation_p0?: number | null | undefined;
  /** Second parameter of the activation. Auto: its default. From -1000 to 1000. */
  activation_p1?: number | null | undefined;
  /** Gated FFN (GLU family): down(activation(gate(x)) * up(x)) in place of down(activation(up(x))). Default false. */
  gated?: boolean | null | undefined;
  /** Bias vectors on the linear layers. Default true. */
  bias?: boolean | null | undefined;
  /** Probability that a hidden unit of the FFN is dropped in training. From 0 to 0.999. Default 0. */
  dropout?: number | null | undefined;
  /**
   * Distribution of the initial weights. gpt2: N(0, init_std), the branch's last matrix divided by sqrt(S); zero:
   * pytorch with that matrix 0. Biases: as PyTorch for pytorch and zero, else zero. Default `'pytorch'`.
   */
  init?: InitName | null | undefined;
  /** Standard deviation of init = normal and gpt2. From 0 to 1000. Default 0.02. */
  init_std?: number | null | undefined;
}

/** What a block and a stack of blocks have in common. */
interface LayerConfig extends FfnConfig {
  /**
   * Number of blocks in the stack. DeepNorm's alpha and beta and gpt2's init follow from the number S of
   * its residual additions: depth, with mixing 2 depth. From 1 to 1024. Default 1.
   */
  depth?: number | null | undefined;
  /** Normalisation. Default `'layer_norm'`. */
  norm?: NormName | null | undefined;
  /**
   * Added to the variance before the root (outside it for layer_norm_std and rms_norm_outside). Auto: 1e-5; 1e-6 for
   * layer_norm_std and RMS norms. From 0 to 1.
   */
  eps?: number | null | undefined;
  /** Learned parameters of the norm: none, weight, or weight and bias. Auto: weight and bias, for RMS norms weight. */
  affine?: AffineName | null | undefined;
  /**
   * Added to the norm's weight when it is applied: 1 in Gemma, which stores weight - 1. From -1000 to 1000. Default
   * 0.
   */
  weight_offset?: number | null | undefined;
  /** Number of channel groups of group_norm; divides d_model. From 1 to 65536. Default 1. */
  groups?: number | null | undefined;
  /** Initial alpha of dyt: weight * tanh(alpha * x) + bias. From -1000 to 1000. Default 0.5. */
  norm_alpha?: number | null | undefined;
  /** Weight of the new statistics when batch_norm updates its running mean and variance. From 0 to 1. Default 0.1. */
  momentum?: number | null | undefined;
  /** Where the norm sits relative to the residual addition. Default `'pre'`. */
  placement?: PlacementName | null | undefined;
  /** The residual addition; without it the block returns its branch alone. Default true. */
  residual?: boolean | null | undefined;
  /**
   * Scale of the stream in deepnorm, the initial gate a of rezero, the initial gamma of layer_scale. Auto: S^(1/4), 0
   * and 1e-4. From -1000 to 1000.
   */
  alpha?: number | null | undefined;
  /**
   * Factor on the initial weights of the FFN, value and out, in any placement. Auto: (4 S)^(-1/4) in deepnorm,
   * else 1. From -1000 to 1000.
   */
  beta?: number | null | undefined;
  /**
   * Probability that an element of a sublayer's output is dropped in training, before it is added. From 0 to
   * 0.999. Default 0.
   */
  residual_dropout?: number | null | undefined;
  /** Sublayer before the FFN that mixes tokens: none, their mean, or multi-head self-attention. Default `'none'`. */
  mixing?: MixingName | null | undefined;
  /** Attention heads; divides d_model. Auto: d_model / 64 where that is a whole number, else 1. From 1 to 1024. */
  heads?: number | null | undefined;
  /** Mixing sees no later token. Default false. */
  causal?: boolean | null | undefined;
  /** RMSNorm of queries and keys, head by head. Default false. */
  qk_norm?: boolean | null | undefined;
}

/** A residual block: a feed-forward network, its norm, where that sits, and what mixes tokens before it. */
export interface BlockConfig extends LayerConfig {
  /**
   * Index l of the block in its stack, from 1: lns divides the norm's output by sqrt(l). 0 stands for the whole
   * stack. From 0 to 1024. Default 1.
   */
  layer?: number | null | undefined;
}

/** Blocks one after another, and what stands around them. */
export interface StackConfig extends LayerConfig {
  /** Width of the input, which a matrix brings to d_model. 0: the input is the stream. From 0 to 262144. Default 0. */
  d_in?: number | null | undefined;
  /** Width of the output, made by a head. 0: the output is the stream. From 0 to 262144. Default 0. */
  d_out?: number | null | undefined;
  /**
   * Number of positions that have a learned vector, added to the stream at the start. 0: none. From 0 to 65536.
   * Default 0.
   */
  positions?: number | null | undefined;
  /**
   * One more norm behind the last block. Auto: where the stream is not normed (pre, peri, output, lns, layer_scale).
   */
  final_norm?: boolean | null | undefined;
}

/** Every field, with what auto stands for. */
export type Resolved<Config> = { readonly [Field in keyof Config]-?: NonNullable<Config[Field]> };

/** Where a module's parameters come from: a seed, or weights. */
export interface Init {
  /** An integer from 0 to 2^32 - 1; default 0. */
  seed?: number | undefined;
  /** Every parameter by its name: `up`, `norm_weight`, ...; in a stack `layers.0.up` and so on. */
  weights?: Readonly<Record<string, TensorLike>> | undefined;
  /** Of the matrices in weights; default `'out_in'`. */
  layout?: Layout | undefined;
}

/** Numbers of one name. */
export interface StateTensor {
  /** The length of each axis. */
  shape: number[];
  /** A copy, in row-major order. */
  data: Float32Array;
}

/** A module's or an optimizer's state: numbers by name, as files and structured clones hold them. */
export type State = Record<string, StateTensor>;

/** Options of a module's `forward`. */
export interface ForwardOptions {
  /**
   * Keep what backward needs. Dropout acts, and batch_norm normalises by this batch and updates its running statistics.
   * Default false.
   */
  train?: boolean | undefined;
  /** Which elements dropout takes in this step, in training; an integer from 0 to 2^32 - 1, default 0. */
  seed?: number | undefined;
  /**
   * [batch, length], 0 where there is padding: mixing and batch_norm leave such a position out, and its own result is of
   * no account. backward's dy has to be 0 there, as a loss's gradient is for labels of -100. Default: none is left out.
   */
  mask?: TensorLike | undefined;
}

/** Options of a module's `backward`. */
export interface BackwardOptions {
  /** false: only the parameters' gradients are wanted. Default true. */
  dx?: boolean | undefined;
}

/** What backward returns; either where the type of the options leaves it open. */
export type Dx<T, Options> =
  Options extends Record<'dx', infer Wanted>
    ? Wanted extends false
      ? undefined
      : Like<T>
    : Options extends Partial<Record<'dx', infer Wanted>>
      ? Wanted extends false
        ? Like<T> | undefined
        : Like<T>
      : Like<T>;

/** Options of a module's `probe`, as forward has them. */
export interface ProbeOptions {
  /** Which elements dropout takes; an integer from 0 to 2^32 - 1, default 0. */
  seed?: number | undefined;
  /** [batch, length], 0 where there is padding. Default: none is left out. */
  mask?: TensorLike | undefined;
}

/** The residual stream somewhere, over all positions that are not masked. */
export interface ProbeStream {
  /** Of its elements. */
  mean: number;
  /** Their standard deviation. */
  std: number;
  /** The root of their mean square. */
  rms: number;
  /** Euclidean norm of the loss's gradient by the stream. */
  gradient: number;
  /** How many of its elements are NaN or infinite. */
  nonFinite: number;
}

/** A sublayer, and the stream that enters it. */
export interface ProbeSublayer extends ProbeStream {
  /** From 1. */
  layer: number;
  /** Which of the layer's two; `'mixing'` only where tokens are mixed. */
  sublayer: 'mixing' | 'ffn';
  /** Of what is added to the stream. */
  branchRms: number;
  /** branchRms / rms */
  branchRatio: number;
  /** Between the stream that enters and the one that leaves, the mean over positions. */
  cosine: number;
  /** Share of hidden units that are 0 at all positions. */
  dead: number;
  /** Share of elements where a sigmoid, tanh or dyt is flat. */
  saturated: number;
}

/** What one training pass did in every sublayer. */
export interface Probe {
  /** In the order of the forward pass. */
  sublayers: ProbeSublayer[];
  /** Behind the last block. */
  stream: ProbeStream;
  /** The Euclidean norm of every parameter's gradient, by its name. */
  gradients: Record<string, number>;
}

/** Options of `theory`. */
export interface TheoryOptions {
  /** Tokens of a sequence, where they are mixed. Default: `positions`, else 1. */
  length?: number | undefined;
}

/** What F, the feed-forward network, does to a stream of second moment 1. */
export interface TheoryMoments {
  /** Of a hidden unit. */
  mean: number;
  /** The second moment of F(x). */
  c: number;
  /** The factor of the gradient's second moment on the way back. */
  cPrime: number;
}

/** The gradient by a weight, a number for each layer. */
export interface TheoryGradients {
  /** Its RMS over the square root of the number of tokens. */
  rms: number[];
  /** That over the last layer's; NaN where both are 0. */
  ratio: number[];
}

/** What wide layers do at their initialisation. Elements' second moments: of an RMS the square. */
export interface Theory {
  /** Whether there are curves; if not, notes says why and they are empty. */
  supported: boolean;
  /** Of F, the feed-forward network. */
  moments: TheoryMoments;
  /** E[x²] of the stream that enters each sublayer (mixing, where there is one, before each ffn), and at last behind them. */
  stream: number[];
  /** E[g²] of the gradient by the same streams; the gradient of the output, behind a final norm, has 1. */
  gradient: number[];
  /** For `up`, `down`, `gate`, `value`, `out`: those there are. */
  weights: Record<string, TheoryGradients>;
  /** What the curves leave out or approximate. */
  notes: string[];
}

/** What a forward pass costs. */
export interface Cost {
  /** Learned numbers. */
  parameters: number;
  /** Floating-point operations of one forward; a multiply-add counts two. What counts how much: src/plan.c. */
  flops: number;
  /** Those of the matrix products alone. */
  matmulFlops: number;
  /** Of parameters, input and output. */
  bytes: number;
}

// ---- Training -------------------------------------------------------------------------------------------------------

/** Numbers that are learned. */
export interface Learned {
  /** What a step changes. */
  value: Tensor;
  /** Of a loss by the value; its shape. */
  gradient: Tensor;
}

/** What is learned: a module's parameters, or tensors and their gradients by name. */
export type Learnable = Ffn | Block | Stack | Readonly<Record<string, Learned>>;

/** Settings of every optimizer. */
export interface CommonSettings {
  /** The learning rate, or what gives it for a step, counted from 1. Default 0.001. */
  rate?: number | ((step: number) => number) | undefined;
  /** Default 0; adamw 0.01. sgd and adam add weightDecay * value to the gradient, adamw takes it from the value. */
  weightDecay?: number | undefined;
  /** `'matrices'`: none for what has one axis, norms and biases. Default `'all'`. */
  decay?: 'all' | 'matrices' | undefined;
}

/** Settings of sgd. */
export interface SgdSettings extends CommonSettings {
  /** From 0 to 1; default 0. */
  momentum?: number | undefined;
  /** Default 0. */
  dampening?: number | undefined;
  /** Default false. */
  nesterov?: boolean | undefined;
}

/** Settings of adam and adamw. */
export interface AdamSettings extends CommonSettings {
  /** Default [0.9, 0.999]. */
  betas?: readonly [number, number] | undefined;
  /** Default 1e-8. */
  eps?: number | undefined;
  /** Add eps before the bias correction, as ONNX does; default false. */
  epsilonFirst?: boolean | undefined;
}

/** The settings that a name has. */
export type OptimizerSettings<Name extends OptimizerName> = Name extends 'sgd' ? SgdSettings : AdamSettings;

/** Parameters that have settings of their own; what is left out is as for the others. */
export type ParameterGroup<Name extends OptimizerName = OptimizerName> = OptimizerSettings<Name> & {
  /** Their names, or what says true of one by its name and shape. */
  match: readonly string[] | ((name: string, shape: readonly number[]) => boolean);
};

/** Settings for all parameters, groups that have their own, and clipping. */
export type OptimizerOptions<Name extends OptimizerName = OptimizerName> = OptimizerSettings<Name> & {
  /** The first that matches counts. */
  groups?: readonly ParameterGroup<Name>[] | undefined;
  /** Scale the gradients of a step so that their norm is at most this, as clipGradNorm does; they stay as they are. */
  clip?: number | undefined;
};

/** Options of `schedule`, in steps. */
export interface ScheduleOptions {
  /** The largest. */
  rate: number;
  /** Steps until it is reached; default 0. Not for constant. */
  warmup?: number | undefined;
  /** warmup_cosine: the step from which on the rate is `min`. */
  total?: number | undefined;
  /** warmup_cosine: default 0. */
  min?: number | undefined;
}

/** What an AddnormError with code `DIVERGED` has beside. */
export interface Divergence {
  /** The one that was not taken. */
  step: number;
  /** A parameter whose gradient is not finite, or that would become so. */
  tensor: string;
  /**
   * The layer, from 1, whose forward was the first that was not finite, 0 if the input was; if all were, the tensor's. null
   * where there is none.
   */
  layer: number | null;
}

// ---- Lists ----------------------------------------------------------------------------------------------------------

/** A parameter of an activation. */
export interface ParameterInfo {
  /** A field of ActivationParams. */
  readonly name: string;
  /** What it is if nothing is said. */
  readonly default: number;
}

/** An activation, as the module describes it. */
export interface ActivationInfo {
  /** As `activation`, `glu` and `linear` take it. */
  readonly name: ActivationName;
  /** Other names that are taken. */
  readonly aliases: readonly string[];
  /** At most two. */
  readonly params: readonly ParameterInfo[];
  /** TeX, in x and the parameters. */
  readonly formula: string;
  /** The paper; `''` where there is none. */
  readonly source: string;
}

/** A norm, as the module describes it. */
export interface NormInfo {
  /** As `norm` takes it. */
  readonly name: NormName;
  /** Other names that are taken. */
  readonly aliases: readonly string[];
  /** What its statistics are taken over: see `norm`. */
  readonly kind: 'row' | 'batch' | 'group' | 'instance';
  /** Default. */
  readonly eps: number;
  /** What a block's `affine` is by default. */
  readonly affine: AffineName;
  /** TeX. */
  readonly formula: string;
  /** The paper; `''` where there is none. */
  readonly source: string;
}

/** A loss, as the module describes it. */
export interface LossInfo {
  /** As `loss` takes it. */
  readonly name: LossName;
  /** Other names that are taken. */
  readonly aliases: readonly string[];
  /** In a sentence. */
  readonly help: string;
}

/** A placement, as the module describes it. */
export interface PlacementInfo {
  /** As the field `placement` takes it. */
  readonly name: PlacementName;
  /** TeX, with N the norm and F the feed-forward network. */
  readonly formula: string;
  /** In a sentence. */
  readonly help: string;
}

/** An optimizer. */
export interface OptimizerInfo {
  /** As `optimizer` takes it. */
  readonly name: OptimizerName;
  /** Its settings if nothing is said. */
  readonly defaults: Readonly<OptimizerSettings<'sgd'> & OptimizerSettings<'adam'>>;
}

/** A schedule. */
export interface ScheduleInfo {
  /** As `schedule` takes it. */
  readonly name: ScheduleName;
  /** Which of ScheduleOptions it takes. */
  readonly options: readonly string[];
  /** In a sentence. */
  readonly help: string;
}

/** A field of a configuration, as the module describes it. */
export interface FieldInfo {
  /** As FfnConfig, BlockConfig and StackConfig have it. */
  readonly name: keyof (BlockConfig & StackConfig);
  /** Of its value: a number, a truth value or a name. */
  readonly type: 'int' | 'float' | 'bool' | 'activation' | 'norm' | 'placement' | 'affine' | 'init' | 'mixing';
  /** null: auto, as the help says. */
  readonly default: number | boolean | string | null;
  /** The smallest number. */
  readonly min: number;
  /** The largest. */
  readonly max: number;
  /** Heading under which it belongs: norm, ffn, residual, size, init, mixing, stack. */
  readonly group: string;
  /** In a sentence. */
  readonly help: string;
  /** The values of an enumeration; null for numbers and truth values. */
  readonly options: readonly string[] | null;
}

// ---- Tasks ----------------------------------------------------------------------------------------------------------

/** What is learned: a class, a number, or the missing part of a sequence. */
export type TaskKind = 'classification' | 'regression' | 'sequence';

/** What a model is judged by: the share of right answers; 1 - squared error / variance; the loss, the smaller the better. */
export type TaskMetric = 'accuracy' | 'r2' | 'loss';

/** An option of a task. */
export interface TaskOption {
  /** As `makeTask` takes it. */
  readonly name: string;
  /** What it is if nothing is said. */
  readonly default: number;
  /** The smallest. */
  readonly min: number;
  /** The largest. */
  readonly max: number;
  /** Whether it has to be a whole number. */
  readonly integer: boolean;
  /** In a sentence. */
  readonly help: string;
}

/** What a model of the task's configuration, trained by its recipe, reaches at the default options. */
export interface TaskGoal {
  /** What it is judged by. */
  readonly metric: TaskMetric;
  /** Reached on the held-out data after so many steps. */
  readonly value: number;
  /** How many. */
  readonly steps: number;
  /** What a model reaches that cannot do what the task asks for. */
  readonly chance: number;
  /** Where chance comes from. */
  readonly help: string;
}

/** A task, before it is made. */
export interface TaskInfo {
  /** As `makeTask` takes it. */
  readonly name: string;
  /** Which configuration and loss it has. */
  readonly kind: TaskKind;
  /** What is to be learned, in a sentence. */
  readonly help: string;
  /** Beside `seed`, which all have. */
  readonly options: readonly TaskOption[];
  /** What can be reached. */
  readonly good: TaskGoal;
}

/** Data of one step. */
export interface Batch {
  /** Goes into the model: [batch, d_in] or, of sequences, [batch, length, d_in]. */
  x: Shaped;
  /** Goes into the loss: labels, -100 where nothing is asked for; of a regression numbers, [batch, d_out]. */
  target: Int32Array | Shaped;
}

/** How a task is learned. */
export interface TaskRecipe {
  /** A name that `an.optimizer` takes. */
  optimizer: 'adamw';
  /** The learning rate. */
  rate: number;
  /** The decay of the weights. */
  weightDecay: number;
  /** The largest norm of a step's gradients. */
  clip: number;
}

/** A task with its options and seed. */
export interface Task {
  /** As it was asked for. */
  name: string;
  /** Which configuration and loss it has. */
  kind: TaskKind;
  /** Those that were given, with the defaults of the others. */
  options: Readonly<Record<string, number>>;
  /** A stack that can learn it. */
  config: Readonly<StackConfig>;
  /** How it does. */
  recipe: Readonly<TaskRecipe>;
  /** For `an.loss`. */
  loss: 'softmax_cross_entropy' | 'mse';
  /** Options of that. */
  lossOptions: Readonly<Pick<LossOptions, 'ignoreIndex'>>;
  /** New data for each step, an integer from 0 to 2^30 - 1. */
  batch: (step: number) => Batch;
  /** Data that no batch has. */
  test: Readonly<Batch>;
  /** How good a prediction for this target is, as `good` speaks of it. */
  metric: (prediction: TensorLike, target: Batch['target']) => number;
  /** What can be reached. */
  good: TaskGoal;
}

// ---- Files ----------------------------------------------------------------------------------------------------------

/** A tensor as its file describes it. */
export interface TensorInfo {
  /** By the format's name: `'BF16'`, `'Q8_0'`. */
  dtype: string;
  /** As PyTorch has it, [out, in] of a matrix. */
  shape: number[];
}

/** Options of a file's reader. */
export interface ReadOptions {
  /** Says which tensors are wanted; default: all. */
  filter?: ((name: string, info: TensorInfo) => boolean) | undefined;
}

/** What a safetensors file holds. Both objects have no prototype, so any name is safe to ask for. */
export interface SafetensorsFile {
  /** In the order of their data. */
  tensors: State;
  /** Texts by name. */
  metadata: Record<string, string>;
}

/** What a GGUF file holds. Both objects have no prototype, so any name is safe to ask for. */
export interface GgufFile {
  /** In the order of their data. */
  tensors: State;
  /** Values by their keys, as `'general.architecture'`. */
  metadata: Record<string, GgufValue>;
}

/**
 * A metadata value of a GGUF file. Integers of 64 bits that a number does not hold exactly are BigInts; arrays of numbers
 * are typed arrays of the file's own type.
 */
export type GgufValue = string | boolean | number | bigint | string[] | boolean[] | Numbers | unknown[][];

/** A typed array. */
export type Numbers = Integers | Float32Array | Float64Array | BigIntegers;

// ---- For this package's other files ---------------------------------------------------------------------------------

/** Where a tensor lies: bytes of the file, or behind its header. */
export interface FileEntry extends TensorInfo {
  name: string;
  begin: number;
  end: number;
}

/** Random numbers of one batch, all of them asked for at once. */
export interface TaskDraw {
  uniform(n: number): Float32Array;
  normal(n: number): Float32Array;
}

type TaskOptions = Record<string, number>;

export interface TaskMaker {
  /** What differs from the kind's. */
  config(options: TaskOptions): StackConfig;
  make(draw: TaskDraw, rows: number, options: TaskOptions, test: boolean, an: Addnorm, seed: number): Batch;
}
