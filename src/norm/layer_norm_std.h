/* layer_norm_std: (x - mean) / (s + eps), s the unbiased standard deviation (variance divided by n - 1): The Annotated
 * Transformer, class LayerNorm. One element has s = 0 here, and so gives bias; there it gives NaN. At s = 0 the
 * derivative is taken to be 0. */
AN_INLINE divisor divisor_layer_norm_std(double variance, size_t n, double eps) {
  const double share = n > 1 ? (double)n / (double)(n - 1) : 0.0, s = __builtin_sqrt(variance * share);
  return (divisor){s + eps, s == 0 ? 0 : share * ((s + eps) / s)};
}
AN_INLINE normaliser norm_layer_norm_std(const elements *e, double eps, const float *alpha) {
  (void)alpha;
  return centred(e, eps, divisor_layer_norm_std);
}
