/* rms_norm_outside: x / (sqrt(mean(x^2)) + eps): Zhang and Sennrich's own code. At 0 the root's derivative is taken to
 * be 0. */
AN_INLINE divisor divisor_rms_norm_outside(double mean_square, size_t n, double eps) {
  (void)n;
  const double rms = __builtin_sqrt(mean_square);
  return (divisor){rms + eps, rms == 0 ? 0 : (rms + eps) / rms};
}
AN_INLINE normaliser norm_rms_norm_outside(const elements *e, double eps, const float *alpha) {
  (void)alpha;
  return uncentred(e, eps, divisor_rms_norm_outside);
}
