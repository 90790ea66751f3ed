// @ts-check
// The types of the public API that are not classes. The names in the unions are those of the module's lists, in their
// order; tests/js/types.test.js compares them.

/** @typedef {'scalar' | 'simd' | 'relaxed'} Variant */

/**
 * @typedef {'relu' | 'leaky_relu' | 'relu_squared' | 'elu' | 'selu' | 'celu' | 'gelu_erf' | 'gelu_tanh' | 'gelu_quick'
 *   | 'silu' | 'swish' | 'mish' | 'softplus' | 'softsign' | 'hard_sigmoid' | 'hard_swish' | 'sigmoid' | 'log_sigmoid'
 *   | 'tanh' | 'identity' | 'softcap'} ActivationName
 */

/** @typedef {'gelu' | 'gelu_new' | 'gelu_pytorch_tanh' | 'relu2'} ActivationAlias */

/** @typedef {'glu' | 'bilinear' | 'reglu' | 'geglu' | 'swiglu'} GluAlias */

/**
 * @typedef {'layer_norm' | 'layer_norm_std' | 'rms_norm' | 'rms_norm_outside' | 'batch_norm' | 'group_norm'
 *   | 'instance_norm' | 'dyt' | 'none'} NormName
 */

/**
 * @typedef {'post' | 'pre' | 'deepnorm' | 'peri' | 'output' | 'none' | 'lns' | 'rezero' | 'layer_scale'} PlacementName
 */

/** @typedef {'none' | 'weight' | 'weight_bias'} AffineName */

/** @typedef {{ available: boolean, reason: string }} Capability */

/** Per variant: whether this engine runs it, and why not. @typedef {Readonly<Record<Variant, Readonly<Capability>>>} Capabilities */

/**
 * What is used of a Response, so that these types need neither the DOM's nor Node's.
 * @typedef {object} ResponseLike
 * @property {number} status
 * @property {string} url
 * @property {{ get(name: string): string | null }} headers
 * @property {() => Promise<ArrayBuffer>} arrayBuffer
 */

/**
 * `URL` and `WebAssembly.Module` where the surrounding program's types know them.
 * @typedef {typeof globalThis extends { URL: { prototype: infer T } } ? T : never} URLObject
 */

/** @typedef {typeof globalThis extends { WebAssembly: { Module: { prototype: infer T } } } ? T : never} WasmModule */

/**
 * @typedef {object} LoadOptions
 * @property {'auto' | Variant} [variant] `'auto'`, the default, takes the best that the engine validates: relaxed, simd, scalar
 * @property {string | URLObject | ResponseLike | ArrayBuffer | ArrayBufferView | WasmModule} [wasm] where the module comes
 *   from, if not from beside this package's JavaScript; with it, say which `variant` it is
 * @property {number} [maxBytes] the most memory that the instance may take, from 1 MiB to 4 GiB, the default
 */

/** Numbers with a shape, in row-major order. @typedef {{ data: Float32Array, shape: readonly number[] }} Shaped */

/** What is taken where a tensor is. @typedef {import('./tensor.js').Tensor | Float32Array | Shaped} TensorLike */

/**
 * A Tensor for a Tensor, a Float32Array for anything else.
 * @template T
 * @typedef {T extends import('./tensor.js').Tensor ? import('./tensor.js').Tensor : Float32Array} Like
 */

/**
 * An activation's parameters; what is left out has its default. `an.activations` says which has which.
 * @typedef {object} ActivationParams
 * @property {number} [negative_slope]
 * @property {number} [alpha]
 * @property {number} [beta]
 * @property {number} [gamma]
 * @property {number} [cap]
 */

/**
 * @typedef {object} SoftmaxOptions
 * @property {number} [axis] default -1
 * @property {boolean} [log] log-softmax; default false
 * @property {'nan' | 'zero'} [maskedRow] what a row of -Infinity alone gives; `'zero'`: zeros (log: -Infinity); default `'nan'`
 */

/**
 * @typedef {object} AddOptions
 * @property {number} [alpha] scale of x; default 1
 */

/**
 * Which option goes with which kind of norm stands in `an.norm`'s description; others are refused.
 * @typedef {object} NormOptions
 * @property {TensorLike} [weight] default: ones
 * @property {TensorLike} [bias] default: zeros
 * @property {number} [eps] >= 0; default: the norm's own
 * @property {number} [weightOffset] added to weight when it is applied (1 for Gemma); default 0
 * @property {readonly number[]} [axes] row norms: the axes to normalise over, in the order in which weight lies; default [-1]
 * @property {number | TensorLike} [alpha] dyt: its scale, a number or one element; default 0.5
 * @property {number} [channelAxis] batch, group and instance norm; default -1
 * @property {number} [groups] group norm: divides the channels; default 1
 * @property {TensorLike} [runningMean] batch norm; one a channel, together with runningVar
 * @property {TensorLike} [runningVar] batch norm
 * @property {number} [momentum] batch norm, in training: weight of the new statistics; default 0.1
 * @property {boolean} [training] batch norm: normalise by this batch's statistics and update the running ones in place;
 *   default: false where running statistics are given, true where not
 * @property {boolean} [biasedRunningVar] batch norm, in training: the running variance takes n in place of n - 1; default false
 * @property {boolean} [stats] return mean and rstd as well; default false
 */

/**
 * For row norms `alpha` scales x in the sum, and dyt's own scale is `normAlpha`.
 * @typedef {Omit<NormOptions, 'alpha'> & { alpha?: number, normAlpha?: number | TensorLike }} AddNormOptions
 */

/** `out_in`: weight [out, in], as PyTorch has it. @typedef {'out_in' | 'in_out'} Layout */

/**
 * @typedef {object} LinearOptions
 * @property {TensorLike} [bias] [out]
 * @property {ActivationName | ActivationAlias} [activation] applied to the result; default: none
 * @property {ActivationParams} [params] the activation's
 * @property {Layout} [layout] of weight; default `'out_in'`
 */

/**
 * A feed-forward network. Every field's default, range and meaning: `an.fields`.
 * @typedef {object} FfnConfig
 * @property {number | null} [d_model]
 * @property {number | null} [d_ff]
 * @property {ActivationName | ActivationAlias | null} [activation]
 * @property {number | null} [activation_p0]
 * @property {number | null} [activation_p1]
 * @property {boolean | null} [gated]
 * @property {boolean | null} [bias]
 * @property {InitName | null} [init]
 * @property {number | null} [init_std]
 */

/**
 * The fields that a block has besides those of its feed-forward network.
 * @typedef {object} BlockOnlyConfig
 * @property {number | null} [depth]
 * @property {NormName | null} [norm]
 * @property {number | null} [eps]
 * @property {AffineName | null} [affine]
 * @property {number | null} [weight_offset]
 * @property {number | null} [groups]
 * @property {number | null} [norm_alpha]
 * @property {PlacementName | null} [placement]
 * @property {boolean | null} [residual]
 * @property {number | null} [alpha]
 * @property {number | null} [beta]
 * @property {number | null} [layer]
 * @property {number | null} [momentum]
 */

/** @typedef {FfnConfig & BlockOnlyConfig} BlockConfig */

/** @typedef {'pytorch' | 'xavier_uniform' | 'xavier_normal' | 'normal'} InitName */

/**
 * Where a module's parameters come from.
 * @typedef {object} Init
 * @property {number} [seed] an integer from 0 to 2^32 - 1; default 0
 * @property {Readonly<Record<string, TensorLike>>} [weights] every parameter by its name, in place of a seed
 * @property {Layout} [layout] of the matrices in weights; default `'out_in'`
 */

/** @typedef {Record<string, { shape: number[], data: Float32Array }>} State */

/**
 * @typedef {object} Cost
 * @property {number} parameters learned numbers
 * @property {number} flops of one forward; a multiply-add counts two
 * @property {number} matmulFlops those of the matrix products alone
 * @property {number} bytes of parameters, input and output
 */

/**
 * @typedef {object} Stats
 * @property {number} bytes allocated in the instance's memory now
 * @property {number} peak the most bytes that were allocated at one time
 * @property {number} live tensors and modules that have not been disposed
 * @property {number} memory bytes of the WebAssembly memory itself, which never shrinks
 */

/**
 * @typedef {object} ActivationInfo
 * @property {ActivationName} name
 * @property {readonly string[]} aliases
 * @property {readonly { readonly name: string, readonly default: number }[]} params
 * @property {string} formula TeX
 * @property {string} source
 */

/**
 * @typedef {object} NormInfo
 * @property {NormName} name
 * @property {readonly string[]} aliases
 * @property {'row' | 'batch' | 'group' | 'instance'} kind
 * @property {number} eps default
 * @property {AffineName} affine default
 * @property {string} formula TeX
 * @property {string} source
 */

/**
 * @typedef {object} PlacementInfo
 * @property {PlacementName} name
 * @property {string} formula TeX
 * @property {string} help
 */

/**
 * @typedef {object} FieldInfo
 * @property {keyof BlockConfig} name
 * @property {'int' | 'float' | 'bool' | 'activation' | 'norm' | 'placement' | 'affine' | 'init'} type
 * @property {number | boolean | string | null} default null: auto, as the help says
 * @property {number} min
 * @property {number} max
 * @property {string} group
 * @property {string} help
 * @property {readonly string[] | null} options the values of an enumeration, null for numbers and truth values
 */

/**
 * @typedef {object} SelfTestReport
 * @property {Variant | 'custom'} variant
 * @property {readonly { readonly name: string, readonly error: number, readonly tolerance: number }[]} checks
 */

export {};
