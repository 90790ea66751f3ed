/* mish(x) = x * tanh(log(1 + e^x)) = x * n / (n + 2), n = e^x (e^x + 2). */
AN_INLINE vf act_mish(vf x, double p0, double p1) {
  (void)p0, (void)p1;
  x = vf_max(x, vf_set(-110.0f));
  const vm_exp_parts parts = vm_exp_split(vf_min(x, vf_set(30.0f)), vf_set(0.0f));
  const vf e1 = vf_add(parts.t, vf_set(1.0f));
  const vf e = vm_scale(e1, parts.n);
  const vf w = vf_add(e, vf_set(2.0f)), n = vf_mul(e, w);
  return vf_select(vf_lt(x, vf_set(0.0f)), vm_scale(vf_div(vf_mul(vf_mul(x, e1), w), vf_add(n, vf_set(2.0f))), parts.n),
                   vf_mul(x, vf_div(n, vf_add(n, vf_set(2.0f)))));
}
