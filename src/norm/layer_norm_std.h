/* layer_norm_std: (x - mean) / (s + eps), s the unbiased standard deviation (variance divided by n - 1): The Annotated
 * Transformer, class LayerNorm. One element has s = 0 here, and so gives bias; there it gives NaN. */
AN_INLINE double divisor_layer_norm_std(double variance, size_t n, double eps) {
  return __builtin_sqrt(n > 1 ? variance * ((double)n / (double)(n - 1)) : 0.0) + eps;
}
AN_INLINE void norm_layer_norm_std(const norm_rows *a) { norm_centred(a, divisor_layer_norm_std); }
