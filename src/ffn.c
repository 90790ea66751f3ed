/* The hidden layer never exists as a whole: a tile of it, some rows by some columns, is computed, activated, multiplied
 * by its part of `down` and added to y, and then the next one takes its place. The tile stays in the second-level
 * cache, the workspace is this tile, and since the sum over the hidden columns goes on in their order, in the steps in
 * which matmul sums, its size cannot be seen in y.
 */
#include "ffn.h"

#include "activation.h"
#include "matmul.h"

/* Floats of a tile: 128 KB, at least MATMUL_SUM columns of MATMUL_ROWS rows. Few rows get a wide tile: long runs through the weights, which are then what takes time. */
enum { TILE = 32768 };
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
      matmul(hidden, columns, xm, d_model, f->up + h * d_model, d_model * MATMUL_PANEL,
             f->up_bias ? f->up_bias + h : NULL, 0, r, d_model, columns);
      if (f->gate) {
        matmul(gate, columns, xm, d_model, f->gate + h * d_model, d_model * MATMUL_PANEL,
               f->gate_bias ? f->gate_bias + h : NULL, 0, r, d_model, columns);
        activation_apply_gated(hidden, gate, hidden, r * columns, f->activation, f->p0, f->p1);
      } else if (f->activation != AN_ACT_identity) {
        activation_apply(hidden, hidden, r * columns, f->activation, f->p0, f->p1);
      }
      matmul(y + m * d_model, d_model, hidden, columns, f->down + h * MATMUL_PANEL, d_ff * MATMUL_PANEL,
             h + columns == d_ff ? f->down_bias : NULL, h > 0, r, columns, d_model);
    }
  }
}
