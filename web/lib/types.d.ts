// The types of the public API that are not classes. The names in the unions are those of the module's lists, in their
// order; tests/js/types.test.js compares them.
import type { Module } from './module.js';
import type { Tensor } from './tensor.js';

// ---- Names ----------------------------------------------------------------------------------------------------------

export type Variant = 'scalar' | 'simd' | 'relaxed';

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

export type ActivationAlias = 'gelu' | 'gelu_new' | 'gelu_pytorch_tanh' | 'relu2';

/** Gated linear units by their own names: with sigmoid, identity, relu, gelu_erf and silu. */
export type GluAlias = 'glu' | 'bilinear' | 'reglu' | 'geglu' | 'swiglu';

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

export type LossName = 'mse' | 'softmax_cross_entropy' | 'nll';

export type LossAlias = 'cross_entropy' | 'soft_cross_entropy' | 'nll_loss';

export type PlacementName = 'post' | 'pre' | 'deepnorm' | 'peri' | 'output' | 'none' | 'lns' | 'rezero' | 'layer_scale';

export type AffineName = 'none' | 'weight' | 'weight_bias';

export type InitName =
  | 'pytorch'
  | 'xavier_uniform'
  | 'xavier_normal'
  | 'normal'
  | 'kaiming_uniform'
  | 'kaiming_normal'
  | 'gpt2'
  | 'zero';

export type MixingName = 'none' | 'mean' | 'attention';

export type OptimizerName = 'sgd' | 'adam' | 'adamw';

export type ScheduleName = 'constant' | 'warmup' | 'warmup_cosine' | 'warmup_inverse_sqrt';

/** `out_in`: a weight is [out, in], as PyTorch has it. */
export type Layout = 'out_in' | 'in_out';

// ---- Loading --------------------------------------------------------------------------------------------------------

// Taken from the surrounding program's types where they are there, so that these need neither the DOM's nor Node's.
type URLObject = typeof globalThis extends { URL: { prototype: infer T } } ? T & object : never;
type WasmModule = typeof globalThis extends { WebAssembly: { Module: { prototype: infer T } } } ? T & object : never;

/** What is used of a Response. */
export interface ResponseLike {
  readonly status: number;
  readonly url: string;
  readonly headers: { get(name: string): string | null };
  arrayBuffer(): Promise<ArrayBuffer>;
}

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

export interface Capability {
  readonly available: boolean;
  /** Why not; `''` if it is available. */
  readonly reason: string;
}

export type Capabilities = Readonly<Record<Variant, Capability>>;

export interface Stats {
  /** Bytes allocated in the instance's memory now: tensors, modules and their workspaces. */
  bytes: number;
  /** The most bytes that were allocated at one time. */
  peak: number;
  /** Tensors and modules that have not been disposed. */
  live: number;
  /** Bytes of the WebAssembly memory itself, which never shrinks. */
  memory: number;
}

export interface LimitsOptions {
  /** What is read or copied, at least; 16 MiB if not said. It is allocated for the while. */
  readonly bytes?: number;
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

export interface SelfTestReport {
  readonly variant: Variant | 'custom';
  /** Per operation the error of its weighted sum, and what is allowed. */
  readonly checks: readonly { readonly name: string; readonly error: number; readonly tolerance: number }[];
}

// ---- Tensors --------------------------------------------------------------------------------------------------------

/** Numbers with a shape, in row-major order. */
export interface Shaped {
  readonly data: Float32Array;
  readonly shape: readonly number[];
}

type Integers = Int8Array | Uint8Array | Uint8ClampedArray | Int16Array | Uint16Array | Int32Array | Uint32Array;
type BigIntegers = BigInt64Array | BigUint64Array;

/** Class labels; without a shape, as many as there are rows. */
export type Labels =
  | readonly number[]
  | Integers
  | BigIntegers
  | { readonly data: readonly number[] | Integers | BigIntegers; readonly shape: readonly number[] };

/** What is taken where a tensor is. */
export type TensorLike = Tensor | Float32Array | Shaped;

/** A Tensor for a Tensor, a Float32Array for anything else. */
export type Like<T> = T extends Tensor ? Tensor : Float32Array;

// ---- Options of operations ------------------------------------------------------------------------------------------

/** An activation's parameters; what is left out has its default. `an.activations` says which has which. */
export interface ActivationParams {
  negative_slope?: number | undefined;
  alpha?: number | undefined;
  gamma?: number | undefined;
  beta?: number | undefined;
  cap?: number | undefined;
}

export interface SoftmaxOptions {
  /** Default -1. */
  axis?: number | undefined;
  /** Log-softmax; default false. */
  log?: boolean | undefined;
  /** What a row of -Infinity alone gives: NaN, or zeros (log-softmax: -Infinity). Default `'nan'`. */
  maskedRow?: 'nan' | 'zero' | undefined;
}

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
  /** >= 0; default: the norm's own, see `an.norms`. */
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
export type WithStats<Options, Stats, Bare> = Options extends { stats: infer Wanted }
  ? Wanted extends true
    ? Stats
    : Bare
  : Options extends { stats?: infer Wanted }
    ? Wanted extends true
      ? Stats | Bare
      : Bare
    : Bare;

/** As NormOptions, but `alpha` scales x in the sum, and dyt's own scale is `normAlpha`. */
export interface AddNormOptions extends Omit<NormOptions, 'alpha'> {
  alpha?: number | undefined;
  normAlpha?: number | TensorLike | undefined;
}

/** As AddNormOptions, with the gradient of the sum itself. */
export interface AddNormBackwardOptions extends AddNormOptions {
  /** sum's shape; default: none, the sum being used by the norm alone. */
  dSum?: TensorLike | undefined;
}

/** What a norm's backward gives; dAlpha for dyt alone. */
export type NormGradients<T, N> = { dx: Like<T>; dWeight: Like<T>; dBias: Like<T> } & (N extends 'dyt'
  ? { dAlpha: Like<T> }
  : unknown);

export interface LinearOptions {
  /** [out] */
  bias?: TensorLike | undefined;
  /** Applied to the result; default: none. */
  activation?: ActivationName | ActivationAlias | undefined;
  /** The activation's. */
  params?: ActivationParams | undefined;
  /** Of weight; default `'out_in'`. */
  layout?: Layout | undefined;
}

export interface DropoutOptions {
  /** An integer from 0 to 2^32 - 1; default 0. */
  seed?: number | undefined;
  /** Another sequence of the same seed, as for another layer or step: an integer from 0 to 2^32 - 1; default 0. */
  stream?: number | undefined;
}

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
  value: Options extends { reduction: infer R }
    ? R extends 'none'
      ? Like<T>
      : number
    : Options extends { reduction?: infer R }
      ? R extends 'none'
        ? Like<T> | number
        : number
      : number;
  gradient: Like<T>;
}

// ---- Modules --------------------------------------------------------------------------------------------------------

/** A feed-forward network. Every field's default, range and meaning: `an.fields`; null is auto. */
export interface FfnConfig {
  d_model?: number | null | undefined;
  d_ff?: number | null | undefined;
  activation?: ActivationName | ActivationAlias | null | undefined;
  activation_p0?: number | null | undefined;
  activation_p1?: number | null | undefined;
  gated?: boolean | null | undefined;
  bias?: boolean | null | undefined;
  dropout?: number | null | undefined;
  init?: InitName | null | undefined;
  init_std?: number | null | undefined;
}

/** What a block and a stack of blocks have in common. */
interface LayerConfig extends FfnConfig {
  depth?: number | null | undefined;
  norm?: NormName | null | undefined;
  eps?: number | null | undefined;
  affine?: AffineName | null | undefined;
  weight_offset?: number | null | undefined;
  groups?: number | null | undefined;
  norm_alpha?: number | null | undefined;
  momentum?: number | null | undefined;
  placement?: PlacementName | null | undefined;
  residual?: boolean | null | undefined;
  alpha?: number | null | undefined;
  beta?: number | null | undefined;
  residual_dropout?: number | null | undefined;
  mixing?: MixingName | null | undefined;
  heads?: number | null | undefined;
  causal?: boolean | null | undefined;
  qk_norm?: boolean | null | undefined;
}

/** A residual block: a feed-forward network, its norm, where that sits, and what mixes tokens before it. */
export interface BlockConfig extends LayerConfig {
  /** Its number in a stack, from 1. */
  layer?: number | null | undefined;
}

/** Blocks one after another, and what stands around them. */
export interface StackConfig extends LayerConfig {
  d_in?: number | null | undefined;
  d_out?: number | null | undefined;
  positions?: number | null | undefined;
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

export type State = Record<string, { shape: number[]; data: Float32Array }>;

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

export interface BackwardOptions {
  /** false: only the parameters' gradients are wanted. Default true. */
  dx?: boolean | undefined;
}

/** What backward returns. */
export type Dx<T, Options> = Options extends { dx: false } ? undefined : Like<T>;

export interface ProbeOptions {
  seed?: number | undefined;
  mask?: TensorLike | undefined;
}

/** The residual stream somewhere, over all positions that are not masked. */
export interface ProbeStream {
  mean: number;
  std: number;
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

export interface Probe {
  /** In the order of the forward pass. */
  sublayers: ProbeSublayer[];
  /** Behind the last block. */
  stream: ProbeStream;
  /** The Euclidean norm of every parameter's gradient, by its name. */
  gradients: Record<string, number>;
}

export interface TheoryOptions {
  /** Tokens of a sequence, where they are mixed. Default: `positions`, else 1. */
  length?: number | undefined;
}

/** What wide layers do at their initialisation. Elements' second moments: of an RMS the square. */
export interface Theory {
  /** Whether there are curves; if not, notes says why and they are empty. */
  supported: boolean;
  /**
   * What F, the feed-forward network, does to a stream of second moment 1: the mean of a hidden unit, the second moment c
   * of F(x), and the factor cPrime of the gradient's on the way back.
   */
  moments: { mean: number; c: number; cPrime: number };
  /** E[x²] of the stream that enters each sublayer (mixing, where there is one, before each ffn), and at last behind them. */
  stream: number[];
  /** E[g²] of the gradient by the same streams; the gradient of the output, behind a final norm, has 1. */
  gradient: number[];
  /**
   * Per layer, for `up`, `down`, `gate`, `value`, `out` (those there are): the gradient's RMS over the square root of the
   * number of tokens, and its ratio to that of the last layer, NaN where both are 0.
   */
  weights: Record<string, { rms: number[]; ratio: number[] }>;
  /** What the curves leave out or approximate. */
  notes: string[];
}

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

/** What is learned: a module's parameters, or tensors and their gradients by name. */
export type Learnable = Module<unknown> | Readonly<Record<string, { value: Tensor; gradient: Tensor }>>;

interface CommonSettings {
  /** The learning rate, or what gives it for a step, counted from 1. Default 0.001. */
  rate?: number | ((step: number) => number) | undefined;
  /** Default 0; adamw 0.01. sgd and adam add weightDecay * value to the gradient, adamw takes it from the value. */
  weightDecay?: number | undefined;
  /** `'matrices'`: none for what has one axis, norms and biases. Default `'all'`. */
  decay?: 'all' | 'matrices' | undefined;
}

interface SgdSettings extends CommonSettings {
  /** From 0 to 1; default 0. */
  momentum?: number | undefined;
  /** Default 0. */
  dampening?: number | undefined;
  /** Default false. */
  nesterov?: boolean | undefined;
}

interface AdamSettings extends CommonSettings {
  /** Default [0.9, 0.999]. */
  betas?: readonly [number, number] | undefined;
  /** Default 1e-8. */
  eps?: number | undefined;
  /** Add eps before the bias correction, as ONNX does; default false. */
  epsilonFirst?: boolean | undefined;
}

export type OptimizerSettings<Name extends OptimizerName> = Name extends 'sgd' ? SgdSettings : AdamSettings;

/** Parameters that have settings of their own; what is left out is as for the others. */
export type ParameterGroup<Name extends OptimizerName = OptimizerName> = OptimizerSettings<Name> & {
  match: readonly string[] | ((name: string, shape: readonly number[]) => boolean);
};

export type OptimizerOptions<Name extends OptimizerName = OptimizerName> = OptimizerSettings<Name> & {
  /** The first that matches counts. */
  groups?: readonly ParameterGroup<Name>[] | undefined;
  /** Scale the gradients of a step so that their norm is at most this, as clipGradNorm does; they stay as they are. */
  clip?: number | undefined;
};

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

export interface ActivationInfo {
  readonly name: ActivationName;
  readonly aliases: readonly string[];
  readonly params: readonly { readonly name: string; readonly default: number }[];
  /** TeX, in x and the parameters. */
  readonly formula: string;
  readonly source: string;
}

export interface NormInfo {
  readonly name: NormName;
  readonly aliases: readonly string[];
  readonly kind: 'row' | 'batch' | 'group' | 'instance';
  /** Default. */
  readonly eps: number;
  /** What a block's `affine` is by default. */
  readonly affine: AffineName;
  /** TeX. */
  readonly formula: string;
  readonly source: string;
}

export interface LossInfo {
  readonly name: LossName;
  readonly aliases: readonly string[];
  readonly help: string;
}

export interface PlacementInfo {
  readonly name: PlacementName;
  /** TeX, with N the norm and F the feed-forward network. */
  readonly formula: string;
  readonly help: string;
}

export interface OptimizerInfo {
  readonly name: OptimizerName;
  readonly defaults: Readonly<OptimizerSettings<'sgd'> & OptimizerSettings<'adam'>>;
}

export interface ScheduleInfo {
  readonly name: ScheduleName;
  /** Which of ScheduleOptions it takes. */
  readonly options: readonly string[];
  readonly help: string;
}

export interface FieldInfo {
  readonly name: keyof (BlockConfig & StackConfig);
  readonly type: 'int' | 'float' | 'bool' | 'activation' | 'norm' | 'placement' | 'affine' | 'init' | 'mixing';
  /** null: auto, as the help says. */
  readonly default: number | boolean | string | null;
  readonly min: number;
  readonly max: number;
  /** Heading under which it belongs: norm, ffn, residual, size, init, mixing, stack. */
  readonly group: string;
  readonly help: string;
  /** The values of an enumeration; null for numbers and truth values. */
  readonly options: readonly string[] | null;
}
