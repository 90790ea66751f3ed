/* none: x. */
AN_INLINE normaliser norm_none(const elements *e, double eps, const float *alpha) {
  (void)e, (void)eps, (void)alpha;
  return (normaliser){.factor = 1, .kind = GIVEN};
}
