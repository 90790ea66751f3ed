/* identity(x) = x. */
AN_INLINE vf act_identity(vf x, double p0, double p1) {
  (void)p0, (void)p1;
  return x;
}
/* identity'(x) = 1. */
AN_INLINE vf act_identity_grad(vf x, double p0, double p1) {
  (void)p0, (void)p1;
  return vm_unless_nan(x, vm_one());
}
