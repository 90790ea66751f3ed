/* addnorm: the Transformer's feed-forward block as C kernels, forward and backward.
 *
 * This header is the manual. Conventions that hold for every function:
 *
 *   Data       float32, row-major, last axis contiguous. Sizes count elements, not bytes, unless the name says bytes.
 *              `rows` is the product of all leading axes. Any float alignment is accepted, 16 bytes are preferred.
 *   Arguments  outputs first, then inputs, then parameters, then numbers: options and sizes.
 *   Aliasing   an output may equal an input only where the function says so; otherwise ranges must not overlap.
 *   Gradients  a ..._bwd function takes dy, the gradient of a loss by the output, and gives those by the inputs and
 *              parameters. Gradients of inputs overwrite (dx), those of parameters accumulate (dweight += ...). Where
 *              there are several, one that is not wanted is NULL, unless said. Nothing of the forward pass is needed
 *              but its arguments, unless said.
 *   Memory     nothing is allocated, nothing outside the given ranges is read or written. Buffers that a function needs
 *              for itself are given by the caller, their size is told by a ..._bytes function. Of stack a call takes
 *              up to 200 KB (matrix products); Emscripten gives 64 KB, -sSTACK_SIZE=256KB is enough.
 *   Errors     a function that computes returns an an_status: AN_OK, or why it did nothing. Arguments are checked
 *              before the first write. Zero rows or elements are valid and do nothing, unless said (NULL is then
 *              accepted for the data). Every such function may return AN_NULL_POINTER, and AN_SIZE_OVERFLOW where the
 *              bytes of an argument do not fit in size_t; what else it may return is said at the function.
 *   Numbers    NaN in, NaN out, in the row concerned and no other. There is no fast-math, no libm, no global state.
 *              Without relaxed SIMD the results are the same bits on every machine (NaN payloads aside), natively too.
 *   Threads    every function is re-entrant.
 *   Building   compile the .c files of src/ with -ffp-contract=off; for wasm with -msimd128 and, if wanted,
 *              -mrelaxed-simd, natively with SIMDe's headers, anywhere with -DAN_SCALAR and neither. No -lm is needed.
 *              src/heap.c is the npm package's malloc, for wasm alone: leave it out where there is one. docs/example.c
 *              in the repository is a program.
 *
 * ULP bounds are over every float32 input unless a range is given; how they are measured: docs/accuracy.md.
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

/* Pinned numbers, append-only. 1-9 argument, 10-19 shape and size, 20-29 memory, 30-39 results. */
typedef enum an_status {
  AN_OK = 0,
  AN_NULL_POINTER = 1,   /* a required pointer is NULL */
  AN_UNKNOWN_OP = 2,     /* an index is beyond the list it points into */
  AN_INVALID_VALUE = 3,  /* a number is NaN, infinite or outside its domain */
  AN_UNKNOWN_FLAG = 4,   /* a flag bit has no meaning */
  AN_INVALID_SHAPE = 10, /* a size is 0 where it must not be, or sizes do not fit together */
  AN_SIZE_OVERFLOW = 11, /* the bytes of an argument do not fit in size_t */
  AN_WORKSPACE_TOO_SMALL = 20,
  AN_NOT_FINITE = 30 /* a result would be NaN or infinite */
} an_status;

/* "OK", "NULL_POINTER", ...; "UNKNOWN_STATUS" for any other number. */
AN_API const char *an_status_name(int status);

/* How this was built, as the module of the npm package has it:
 * "addnorm 0.1.0 0a1b2c3d simd emscripten-3.1.69", where the second number changes with this header and the lists.
 * What stands behind the version is what the compiler is given as -DAN_BUILD='"..."', else "native". */
AN_API const char *an_build(void);

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
 * Bound: at most 4 ULP at default parameters, for each activation in docs/accuracy.md; where a parameter scales the
 *   argument of an exponential, half of that argument more.
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

/* dx[i] = dy[i] * activation'(x[i]).
 * dx, x, dy: n elements. dx may equal x or dy.
 * At a kink the derivative is PyTorch's: that from below at 0 (relu 0, leaky_relu its slope, elu alpha, selu
 *   alpha * gamma, celu 1); hard_sigmoid's is 0 at both of its kinks, hard_swish's 0 at -3 and 1 at 3. At infinity it
 *   is the limit.
 * Bound of the derivative: 1e-6 absolute plus 4 ULP, with parameters as above, and finite wherever the true value is;
 *   dx one rounding more.
 * Errors: as an_activation_fwd.
 */
AN_API an_status an_activation_bwd(float *dx, const float *x, const float *dy, size_t n, size_t activation, double p0,
                                   double p1);

/* dgate[i] = dy[i] * activation'(gate[i]) * up[i], dup[i] = dy[i] * activation(gate[i]).
 * All: n elements, none NULL. dgate may equal gate, up or dy, and so may dup, but not both the same.
 * Errors: as an_activation_fwd.
 */
AN_API an_status an_glu_bwd(float *dgate, float *dup, const float *gate, const float *up, const float *dy, size_t n,
                            size_t activation, double p0, double p1);

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

/* From y, what an_softmax_fwd has given with the same flags: dx = y (dy - sum(dy y)); with AN_SOFTMAX_LOG
 * dx = dy - e^y sum(dy).
 * dx, y, dy: outer * n * inner elements. dx may equal y or dy.
 * A row of zeros (log: -inf) under AN_SOFTMAX_MASKED_ZERO gives zeros.
 * Bound: half an ULP of dx (log: and one of e^y sum(dy)), beside (n + 4) 2^-53 of the largest |dy| of the row (log: of
 *   the sum of |dy|) times the element's probability.
 * Errors: as an_softmax_fwd.
 */
AN_API an_status an_softmax_bwd(float *dx, const float *y, const float *dy, size_t outer, size_t n, size_t inner,
                                int flags);

/* ---- Norms ------------------------------------------------------------------------------------------------------ */

/* Norms of kind "row": layer_norm, layer_norm_std, rms_norm, rms_norm_outside, dyt, none. Formulas and papers:
 * an_norm_formula, an_norm_source.
 * y, x (rows, d); y may equal x. weight, bias: d elements or NULL (1 and 0).
 * mean, rstd: rows elements each or NULL. The mean (0 where the norm has none), and the factor that x - mean was
 *   multiplied by, before weight (1 of dyt and none). Backward does not need them.
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

/* Gradients of an_norm_fwd, from its x: statistics are computed anew, since as floats they would be too coarse (a mean
 * of 1e6 is off by up to 1/32). With g = dy * (weight + weight_offset) and n the normalised row:
 *   dx = factor (g - mean(g) - c n mean(g n)), c following from the norm; without a mean its term is left out
 *   dweight += sum over rows of dy n,  dbias += sum over rows of dy,  dalpha += dyt's sum of g x tanh'(alpha x)
 * dx, x, dy (rows, d); dx may equal x or dy. dweight, dbias: d elements; dalpha: one element.
 * A row without spread has no derivative where eps is 0 or outside the root; it gives factor (g - mean(g)): 0 if eps is
 *   0.
 * Bound, for any finite row: 10 units of 2^-24, a unit being factor * max |g| * max(1, max |n|), for dyt |dx| *
 *   max(1, |alpha x|); dweight and dbias: (rows / 32 + 10) * 2^-24 * sum of |dy| max(1, |n|), or of |dy|, if that sum
 *   is a finite float. Beside these, what is lost by underflow: 2^-149 of dx and of each term.
 * Errors: as an_norm_fwd.
 */
AN_API an_status an_norm_bwd(float *dx, float *dweight, float *dbias, float *dalpha, const float *x, const float *dy,
                             const float *weight, const float *alpha, size_t norm, double eps, double weight_offset,
                             size_t rows, size_t d);

/* Gradients of an_add_norm_fwd, from its sum. dsum: the gradient by the output `sum` where that is used further, or
 * NULL. dresidual = dsum + what an_norm_bwd gives, dx = alpha * dresidual. All (rows, d); dresidual may equal sum, dsum
 * or dy, and so may dx, but not both the same. The other gradients and errors: as an_norm_bwd, and AN_INVALID_VALUE for
 * alpha.
 */
AN_API an_status an_add_norm_bwd(float *dx, float *dresidual, float *dweight, float *dbias, float *dalpha,
                                 const float *sum, const float *dsum, const float *dy, const float *weight,
                                 const float *norm_alpha, size_t norm, double alpha, double eps, double weight_offset,
                                 size_t rows, size_t d);

/* Batch norm (Ioffe and Szegedy 2015, arXiv 1502.03167) of x (outer, channels, inner), statistics per channel over
 * outer and inner. y may equal x.
 * mask: outer * inner elements or NULL. Where it is 0 there is padding: x counts for nothing there, and y is 0. If it
 *   is 0 everywhere, y is 0 and no statistics are written.
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
                                   const float *x, const float *weight, const float *bias, const float *mask,
                                   double eps, double momentum, double weight_offset, int training, int biased_running,
                                   size_t outer, size_t channels, size_t inner);

/* Gradients of an_batch_norm_fwd, as an_norm_bwd has them, a channel in place of a row; running statistics are
 * constants (training == 0: dx = rstd g). Under the mask's zeros dx is 0 and dy counts for nothing. running_mean,
 * running_var: as before the forward pass, needed if training == 0. dx may equal x or dy. dweight, dbias: channels
 * elements. Errors: as an_batch_norm_fwd. */
AN_API an_status an_batch_norm_bwd(float *dx, float *dweight, float *dbias, const float *x, const float *dy,
                                   const float *weight, const float *mask, const float *running_mean,
                                   const float *running_var, double eps, double weight_offset, int training,
                                   size_t outer, size_t channels, size_t inner);

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

/* Gradients of an_group_norm_fwd, as an_norm_bwd has them, a group in place of a row. dx may equal x or dy. dweight,
 * dbias: channels elements. Errors: as an_group_norm_fwd. */
AN_API an_status an_group_norm_bwd(float *dx, float *dweight, float *dbias, const float *x, const float *dy,
                                   const float *weight, double eps, double weight_offset, size_t groups, size_t batch,
                                   size_t length, size_t channels, size_t inner);

/* ---- Residual, transpose ---------------------------------------------------------------------------------------- */

/* out[i] = alpha * x[i] + y[i], the product rounded before the sum, alpha as a float. out may equal x or y.
 * n elements each. NaN and infinity as in IEEE 754. Errors: AN_INVALID_VALUE for alpha. */
AN_API an_status an_add_fwd(float *out, const float *x, const float *y, double alpha, size_t n);

/* Gradients of an_add_fwd: dx = alpha * dout, dy = dout. Either may equal dout, not both. Errors: as an_add_fwd. */
AN_API an_status an_add_bwd(float *dx, float *dy, const float *dout, double alpha, size_t n);

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

/* Bytes of workspace of an_linear_bwd: at most 512 KB, whatever the sizes. No rows need none; 0 also where
 * an_linear_bwd says AN_SIZE_OVERFLOW. */
AN_API size_t an_linear_bwd_workspace_bytes(size_t rows, size_t in, size_t out);

/* Gradients of y = x W^T + b: dx = dy W, dweight += dy^T x (in `layout`), dbias += sum over rows of dy.
 * dx, x (rows, in), dy (rows, out). packed_bwd: the weight as an_linear_pack(packed_bwd, weight, the other layout, out,
 *   in) gives it; NULL if dx is. dx must not overlap the rest. workspace: for dweight, NULL without it; workspace_bytes
 *   >= an_linear_bwd_workspace_bytes(rows, in, out).
 * Bounds: dx as an_linear_fwd with out for in; dweight: with rows for in; dbias: (rows / 32 + 34) * 2^-24 * sum |dy|.
 * Errors: AN_UNKNOWN_FLAG for the layout; AN_WORKSPACE_TOO_SMALL.
 */
AN_API an_status an_linear_bwd(float *dx, float *dweight, float *dbias, const float *x, const float *dy,
                               const float *packed_bwd, void *workspace, size_t workspace_bytes, int layout,
                               size_t rows, size_t in, size_t out);

/* ---- Limits of the machine ---------------------------------------------------------------------------------------
 * What speed is judged against: one thing done as fast as the engine can, and nothing else.
 */

/* Multiply-adds on twelve vectors in registers, `steps` times, as an_linear_fwd's are made: fused where relaxed SIMD
 * fuses them, else a product and a sum, of one element where there is no SIMD. Returns how many floating-point
 * operations that was, a multiply-add being two. */
AN_API double an_limit_multiply_add(size_t steps);

/* Reads x (n) once. Returns the sum, without a bound on its error. */
AN_API double an_limit_read(const float *x, size_t n);

/* ---- Configuration ----------------------------------------------------------------------------------------------
 * What a module is: an array of an_field_count() doubles, one a field, in the order of src/config.def; NaN is AUTO.
 * Enumerations are indices, truth values 0 or 1.
 */

AN_API size_t an_field_count(void); /* beyond it the following give NULL or 0 */
AN_API const char *an_field_name(size_t field);
/* "int", "float", "bool", "activation", "norm", "placement", "affine", "init", "mixing" */
AN_API const char *an_field_type(size_t field);
AN_API double an_field_default(size_t field); /* NaN: AUTO */
AN_API double an_field_min(size_t field);
AN_API double an_field_max(size_t field);
AN_API const char *an_field_group(size_t field); /* "norm", "ffn", "residual", "size", "init", "mixing", "stack" */
AN_API const char *an_field_help(size_t field);
/* The values of the enumerations without a list of their own: type "affine", "init", "mixing". NULL beyond the end. */
AN_API const char *an_affine_name(size_t affine);
AN_API const char *an_init_name(size_t init);
AN_API const char *an_mixing_name(size_t mixing);

/* Sets every field of config to its default. */
AN_API an_status an_config_default(double *config);
/* AN_OK, or what is wrong: *field (may be NULL) is then the first field at fault. AN_INVALID_VALUE for a number outside
 * its range, no integer where there must be one, or AUTO where the default is not; AN_UNKNOWN_OP for an index beyond
 * its list; AN_INVALID_SHAPE if groups or heads does not divide d_model. */
AN_API an_status an_config_check(const double *config, uint32_t *field);
/* The value that is used: AUTO resolved, out as config. AN_OK or as an_config_check. */
AN_API an_status an_config_resolve(double *out, const double *config);

/* ---- Modules ----------------------------------------------------------------------------------------------------
 * What a configuration describes.
 *
 * layer >= 1: one block of a stack, the layer-th. x -> placement(norm, FFN), Vaswani et al. 2017 section 3.3 and its
 *   later wirings (an_placement_formula); with `mixing` a sublayer that mixes tokens comes before, with a norm of its
 *   own in the same placement: an encoder or decoder layer. The FFN alone: norm none, placement none, residual 0.
 * layer == 0: the stack. x (.., d_in) -> input projection, if d_in > 0, plus a learned vector for each of `positions`
 *   positions -> `depth` blocks -> a last norm, if final_norm -> head, if d_out > 0.
 *
 * Parameters are enumerated. Of a block, in this order, those that its configuration has: `query`, `query_bias`, `key`,
 * `key_bias`, `value`, `value_bias`, `out`, `out_bias` (all d_model x d_model), `query_norm_weight`, `key_norm_weight`
 * (d_model / heads), the mixing sublayer's norm `mixing_norm_weight`, `mixing_norm_bias`, `mixing_norm_alpha`,
 * `mixing_norm2_weight`, ..., `mixing_scale`; `gate` (d_ff, d_model), `gate_bias`, `up` (d_ff, d_model), `up_bias`,
 * `down` (d_model, d_ff), `down_bias`, `norm_weight`, `norm_bias`, `norm_alpha` (dyt), `norm2_weight`, `norm2_bias`,
 * `norm2_alpha` (peri's second norm), `scale` (rezero: one element, layer_scale: d_model), then batch_norm's buffers
 * `mixing_norm_running_mean`, `mixing_norm_running_var`, ..., `norm_running_mean`, `norm_running_var`, .... A stack has
 * `input` (d_model, d_in), `input_bias`, `position` (positions, d_model), the parameters of layer 1, 2, ...,
 * `final_norm_weight`, `final_norm_bias`, `final_norm_alpha`, `head` (d_out, d_model), `head_bias`,
 * `final_norm_running_mean`, `final_norm_running_var`.
 *
 * Buffers, all the caller's:
 *   values      every parameter in its shape, at its offset: floats, an_module_values_bytes
 *   gradients   the same, added to by backward; those of running statistics are never touched
 *   packed      what the kernels read: every parameter, matrices in panels, an_module_packed_bytes
 *   packed_bwd  the matrices once more, as backward reads them, an_module_packed_bwd_bytes; for training only
 *   saved       what a forward in training keeps for backward, an_module_saved_bytes
 *   workspace   of no use between calls, an_module_workspace_bytes
 *
 * Where a function takes a configuration it is checked: what returns an an_status then says what an_config_check says,
 * the others return 0 or NULL.
 */

AN_API size_t an_module_parameter_count(const double *config);
AN_API const char *an_module_parameter_name(const double *config, size_t parameter); /* NULL beyond the list */
/* The layer that the parameter belongs to, from 1; 0 for the stack's own. */
AN_API size_t an_module_parameter_layer(const double *config, size_t parameter);
/* 1 or 2 axes: *rows (1 if there is one axis) and *cols, either may be NULL; returns the number of axes, 0 beyond the
 * list. */
AN_API size_t an_module_parameter_shape(const double *config, size_t parameter, size_t *rows, size_t *cols);
/* 1 if the parameter is learned, 0 for a buffer (running statistics). */
AN_API int an_module_parameter_learned(const double *config, size_t parameter);
/* Where the parameter lies in values and gradients, in floats: a multiple of 4. */
AN_API size_t an_module_parameter_offset(const double *config, size_t parameter);
/* Bytes of values, and of gradients; 0 if that overflows size_t. */
AN_API size_t an_module_values_bytes(const double *config);

/* Writes the parameter's initial values, which depend on config, seed, the layer and the parameter's place in it alone:
 * bit-identical in all variants and natively. A block of layer l has what the stack of the same configuration has in
 * its layer l. Counter-based generator (src/random.c), so the order of calls is of no account. Errors: AN_UNKNOWN_OP
 * beyond the list. */
AN_API an_status an_module_parameter_init(float *value, const double *config, size_t parameter, uint32_t seed);

/* Bytes of the packed buffers; 0 if that overflows size_t. */
AN_API size_t an_module_packed_bytes(const double *config);
AN_API size_t an_module_packed_bwd_bytes(const double *config);
/* Copies one parameter, given in its shape, into the packed buffer, and if packed_bwd is not NULL, a matrix into that
 * too. All must be packed before forward. Errors: AN_UNKNOWN_OP beyond the list. */
AN_API an_status an_module_pack(float *packed, float *packed_bwd, const double *config, size_t parameter,
                                const float *value);
/* The way back for a buffer of running statistics or any other parameter of one axis: forward updates the running
 * statistics in the packed buffer. Errors: AN_UNKNOWN_OP beyond the list; AN_INVALID_SHAPE for a parameter of two axes,
 * whose elements may be in another order. */
AN_API an_status an_module_unpack(float *value, const double *config, size_t parameter, const float *packed);

/* Bytes of workspace of an_module_fwd (training 0: without `saved`; 1: with it) and of an_module_bwd (2). In inference
 * a block without mixing works on at most 120 rows at a time, with group_norm or instance_norm on a whole sequence if
 * that is longer, and needs no more however many come; a stack, and mixing, also need streams of all rows. 0 rows need
 * none; 0 also if it overflows size_t. */
AN_API size_t an_module_workspace_bytes(const double *config, int training, size_t batch, size_t length);
/* Bytes of `saved`; 0 if that overflows size_t. */
AN_API size_t an_module_saved_bytes(const double *config, size_t batch, size_t length);

/* y (batch, length, d_out or d_model), x (batch, length, d_in or d_model). y must not overlap x.
 * mask: batch * length elements, 0 where there is padding, or NULL. Such a position gives nothing to mixing and to
 *   batch_norm, whatever stands there; its own output is of no account, and dy there has to be 0. group_norm and
 *   instance_norm see zeros there in the first layer, and what becomes of them in the others.
 * saved: an_module_saved_bytes(config, batch, length), or NULL for inference. With it batch_norm takes its statistics
 *   over the batch and updates the running ones in `packed`, dropout acts with the mask that `seed` gives, and all that
 *   backward needs is kept. Without it batch_norm takes the running statistics, and seed is of no account.
 * Row norms see batch * length rows; group_norm and instance_norm take their statistics per sequence.
 * workspace: workspace_bytes >= an_module_workspace_bytes(config, saved != NULL, batch, length).
 * NaN and infinity: as the linear layers, the activation and the norm have them. With a row norm and without mixing a
 *   row's result does not depend on the others.
 * Errors: the configuration's; AN_WORKSPACE_TOO_SMALL; AN_INVALID_SHAPE if length is above `positions` where that is
 *   not 0.
 */
AN_API an_status an_module_fwd(float *y, const float *x, const float *mask, float *packed, void *saved, void *workspace,
                               size_t workspace_bytes, const double *config, uint32_t seed, size_t batch,
                               size_t length);

/* Gradients of the last an_module_fwd with `saved`, the parameters being packed as they were then; mask and seed as
 * there.
 * dx: as x, or NULL; gradients: added to, not NULL; dy: as y. dx may equal dy if both have the same shape.
 * workspace: workspace_bytes >= an_module_workspace_bytes(config, 2, batch, length).
 * probe: an_module_probe_count(config) * an_probe_count() doubles, overwritten, or NULL.
 * Errors: as an_module_fwd.
 */
AN_API an_status an_module_bwd(float *dx, float *gradients, const float *dy, const float *mask, const float *packed,
                               const float *packed_bwd, const void *saved, void *workspace, size_t workspace_bytes,
                               const double *config, uint32_t seed, size_t batch, size_t length, double *probe);

/* What backward tells of every sublayer, in the order of the forward pass, and at last of the stream behind the last
 * one (before the final norm): a row each, over the positions that are not masked. By their names:
 *   mean, std, rms   of the stream that enters
 *   gradient         Euclidean norm of the loss's gradient by that stream
 *   branch_rms       RMS of what is added to the stream, or normed with it: F(..) with all norms and scales that the
 *                    placement has within the branch
 *   cosine           between the stream that enters and the one that leaves, the mean over positions
 *   dead             share of the FFN's hidden units that are 0 at all positions, as relu's can be
 *   saturated        share of elements with |tanh| > 0.99, or sigmoid outside 0.01 .. 0.99, of a tanh or sigmoid
 *                    activation, else of the sublayer's first dyt norm
 *   nonfinite        number of NaN and infinite elements of the stream that enters
 * The last row has what is said of the stream alone; what does not apply is 0.
 */
AN_API size_t an_probe_count(void);
AN_API const char *an_probe_name(size_t value);
/* Sublayers and one. */
AN_API size_t an_module_probe_count(const double *config);

/* cost[0] learned numbers; [1] floating-point operations of a forward in inference (a multiply-add counts two;
 * src/plan.c says what else counts how much); [2] bytes of parameters, input and output; [3] operations of the matrix
 * products alone. */
AN_API an_status an_module_cost(double cost[4], const double *config, size_t batch, size_t length);

/* ---- Losses ------------------------------------------------------------------------------------------------------
 * A loss is one number, the sum or the mean over its terms, computed in double, and its gradient by the prediction
 * (overwritten). The terms themselves, on request.
 */

enum { AN_REDUCTION_MEAN = 0, AN_REDUCTION_SUM = 1 };

/* Mean (or sum) of (prediction - target)^2. value: one double; terms: n elements or NULL; gradient: n elements, may
 * equal prediction or target, or NULL. n == 0: the value is 0. NaN makes its term and the value NaN.
 * Errors: AN_UNKNOWN_FLAG for the reduction. */
AN_API an_status an_mse(double *value, float *terms, float *gradient, const float *prediction, const float *target,
                        int reduction, size_t n);

/* Cross-entropy of logits (rows, classes): a row's term is -sum_c t_c log softmax(logits)_c w_c, with
 * AN_LOG_PROBABILITIES -sum_c t_c logits_c w_c (negative log-likelihood).
 * labels: rows int32, the class of each row: t = (1 - smoothing) onehot + smoothing / classes (Szegedy et al. 2016,
 *   arXiv 1512.00567). A row whose label is ignore_index counts for nothing. Or targets: (rows, classes), t itself,
 *   smoothed likewise. One of the two is NULL.
 * weights: classes elements, w, or NULL (1). With labels the mean is over the sum of the rows' w_label, else over the
 *   number of rows, as in PyTorch; without any row that counts the value is NaN (mean) or 0 (sum).
 * value: one double; terms: rows elements or NULL (0 where ignored); gradient (rows, classes) or NULL, may equal
 *   logits. value and terms do not depend on what else is asked for.
 * A class of logit -inf and t w = 0 adds nothing (0 log 0 = 0); with t w > 0 the term is infinite. NaN, +inf or nothing
 *   but -inf make their row NaN.
 * Bound of a term, t and w not negative: 1e-6 of it. Bound of the gradient: 1e-6 of the larger of p_c sum(t w) and
 *   t_c w_c, times the reduction's factor, where that is a normal float.
 * Errors: AN_UNKNOWN_FLAG; AN_INVALID_VALUE for a label outside 0 .. classes - 1 that is not ignore_index, nothing
 *   being written, for a smoothing outside 0 .. 1, or for labels and targets both; AN_INVALID_SHAPE if classes is 0.
 */
enum { AN_LOG_PROBABILITIES = 2 };
AN_API an_status an_cross_entropy(double *value, float *terms, float *gradient, const float *logits,
                                  const int32_t *labels, const float *targets, const float *weights, double smoothing,
                                  int32_t ignore_index, int flags, size_t rows, size_t classes);

/* ---- Optimisers ---------------------------------------------------------------------------------------------------
 * One parameter at a time; step counts from 1; g is gradient * gradient_scale, for clipping. With AN_STEP_CHECK in
 * flags nothing is written, and AN_NOT_FINITE says that a new value or moment would be NaN or infinite; without it
 * whatever comes is written. So the steps of all parameters are checked first, and then taken together or not at all.
 */

enum { AN_STEP_CHECK = 1 };

/* SGD (Sutskever et al. 2013), as PyTorch has it: g += weight_decay * value; velocity = momentum * velocity +
 * (1 - dampening) * g, in step 1 g; value -= rate * velocity, with AN_SGD_NESTEROV rate * (g + momentum * velocity).
 * value, velocity, gradient: n elements. With momentum 0 value -= rate * g: velocity is left alone and may be NULL.
 * Errors: AN_UNKNOWN_FLAG; AN_INVALID_VALUE for a number that is not finite, a momentum outside 0 .. 1 or step 0. */
enum { AN_SGD_NESTEROV = 2 };
AN_API an_status an_sgd_step(float *value, float *velocity, const float *gradient, double gradient_scale, double rate,
                             double momentum, double dampening, double weight_decay, int flags, uint32_t step,
                             size_t n);

enum {
  AN_ADAM_DECOUPLED = 2,    /* AdamW: value *= 1 - rate * weight_decay, else g += weight_decay * value */
  AN_ADAM_EPSILON_FIRST = 4 /* ONNX: epsilon is added before the bias correction, not after it */
};
/* Adam (Kingma and Ba 2014, arXiv 1412.6980), AdamW (Loshchilov and Hutter 2017, arXiv 1711.05101), as PyTorch has
 * them: m = b1 m + (1 - b1) g, v = b2 v + (1 - b2) g^2,
 *   value -= rate / (1 - b1^step) m / (sqrt(v) / sqrt(1 - b2^step) + eps), with AN_ADAM_EPSILON_FIRST
 *   value -= rate sqrt(1 - b2^step) / (1 - b1^step) m / (sqrt(v) + eps).
 * value, m, v, gradient: n elements; m and v are 0 before step 1.
 * Errors: AN_UNKNOWN_FLAG; AN_INVALID_VALUE for a number that is not finite, betas outside 0 .. 1 (1 excluded), eps < 0
 * or step 0. */
AN_API an_status an_adam_step(float *value, float *m, float *v, const float *gradient, double gradient_scale,
                              double rate, double beta1, double beta2, double eps, double weight_decay, int flags,
                              uint32_t step, size_t n);

/* *sum += the sum of squares of x, in double, infinity and NaN coming through: for norms over many tensors. */
AN_API an_status an_sum_squares(double *sum, const float *x, size_t n);

/* ---- Random ----------------------------------------------------------------------------------------------------- */

enum { AN_RANDOM_UNIFORM = 0, AN_RANDOM_NORMAL = 1 };
/* out[i], i = 0 .. n-1: uniform in [a, b), a if they are equal, or normal with mean a and standard deviation b, from
 * (seed, stream, i) alone (Philox4x32-10, Salmon et al. 2011; Wichura's AS 241). Bit-identical in all variants and
 * natively. Errors: AN_UNKNOWN_OP for the distribution; AN_INVALID_VALUE for a, b beyond float, a > b, b < 0. */
AN_API an_status an_random(float *out, size_t n, int distribution, double a, double b, uint32_t seed, uint32_t stream);

/* Dropout (Srivastava et al. 2014), inverted: y[i] = x[i] / (1 - p) with probability 1 - p, else 0, by the i-th number
 * of (seed, stream), in all variants the same. The backward pass is the same call on dy. y may equal x. 0 <= p < 1; 0
 * copies. A dropped NaN or infinity is 0. Errors: AN_INVALID_VALUE for p. */
AN_API an_status an_dropout(float *y, const float *x, double p, uint32_t seed, uint32_t stream, size_t n);

#ifdef __cplusplus
}
#endif

#endif
