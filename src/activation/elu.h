/* elu(x) = x for x >= 0, alpha (e^x - 1) below. elu(-inf) = -alpha. */
AN_INLINE vf act_elu(vf x, double p0, double p1) {
  (void)p1;
  return vf_select(vf_lt(x, vf_set(0.0f)), vf_mul(vm_expm1_negative(x), vf_set((float)p0)), x);
}
/* elu'(x) = 1 for x > 0, alpha e^x up to 0. */
AN_INLINE vf act_elu_grad(vf x, double p0, double p1) {
  (void)p1;
  return vf_select(vf_gt(x, vf_set(0.0f)), vm_one(), vf_mul(vm_exp_low(x), vf_set((float)p0)));
}
