/* tanh(x). */
AN_INLINE vf act_tanh(vf x, double p0, double p1) {
  (void)p0, (void)p1;
  return vm_tanh(x);
}
