/* addnorm: the Transformer feed-forward block as C kernels.
 *
 * This header is the manual. Conventions that hold for every function:
 *
 *   Data       float32, row-major, last axis contiguous. Sizes count elements, not bytes, unless the name says bytes.
 *              `rows` is the product of all leading axes. Any float alignment is accepted, 16 bytes are preferred.
 *   Arguments  outputs, inputs, saved statistics, parameters, sizes - in this order.
 *   Aliasing   an output may equal an input only where the function says so; otherwise ranges must not overlap.
 *   Memory     nothing is allocated, nothing outside the given ranges is read or written. Buffers that a function needs
 *              for itself are given by the caller, their size is told by a ..._bytes function.
 *   Errors     a function that computes returns an an_status: AN_OK, or why it did nothing. Arguments are checked
 *              before the first write. Zero rows or elements are valid and do nothing (NULL is then accepted for the
 *              data). Every such function may return AN_NULL_POINTER, and AN_SIZE_OVERFLOW where the bytes of an
 *              argument do not fit in size_t; what else it may return is said at the function.
 *   Numbers    NaN in, NaN out, in the row concerned and no other. There is no fast-math, no libm, no global state.
 *              Without relaxed SIMD the results are the same bits on every machine (NaN payloads aside), natively too.
 *   Threads    every function is re-entrant.
 *
 * ULP bounds are over every float32 input unless a range is given; how they are measured: README.md.
 */
#ifndef ADDNORM_H
#define ADDNORM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define AN_VERSION "0.1.0"

/* Marks what the module exports. */
#if defined(__wasm__)
#define AN_API __attribute__((used, visibility("default")))
#else
#define AN_API __attribute__((visibility("default")))
#endif

/* ---- Status --------------------------------------------------------------------------------------------------- */

/* Pinned numbers, append-only. 1-9 argument, 10-19 shape and size, 20-29 memory. */
typedef enum an_status {
  AN_OK = 0,
  AN_NULL_POINTER = 1,   /* a required pointer is NULL */
  AN_UNKNOWN_OP = 2,     /* an index is beyond the list it points into */
  AN_INVALID_VALUE = 3,  /* a number is NaN, infinite or outside its domain */
  AN_UNKNOWN_FLAG = 4,   /* a flag bit has no meaning */
  AN_INVALID_SHAPE = 10, /* a size is 0 where it must not be, or sizes do not fit together */
  AN_SIZE_OVERFLOW = 11, /* the bytes of an argument do not fit in size_t */
  AN_WORKSPACE_TOO_SMALL = 20
} an_status;

/* "OK", "NULL_POINTER", ...; "UNKNOWN_STATUS" for any other number. */
AN_API const char *an_status_name(int status);

/* AN_VERSION */
AN_API const char *an_version(void);

/* ---- Lists ----------------------------------------------------------------------------------------------------
 * What the module can do, read at run time. An index is an operation's number in every other function; lists only
 * grow at their end. Strings are static; an index beyond the list gives NULL (names) or 0.
 */

AN_API size_t an_activation_count(void);
AN_API const char *an_activation_name(size_t activation);
/* Other names, separated by blanks; "" if there are none. */
AN_API const char *an_activation_aliases(size_t activation);
AN_API size_t an_activation_param_count(size_t activation);                   /* 0, 1 or 2 */
AN_API const char *an_activation_param_name(size_t activation, size_t param); /* "alpha" */
AN_API double an_activation_param_default(size_t activation, size_t param);
AN_API const char *an_activation_formula(size_t activation); /* TeX, in x and the parameters */
AN_API const char *an_activation_source(size_t activation);  /* paper */

AN_API size_t an_norm_count(void);
AN_API const char *an_norm_name(size_t norm);
AN_API const char *an_norm_aliases(size_t norm);
/* "row": a row's statistics over its d elements (an_norm_fwd); "batch": an_batch_norm_fwd;
 * "group": an_group_norm_fwd; "instance": the same with one group a channel. */
AN_API const char *an_norm_kind(size_t norm);
AN_API double an_norm_default_eps(size_t norm);
/* Index in the list of affine forms that AUTO stands for: 0 none, 1 weight, 2 weight_bias. */
AN_API size_t an_norm_default_affine(size_t norm);
AN_API const char *an_norm_formula(size_t norm);
AN_API const char *an_norm_source(size_t norm);

AN_API size_t an_placement_count(void);
AN_API const char *an_placement_name(size_t placement);
AN_API const char *an_placement_formula(size_t placement);
AN_API const char *an_placement_help(size_t placement);

/* ---- Activations ------------------------------------------------------------------------------------------------
 * p0, p1: the activation's parameters (an_activation_param_name tells which); ignored where it has fewer.
 */

/* y[i] = activation(x[i]), an_activation_formula.
 * y, x: n elements. y may equal x.
 * NaN gives NaN, an infinity the limit there, except where a product of IEEE 754 is in the way: leaky_relu with slope 0
 *   gives NaN at -inf. Results underflow gradually and have the right sign.
 * Bound: a few ULP, one for each activation in docs/accuracy.md.
 * Errors: AN_UNKNOWN_OP; AN_INVALID_VALUE for a parameter that is not finite or outside its domain.
 */
AN_API an_status an_activation_fwd(float *y, const float *x, size_t n, size_t activation, double p0, double p1);

/* y[i] = activation(gate[i]) * up[i]: the gated linear units of Shazeer 2020 (arXiv 2002.05202): GLU with sigmoid,
 * bilinear with identity, ReGLU, GEGLU, SwiGLU.
 * y, gate, up: n elements. y may equal gate or up.
 * Bound: one rounding more than the activation. 0 * infinity is NaN, as IEEE 754 has it.
 * Errors: as an_activation_fwd.
 */
AN_API an_status an_glu_fwd(float *y, const float *gate, const float *up, size_t n, size_t activation, double p0,
                            double p1);

/* ---- Softmax ---------------------------------------------------------------------------------------------------- */

enum {
  AN_SOFTMAX_LOG = 1,        /* log-softmax */
  AN_SOFTMAX_MASKED_ZERO = 2 /* a row of -inf alone gives zeros (log-softmax: -inf) in place of NaN */
};

/* y = e^(x - max) / sum(e^(x - max)) along the middle axis of (outer, n, inner); with AN_SOFTMAX_LOG its logarithm,
 * (x - max) - log(sum(e^(x - max))).
 * y, x: outer * n * inner elements. y may equal x.
 * NaN or +inf make their row NaN; -inf gives 0 (log: -inf), and a row of -inf alone NaN unless AN_SOFTMAX_MASKED_ZERO.
 * Bound: 4 ULP of each element, softmax and log-softmax, however small it is.
 * Errors: AN_UNKNOWN_FLAG; AN_INVALID_SHAPE if n is 0.
 */
AN_API an_status an_softmax_fwd(float *y, const float *x, size_t outer, size_t n, size_t inner, int flags);

/* ---- Norms ------------------------------------------------------------------------------------------------------ */

/* Norms of kind "row": layer_norm, layer_norm_std, rms_norm, rms_norm_outside, dyt, none. Formulas and papers:
 * an_norm_formula, an_norm_source.
 * y, x (rows, d); y may equal x. weight, bias: d elements or NULL (1 and 0). mean, rstd: rows elements each or NULL;
 *   saved for backward: mean (0 where the norm has none) and the factor that x - mean was multiplied by, before weight.
 * alpha: one element, dyt's scale; NULL is 0.5; other norms ignore it.
 * weight_offset is added to weight, where there is one, when it is applied (1 for Gemma). eps >= 0 and finite.
 * A row without spread gives bias (the RMS norms: a row of zeros), also with eps 0. So does, by definition, a row of
 *   one element (layer_norm).
 * NaN or an infinity make every element of their row NaN, rms_norm's too; dyt and none are element by element.
 * Bound, for any finite row, means of 1e6 and elements of 3e38 included: 10 units of 2^-24, a unit being
 *   max(1, |normalised|) * |weight| + |bias|.
 * Errors: AN_UNKNOWN_OP for a norm of another kind; AN_INVALID_VALUE for eps or weight_offset; AN_INVALID_SHAPE if d
 *   is 0.
 */
AN_API an_status an_norm_fwd(float *y, float *mean, float *rstd, const float *x, const float *weight, const float *bias,
                             const float *alpha, size_t norm, double eps, double weight_offset, size_t rows, size_t d);

/* Fused residual addition and norm: sum = alpha * x + residual, y = norm(sum), each row in one pass over memory.
 * sum, y, x, residual (rows, d). sum may equal x or residual; y must not overlap sum. Kinds as an_norm_fwd, with the
 *   same arguments (norm_alpha is its alpha). sum and y are bit for bit what an_add_fwd and an_norm_fwd give.
 * Errors: as an_norm_fwd; AN_INVALID_VALUE for alpha too.
 */
AN_API an_status an_add_norm_fwd(float *sum, float *y, float *mean, float *rstd, const float *x, const float *residual,
                                 const float *weight, const float *bias, const float *norm_alpha, size_t norm,
                                 double alpha, double eps, double weight_offset, size_t rows, size_t d);

/* Batch norm (Ioffe and Szegedy 2015, arXiv 1502.03167) of x (outer, channels, inner), statistics per channel over
 * outer and inner. y may equal x.
 * training != 0: the batch's own statistics (biased variance) normalise; running_mean and running_var (channels each,
 *   both or neither NULL) become (1 - momentum) * old + momentum * new, the new variance unbiased (n / (n - 1)) unless
 *   biased_running != 0. Of a single value the variance is 0. momentum, from 0 to 1, weighs the new value, as in
 *   PyTorch; ONNX's is 1 - momentum.
 * training == 0: running_mean and running_var normalise, and must be given.
 * mean, rstd: channels elements each or NULL: the statistics that were used. weight, bias: channels elements or NULL.
 * weight_offset, eps, no spread, NaN, infinity, bound: as an_norm_fwd, a channel in place of a row, with the batch's
 *   own statistics. With running ones infinity stays infinity, and a variance of 0 with eps 0 is a division by 0.
 * No rows: nothing is written, running statistics neither.
 * Errors: AN_INVALID_VALUE for eps, momentum, weight_offset; AN_INVALID_SHAPE if channels is 0; AN_NULL_POINTER also
 *   if running statistics are missing or come alone.
 */
AN_API an_status an_batch_norm_fwd(float *y, float *mean, float *rstd, float *running_mean, float *running_var,
                                   const float *x, const float *weight, const float *bias, double eps, double momentum,
                                   double weight_offset, int training, int biased_running, size_t outer,
                                   size_t channels, size_t inner);

/* Group norm (Wu and He 2018, arXiv 1803.08494) of x (batch, length, channels, inner): statistics per batch entry and
 * group of channels / groups adjacent channels, over length, the group's channels and inner. (batch, 1, C, H*W) is
 * ONNX's channels-first layout, (batch, length, d, 1) a batch of sequences. groups == channels is instance norm. y may
 * equal x.
 * mean, rstd: batch * groups elements each or NULL. weight, bias: channels elements or NULL.
 * weight_offset, eps, no spread, NaN, infinity, bound: as an_norm_fwd, a group in place of a row.
 * Errors: AN_INVALID_VALUE for eps, weight_offset; AN_INVALID_SHAPE if groups does not divide channels or one is 0.
 */
AN_API an_status an_group_norm_fwd(float *y, float *mean, float *rstd, const float *x, const float *weight,
                                   const float *bias, double eps, double weight_offset, size_t groups, size_t batch,
                                   size_t length, size_t channels, size_t inner);

/* ---- Residual, transpose ---------------------------------------------------------------------------------------- */

/* out[i] = alpha * x[i] + y[i], the product rounded before the sum, alpha as a float. out may equal x or y.
 * n elements each. NaN and infinity as in IEEE 754. Errors: AN_INVALID_VALUE for alpha. */
AN_API an_status an_add_fwd(float *out, const float *x, const float *y, double alpha, size_t n);

/* y = x with its axes permuted: y's axis i is x's axis perm[i], as NumPy's transpose. x has `rank` <= 8 axes of sizes
 * shape[0..rank). y must not overlap x. rank 0 copies one element. Errors: AN_INVALID_SHAPE for the rank;
 * AN_INVALID_VALUE if perm is no permutation. */
AN_API an_status an_permute(float *y, const float *x, const uint32_t *shape, const uint32_t *perm, size_t rank);

/* ---- Linear -----------------------------------------------------------------------------------------------------
 * y = activation(x W^T + b). W is packed once, into panels that the kernel reads in order.
 */

enum {
  AN_OUT_IN = 0, /* W (out, in), PyTorch's layout: y = x W^T */
  AN_IN_OUT = 1  /* W (in, out): y = x W */
};

/* Bytes of a packed weight; 0 if that overflows size_t. */
AN_API size_t an_linear_packed_bytes(size_t in, size_t out);

/* packed: an_linear_packed_bytes(in, out) bytes. weight: in * out elements in `layout`. Errors: AN_UNKNOWN_FLAG for the
 * layout. */
AN_API an_status an_linear_pack(float *packed, const float *weight, int layout, size_t in, size_t out);

/* y (rows, out), x (rows, in), bias: out elements or NULL. activation, p0, p1 as in an_activation_fwd; the activation
 * `identity` leaves the linear layer alone. in == 0 gives the bias (or 0). y must not overlap the rest.
 * Each element is summed over 256 neighbours in k at a time, these sums are added in the order of k, then the bias: a
 *   row's result does not depend on the number of rows. Nothing is skipped: 0 * NaN is NaN.
 * Bound, before the activation: (min(in, 256) + in / 256 + 3) * 2^-24 * (sum |x w| + |bias|), Higham 2002, section 3.1.
 * Errors: as an_activation_fwd.
 */
AN_API an_status an_linear_fwd(float *y, const float *x, const float *packed, const float *bias, size_t activation,
                               double p0, double p1, size_t rows, size_t in, size_t out);

/* ---- Configuration of a block -----------------------------------------------------------------------------------
 * A configuration is an array of an_field_count() doubles, one a field, in the order of src/config.def; NaN is AUTO.
 * Enumerations are indices, truth values 0 or 1.
 */

AN_API size_t an_field_count(void);
AN_API const char *an_field_name(size_t field);
/* "int", "float", "bool", "activation", "norm", "placement", "affine", "init" */
AN_API const char *an_field_type(size_t field);
AN_API double an_field_default(size_t field); /* NaN: AUTO */
AN_API double an_field_min(size_t field);
AN_API double an_field_max(size_t field);
AN_API const char *an_field_group(size_t field); /* "norm", "ffn", "residual", "size", "init" */
AN_API const char *an_field_help(size_t field);
/* The values of the enumerations that have no list of their own: type "affine" and "init". NULL beyond the end. */
AN_API const char *an_affine_name(size_t affine);
AN_API const char *an_init_name(size_t init);

/* Sets every field of config to its default. */
AN_API an_status an_config_default(double *config);
/* AN_OK, or what is wrong: *field (may be NULL) is then the first field at fault. AN_INVALID_VALUE for a number outside
 * its range, no integer where there must be one, or AUTO where the default is not; AN_UNKNOWN_OP for an index beyond
 * its list; AN_INVALID_SHAPE if groups does not divide d_model. */
AN_API an_status an_config_check(const double *config, uint32_t *field);
/* The value that is used: AUTO resolved, out as config. AN_OK or as an_config_check. */
AN_API an_status an_config_resolve(double *out, const double *config);

/* ---- Block ------------------------------------------------------------------------------------------------------
 * One residual block x -> placement(norm, FFN), Vaswani et al. 2017 section 3.3 and its later wirings (the placements'
 * formulas name them). The FFN alone: norm none, placement none, residual 0.
 *
 * Parameters are enumerated, in this order: `gate` (d_ff, d_model), `gate_bias`, `up` (d_ff, d_model), `up_bias`,
 * `down` (d_model, d_ff), `down_bias`, `norm_weight`, `norm_bias`, `norm_alpha` (dyt), `norm2_weight`, `norm2_bias`,
 * `norm2_alpha` (peri's second norm), `scale` (rezero: one element, layer_scale: d_model), then the buffers
 * `norm_running_mean`, `norm_running_var` (batch_norm) and the second norm's. Which are there follows from the
 * configuration. The kernel reads one packed buffer that holds all of them.
 *
 * Where a function takes a configuration it is checked: what returns an an_status then says what an_config_check says,
 * the others return 0 or NULL.
 */

AN_API size_t an_block_parameter_count(const double *config);
AN_API const char *an_block_parameter_name(const double *config, size_t parameter); /* NULL beyond the list */
/* 1 or 2 axes: *rows (1 if there is one axis) and *cols, either may be NULL; returns the number of axes, 0 beyond the
 * list. */
AN_API size_t an_block_parameter_shape(const double *config, size_t parameter, size_t *rows, size_t *cols);
/* 1 if the parameter is learned, 0 for a buffer (running statistics). */
AN_API int an_block_parameter_learned(const double *config, size_t parameter);

/* Writes the parameter's initial values, which depend on config, seed and the parameter's place alone: bit-identical in
 * all variants and natively. Counter-based generator (src/random.c), so the order of calls is of no account. Errors:
 * AN_UNKNOWN_OP beyond the list. */
AN_API an_status an_block_parameter_init(float *value, const double *config, size_t parameter, uint32_t seed);

/* Bytes of the packed buffer; 0 if that overflows size_t. */
AN_API size_t an_block_packed_bytes(const double *config);
/* Copies one parameter, given in its shape above, into the packed buffer. All must be packed before forward. Errors:
 * AN_UNKNOWN_OP beyond the list. */
AN_API an_status an_block_pack(float *packed, const double *config, size_t parameter, const float *value);
/* The way back for a parameter of one axis, as many elements as it has: forward updates running statistics in the
 * packed buffer. Errors: AN_UNKNOWN_OP beyond the list; AN_INVALID_SHAPE for a matrix, whose elements are in another
 * order. */
AN_API an_status an_block_unpack(float *value, const double *config, size_t parameter, const float *packed);

/* Workspace of an_block_fwd for so many rows; grows up to a bounded row count, then stays. 0 rows need none. */
AN_API size_t an_block_workspace_bytes(const double *config, size_t batch, size_t length);

/* y, x (batch, length, d_model). y must not overlap x. Row norms see batch * length rows; batch_norm takes its training
 * statistics over all rows when training != 0 and updates the running ones in `packed`, and takes those otherwise;
 * group_norm and instance_norm take theirs per sequence.
 * workspace: workspace_bytes >= an_block_workspace_bytes(config, batch, length), of no use between calls.
 * NaN and infinity: as the linear layers, the activation and the norm have them. With a row norm a row's result does
 *   not depend on the others.
 * Errors: AN_WORKSPACE_TOO_SMALL.
 */
AN_API an_status an_block_fwd(float *y, const float *x, float *packed, void *workspace, size_t workspace_bytes,
                              const double *config, int training, size_t batch, size_t length);

/* cost[0] learned parameters; [1] floating-point operations of a forward of `rows` rows (a multiply-add counts two; an
 * activation, a norm element and an addition are counted as documented in src/block.c); [2] bytes of parameters, input
 * and output; [3] FLOPs of the matrix products alone. */
AN_API an_status an_block_cost(double cost[4], const double *config, size_t rows);

/* ---- Random ----------------------------------------------------------------------------------------------------- */

enum { AN_RANDOM_UNIFORM = 0, AN_RANDOM_NORMAL = 1 };
/* out[i], i = 0 .. n-1: uniform in [a, b), a if they are equal, or normal with mean a and standard deviation b, from
 * (seed, stream, i) alone (Philox4x32-10, Salmon et al. 2011; Wichura's AS 241). Bit-identical in all variants and
 * natively. Errors: AN_UNKNOWN_OP for the distribution; AN_INVALID_VALUE for a, b beyond float, a > b, b < 0. */
AN_API an_status an_random(float *out, size_t n, int distribution, double a, double b, uint32_t seed, uint32_t stream);

#ifdef __cplusplus
}
#endif

#endif
