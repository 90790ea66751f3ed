/* layer_norm: (x - mean) / sqrt(variance + eps), the variance biased (divided by n): Ba et al. 2016, equations 3 and 4.
 */
AN_INLINE double divisor_layer_norm(double variance, size_t n, double eps) {
  (void)n;
  return __builtin_sqrt(variance + eps);
}
AN_INLINE void norm_layer_norm(const norm_rows *a) { norm_centred(a, divisor_layer_norm); }
