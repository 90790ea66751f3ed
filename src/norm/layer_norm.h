/* layer_norm: (x - mean) / sqrt(variance + eps), the variance biased (divided by n): Ba et al. 2016, equations 3 and 4.
 */
AN_INLINE divisor divisor_layer_norm(double variance, size_t n, double eps) {
  (void)n;
  return (divisor){__builtin_sqrt(variance + eps), 1};
}
AN_INLINE normaliser norm_layer_norm(const elements *e, double eps, const float *alpha) {
  (void)alpha;
  return centred(e, eps, divisor_layer_norm);
}
