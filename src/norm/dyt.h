/* dyt: tanh(alpha * x): Zhu et al. 2025, algorithm 1. Element-wise, no statistics; alpha is the factor. */
AN_INLINE vf op_dyt(vf x, double alpha, double unused) {
  (void)unused;
  return vm_tanh(vf_mul(vf_set((float)alpha), x));
}
/* tanh'(alpha * x) */
AN_INLINE vf slope_dyt(vf x, vf alpha) { return vm_sech2(vf_mul(alpha, x)); }
AN_INLINE normaliser norm_dyt(const elements *e, double eps, const float *alpha) {
  (void)e, (void)eps;
  return (normaliser){.factor = alpha ? (double)*alpha : 0.5, .kind = TANH};
}
