/* softsign(x) = x / (1 + |x|). softsign(+-inf) = +-1. */
AN_INLINE vf act_softsign(vf x, double p0, double p1) {
  (void)p0, (void)p1;
  x = vf_min(vf_max(x, vf_set(-0x1.fffffep127f)), vf_set(0x1.fffffep127f));
  return vf_div(x, vf_add(vf_abs(x), vm_one()));
}
/* softsign'(x) = 1 / (1 + |x|)^2. */
AN_INLINE vf act_softsign_grad(vf x, double p0, double p1) {
  (void)p0, (void)p1;
  const vf r = vf_div(vm_one(), vf_add(vf_abs(x), vm_one()));
  return vf_mul(r, r);
}
