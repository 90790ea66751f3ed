/* gelu_tanh(x) = x/2 * (1 + tanh(u)) = x * sigmoid(2u), u = sqrt(2/pi) * (x + 0.044715 x^3). */
AN_INLINE vf act_gelu_tanh(vf x, double p0, double p1) {
  (void)p0, (void)p1;
  x = vf_max(x, vf_set(-11.0f));
  const vf c = vf_min(x, vf_set(11.0f));
  const vf w = vf_madd(vf_mul(c, c), vf_set(-0.07135481627f), vf_set(-1.5957691216f));
  const vm_sigmoid_parts s = vm_sigmoid_split(vm_exp_split(vf_mul(c, w), vf_set(0.0f)));
  return vf_mul(vf_div(x, s.denominator), s.inverse);
}
