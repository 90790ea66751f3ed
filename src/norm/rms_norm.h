/* rms_norm: x / sqrt(mean(x^2) + eps): Zhang and Sennrich 2019, equation 4, with eps where Llama has it. */
AN_INLINE double divisor_rms_norm(double mean_square, size_t n, double eps) {
  (void)n;
  return __builtin_sqrt(mean_square + eps);
}
AN_INLINE void norm_rms_norm(const norm_rows *a) { norm_uncentred(a, divisor_rms_norm); }
