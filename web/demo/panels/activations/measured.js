// docs/accuracy.md: the largest error over every float32, in ULP, at default parameters: the bound, with plain and with
// fused multiply-add. A test compares this with the file.
export const FILE = 'docs/accuracy.md';
export const MEASURED = {
  relu: [0, 0, 0],
  leaky_relu: [4, 0.84, 0.84],
  relu_squared: [4, 0.5, 0.5],
  elu: [4, 0.97, 0.98],
  selu: [4, 2, 1.93],
  celu: [4, 1, 0.98],
  gelu_erf: [4, 3.87, 3.56],
  gelu_tanh: [4, 2.79, 2.8],
  gelu_quick: [4, 2.69, 2.76],
  silu: [4, 2.44, 2.44],
  swish: [4, 2.44, 2.44],
  mish: [4, 2.79, 2.75],
  softplus: [4, 2.41, 2.02],
  softsign: [4, 1.5, 1.5],
  hard_sigmoid: [4, 0.5, 0.5],
  hard_swish: [4, 2.48, 2.48],
  sigmoid: [2, 1.75, 1.68],
  log_sigmoid: [4, 2.41, 2.02],
  tanh: [2, 1.35, 1.34],
  identity: [0, 0, 0],
  softcap: [4, 3.65, 3.65],
};
