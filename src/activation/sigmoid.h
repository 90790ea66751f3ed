/* sigmoid(x) = 1 / (1 + e^-x). */
AN_INLINE vf act_sigmoid(vf x, double p0, double p1) {
  (void)p0, (void)p1;
  return vm_sigmoid(x);
}
/* sigmoid'(x) = sigmoid(x) (1 - sigmoid(x)). */
AN_INLINE vf act_sigmoid_grad(vf x, double p0, double p1) {
  (void)p0, (void)p1;
  return vm_sigmoid_slope(x);
}
