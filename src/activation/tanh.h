/* tanh(x). */
AN_INLINE vf act_tanh(vf x, double p0, double p1) {
  (void)p0, (void)p1;
  return vm_tanh(x);
}
/* tanh'(x) = 1 - tanh^2 x. */
AN_INLINE vf act_tanh_grad(vf x, double p0, double p1) {
  (void)p0, (void)p1;
  return vm_sech2(x);
}
