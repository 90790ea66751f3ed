/* dyt: tanh(alpha * x): Zhu et al. 2025, algorithm 1. Element-wise, no statistics. */
AN_INLINE vf op_dyt(vf x, double alpha, double unused) {
  (void)unused;
  return vm_tanh(vf_mul(vf_set((float)alpha), x));
}
AN_INLINE void norm_dyt(const norm_rows *a) { norm_elementwise(a, op_dyt, a->alpha ? (double)*a->alpha : 0.5); }
