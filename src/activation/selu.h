/* selu(x) = gamma x for x >= 0, gamma alpha (e^x - 1) below. gamma alpha is one factor, rounded once; where it is
 * beyond float's range it is two, the larger first. */
AN_INLINE vf act_selu(vf x, double p0, double p1) {
  const int fits = __builtin_fabs(p0 * p1) <= 0x1.fffffep127, alpha_first = __builtin_fabs(p0) > __builtin_fabs(p1);
  const vf first = vf_set((float)(fits ? p0 * p1 : alpha_first ? p0 : p1));
  const vf second = vf_set((float)(fits ? 1 : alpha_first ? p1 : p0));
  const vf below = vf_mul(vf_mul(vm_expm1_negative(x), first), second);
  return vf_select(vf_lt(x, vf_set(0.0f)), below, vf_mul(x, vm_factor(p1)));
}
