/* rms_norm: x / sqrt(mean(x^2) + eps): Zhang and Sennrich 2019, equation 4, with eps where Llama has it. */
AN_INLINE divisor divisor_rms_norm(double mean_square, size_t n, double eps) {
  (void)n;
  return (divisor){__builtin_sqrt(mean_square + eps), 1};
}
AN_INLINE normaliser norm_rms_norm(const elements *e, double eps, const float *alpha) {
  (void)alpha;
  return uncentred(e, eps, divisor_rms_norm);
}
