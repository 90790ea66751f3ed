/* log_sigmoid(x) = -log(1 + e^-x) = min(x, 0) - log(1 + e^-|x|). log_sigmoid(+inf) = -0: the limit from below. */
AN_INLINE vf act_log_sigmoid(vf x, double p0, double p1) {
  (void)p0, (void)p1;
  return vf_sub(vf_min(x, vm_minus_zero()), vm_log1p_exp(vm_minus_abs(x)));
}
/* log_sigmoid'(x) = sigmoid(-x). */
AN_INLINE vf act_log_sigmoid_grad(vf x, double p0, double p1) {
  (void)p0, (void)p1;
  return vm_sigmoid(vf_neg(x));
}
