/* mish(x) = x tanh(log(1 + e^x)) = x n / (n + 2), n = e (e + 2), e = e^x. mish(-inf) = -0.
 * For x >= 0 that is x (1 - c), c = 2 / (n + 2); for x < 0 it is x e (1 - c), c = e (1 + e) / (n + 2). With e = (1 + t)
 * 2^k both are (x + x g) 2^k, t and k being 0 in the first case: what is small is computed first and added last, which
 * keeps the quotient's error from counting in full. Below -110 the true value is less than 2^-150; above 40 it is x. */
AN_INLINE vf act_mish(vf x, double p0, double p1) {
  (void)p0, (void)p1;
  const vf two = vf_set(2.0f);
  x = vf_max(x, vf_set(-110.0f));
  const vf v = vf_min(x, vf_set(40.0f));
  const vi negative = vf_lt(x, vf_set(0.0f));
  const vm_reduced parts = vm_reduce(v, vm_down());
  const vf t = vm_expm1_reduced(parts.r), power = vm_pow2_down(parts), e = vm_exp_down(t, power);
  const vf c = vf_div(vf_select(negative, vf_madd(e, e, e), two), vf_madd(e, vf_add(e, two), two));
  const vf t_below = vi_float_bits(vi_and(vf_bits(t), negative));
  const vf g = vf_sub(t_below, vf_madd(c, t_below, c));
  const vf y = vf_madd(v, g, x);
  return vm_copysign(vf_select(negative, vf_mul(vf_mul(y, power), vf_set(0x1p-63f)), y), x); /* -0 + 0 lost its sign */
}
/* mish'(x) = t + x (1 - t^2) sigmoid(x), t = tanh(log(1 + e^x)) = n / (n + 2): (n + 4 x e (e + 1) / (n + 2)) / (n + 2).
 * From 20 on it is 1, up to -104 it is 0. */
AN_INLINE vf act_mish_grad(vf x, double p0, double p1) {
  (void)p0, (void)p1;
  x = vf_min(vf_max(x, vf_set(-104.0f)), vf_set(20.0f));
  const vf e = vm_exp_low(x), n = vf_mul(e, vf_add(e, vf_set(2.0f)));
  const vf r = vf_div(vm_one(), vf_add(n, vf_set(2.0f)));
  return vf_mul(vf_madd(vf_mul(vf_mul(x, vf_set(4.0f)), vf_madd(e, e, e)), r, n), r);
}
