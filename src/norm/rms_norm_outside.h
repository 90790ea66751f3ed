/* rms_norm_outside: x / (sqrt(mean(x^2)) + eps): Zhang and Sennrich's own code. */
AN_INLINE double divisor_rms_norm_outside(double mean_square, size_t n, double eps) {
  (void)n;
  return __builtin_sqrt(mean_square) + eps;
}
AN_INLINE void norm_rms_norm_outside(const norm_rows *a) { norm_uncentred(a, divisor_rms_norm_outside); }
