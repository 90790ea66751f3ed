/* In inference the hidden layer never exists as a whole: a tile of it, some rows by some columns, is computed,
 * activated, multiplied by its part of `down` and added to y, and then the next one takes its place. The tile stays in
 * the second-level cache, the workspace is this tile, and since the sum over the hidden columns goes on in their order,
 * in the steps in which matmul sums, its size cannot be seen in y.
 */
#include "ffn.h"

#include "activation.h"
#include "matmul.h"
#include "random.h"
#include "tensor.h"

/* Floats of a tile: 256 KB, at least MATMUL_SUM columns of MATMUL_ROWS rows. Few rows get a wide tile: long runs
 * through the weights, which are then what takes time. */
enum { TILE = 65536 };
_Static_assert(TILE / MATMUL_ROWS >= MATMUL_SUM, "a tile holds a whole sum");

size_t ffn_workspace_size(size_t d_ff, int gated, size_t rows) {
  const size_t n = (rows < MATMUL_ROWS ? rows : MATMUL_ROWS) * d_ff;
  return (n < TILE ? n : TILE) * (gated ? 2 : 1);
}

void ffn_fwd(float *y, const float *x, float *workspace, const ffn *f, size_t rows) {
  const size_t d_model = f->d_model, d_ff = f->d_ff;
  for (size_t m = 0, r; m < rows; m += r) {
    r = matmul_part(rows - m, MATMUL_ROWS);
    const float *const xm = x + m * d_model;
    const size_t most = TILE / r / MATMUL_SUM * MATMUL_SUM;
    for (size_t h = 0, columns; h < d_ff; h += columns) {
      columns = d_ff - h < most ? d_ff - h : most;
      float *const hidden = workspace, *const gate = hidden + r * columns;
      matmul(hidden, columns, xm, d_model, f->up, d_model, d_ff, h, f->up_bias ? f->up_bias + h : NULL, 0, r, d_model,
             columns);
      if (f->gate) {
        matmul(gate, columns, xm, d_model, f->gate, d_model, d_ff, h, f->gate_bias ? f->gate_bias + h : NULL, 0, r,
               d_model, columns);
        activation_apply_gated(hidden, gate, hidden, r * columns, f->activation, f->p0, f->p1);
      } else if (f->activation != AN_ACT_identity) {
        activation_apply(hidden, hidden, r * columns, f->activation, f->p0, f->p1);
      }
      matmul(y + m * d_model, d_model, hidden, columns, f->down + h * matmul_columns(d_model), d_ff - h, d_model, 0,
             h + columns == d_ff ? f->down_bias : NULL, h > 0, r, columns, d_model);
    }
  }
}

/* ---- Training ---- */

size_t ffn_saved_size(size_t d_ff, int gated, size_t rows) { return size_times(gated ? 3 : 2, size_times(rows, d_ff)); }

ffn_saved ffn_saved_parts(float *saved, size_t d_ff, int gated, size_t rows) {
  const size_t n = rows * d_ff;
  if (n == 0) return (ffn_saved){NULL, NULL, NULL}; /* saved may be NULL */
  return (ffn_saved){saved, gated ? saved + 2 * n : NULL, saved + n};
}

void ffn_fwd_training(float *y, const float *x, float *saved, const ffn *f, size_t rows) {
  const size_t d_model = f->d_model, d_ff = f->d_ff;
  const ffn_saved s = ffn_saved_parts(saved, d_ff, f->gate != NULL, rows);
  /* Blocks of rows all the way through: what one step has written the next one finds in cache. */
  for (size_t m = 0, r; m < rows; m += r) {
    r = matmul_part(rows - m, MATMUL_ROWS);
    const float *const xm = x + m * d_model;
    float *const in = s.activation_input + m * d_ff, *const hidden = s.hidden + m * d_ff;
    if (f->gate) {
      float *const up = s.up + m * d_ff;
      matmul_rows(in, xm, f->gate, f->gate_bias, 0, r, d_model, d_ff);
      matmul_rows(up, xm, f->up, f->up_bias, 0, r, d_model, d_ff);
      activation_apply_gated(hidden, in, up, r * d_ff, f->activation, f->p0, f->p1);
    } else {
      matmul_rows(in, xm, f->up, f->up_bias, 0, r, d_model, d_ff);
      activation_apply(hidden, in, r * d_ff, f->activation, f->p0, f->p1);
    }
    if (f->dropout > 0) dropout_apply(hidden, hidden, f->dropout, f->seed, f->stream, (uint64_t)m * d_ff, r * d_ff);
    matmul_rows(y + m * d_model, hidden, f->down, f->down_bias, 0, r, d_ff, d_model);
  }
}

/* Backward goes by MATMUL_SUM rows: the weights' gradients are then the sums that matmul_transposed makes of all rows.
 */
size_t ffn_bwd_workspace_size(size_t d_model, size_t d_ff, int gated, size_t rows) {
  const size_t r = at_most(rows, MATMUL_SUM);
  return (gated ? 2 : 1) * r * d_ff + matmul_transposed_size(d_model > d_ff ? d_model : d_ff, r);
}

void ffn_bwd(float *dx, const ffn_gradients *gradients, const float *x, const float *dy, const float *saved,
             float *workspace, const ffn *f, size_t rows) {
  const size_t d_model = f->d_model, d_ff = f->d_ff;
  const int gated = f->gate != NULL;
  const ffn_saved s = ffn_saved_parts((float *)saved, d_ff, gated, rows);
  for (size_t m = 0, r; m < rows; m += r) {
    r = at_most(rows - m, MATMUL_SUM);
    const float *const xm = x + m * d_model, *const dym = dy + m * d_model, *const in = s.activation_input + m * d_ff;
    float *const dhidden = workspace, *const dup = dhidden + r * d_ff, *const rest = gated ? dup + r * d_ff : dup;

    matmul_gradients(gradients->down, gradients->down_bias, s.hidden + m * d_ff, dym, r, d_ff, d_model, rest);
    matmul_rows(dhidden, dym, f->down_bwd, NULL, 0, r, d_model, d_ff);
    if (f->dropout > 0) dropout_apply(dhidden, dhidden, f->dropout, f->seed, f->stream, (uint64_t)m * d_ff, r * d_ff);

    /* dy's rows have been read: dx may take their place. */
    float *const dxm = dx + m * d_model;
    if (gated) {
      activation_gradient_gated(dhidden, dup, in, s.up + m * d_ff, dhidden, r * d_ff, f->activation, f->p0, f->p1);
      matmul_gradients(gradients->gate, gradients->gate_bias, xm, dhidden, r, d_model, d_ff, rest);
      matmul_gradients(gradients->up, gradients->up_bias, xm, dup, r, d_model, d_ff, rest);
      matmul_rows(dxm, dhidden, f->gate_bwd, NULL, 0, r, d_ff, d_model);
      matmul_rows(dxm, dup, f->up_bwd, NULL, 1, r, d_ff, d_model);
    } else {
      activation_gradient(dhidden, in, dhidden, r * d_ff, f->activation, f->p0, f->p1);
      matmul_gradients(gradients->up, gradients->up_bias, xm, dhidden, r, d_model, d_ff, rest);
      matmul_rows(dxm, dhidden, f->up_bwd, NULL, 0, r, d_ff, d_model);
    }
  }
}
