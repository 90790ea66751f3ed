// What pytorch.js is put together from: Python's numbers and classes, norms, activations. No DOM.

export const py = (value) => (value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential() : String(value));
export const indented = (lines, by = 1) => lines.map((line) => (line === '' ? '' : `${'    '.repeat(by)}${line}`));
export const call = (name, args) => `${name}(${args.filter(Boolean).join(', ')})`;

/** A module of that name. more: methods before forward. */
export function klass(name, about, init, forward, more = []) {
  return [
    `class ${name}(nn.Module):`,
    ...indented([
      `"""${about}"""`,
      '',
      'def __init__(self):',
      ...indented(['super().__init__()', ...init]),
      '',
      ...more,
      'def forward(self, x):',
      ...indented(forward),
    ]),
  ];
}

// ---- Norms

// How each is computed where PyTorch has no module that does all of it. d: the features; x [batch, length, d].
const NORMS = {
  layer_norm: ({ eps, d_model }) => [`x = F.layer_norm(x, (${d_model},), eps=${py(eps)})`],
  layer_norm_std: ({ eps, d_model }) => [
    // One feature is its own mean, and std() of it NaN.
    d_model === 1
      ? 'x = x - x.mean(-1, keepdim=True)'
      : `x = (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + ${py(eps)})`,
  ],
  rms_norm: ({ eps }) => [`x = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + ${py(eps)})`],
  rms_norm_outside: ({ eps }) => [`x = x / (x.square().mean(-1, keepdim=True).sqrt() + ${py(eps)})`],
  batch_norm: () => ['x = self.norm(x.transpose(1, 2)).transpose(1, 2)'],
  group_norm: ({ eps, groups }) => [`x = F.group_norm(x.transpose(1, 2), ${groups}, eps=${py(eps)}).transpose(1, 2)`],
  instance_norm: ({ eps }) => [`x = F.instance_norm(x.transpose(1, 2), eps=${py(eps)}).transpose(1, 2)`],
  dyt: () => ['x = torch.tanh(self.alpha * x)'],
};
const ABOUT = {
  layer_norm: 'LayerNorm.',
  layer_norm_std: 'LayerNorm by the unbiased standard deviation, eps outside the root.',
  rms_norm: 'RMSNorm.',
  rms_norm_outside: 'RMSNorm with eps outside the root.',
  batch_norm: 'BatchNorm of each feature over batch and length.',
  group_norm: 'GroupNorm of the features over the length.',
  instance_norm: 'InstanceNorm of each feature over the length.',
  dyt: 'Dynamic tanh.',
};

/** { make: what makes one, code: a class for it where PyTorch has none } */
export function normOf(values) {
  const { norm, d_model, eps, affine, weight_offset: offset } = values;
  const size = [String(d_model), `eps=${py(eps)}`];
  if (offset === 0 && norm === 'layer_norm') {
    const learned = { none: 'elementwise_affine=False', weight: 'bias=False' }[affine];
    return { make: call('nn.LayerNorm', [...size, learned]) };
  }
  if (offset === 0 && norm === 'rms_norm' && affine !== 'weight_bias') {
    return { make: call('nn.RMSNorm', [...size, affine === 'none' && 'elementwise_affine=False']) };
  }
  const init = [];
  const { momentum, norm_alpha } = values;
  if (norm === 'batch_norm') {
    init.push(`self.norm = ${call('nn.BatchNorm1d', [...size, `momentum=${py(momentum)}`, 'affine=False'])}`);
  }
  if (norm === 'dyt') init.push(`self.alpha = nn.Parameter(torch.tensor(${pyFloat(norm_alpha)}))`);
  let scaled = 'x';
  if (affine !== 'none') {
    init.push(`self.weight = nn.Parameter(torch.full((${d_model},), ${pyFloat(1 - offset)}))`);
    scaled = offset === 0 ? 'x * self.weight' : `x * (self.weight + ${py(offset)})`;
  }
  if (affine === 'weight_bias') {
    init.push(`self.bias = nn.Parameter(torch.zeros(${d_model}))`);
    scaled += ' + self.bias';
  }
  const about =
    offset === 0 || affine === 'none' ? ABOUT[norm] : `${ABOUT[norm]} It stores its weight less ${py(offset)}.`;
  return { make: 'Norm()', code: klass('Norm', about, init, [...NORMS[norm](values), `return ${scaled}`]) };
}

// A Python literal that is a float: 1 would make a tensor of integers.
export const pyFloat = (value) => (Number.isInteger(value) ? `${value}.0` : py(value));

// ---- Activations

/** The activation as an expression; PyTorch's own function where it is the same. */
const EXPRESSIONS = {
  relu: (x) => `F.relu(${x})`,
  leaky_relu: (x, slope) => `F.leaky_relu(${x}, ${py(slope)})`,
  relu_squared: (x) => `F.relu(${x}).square()`,
  elu: (x, alpha) => `F.elu(${x}, ${py(alpha)})`,
  selu: (x, alpha, gamma) => `${py(gamma)} * F.elu(${x}, ${py(alpha)})`,
  celu: (x, alpha) => `F.celu(${x}, ${py(alpha)})`,
  gelu_erf: (x) => `F.gelu(${x})`,
  gelu_tanh: (x) => `F.gelu(${x}, approximate="tanh")`,
  gelu_quick: (x) => `${x} * torch.sigmoid(1.702 * ${x})`,
  silu: (x) => `F.silu(${x})`,
  swish: (x, beta) => `${x} * torch.sigmoid(${py(beta)} * ${x})`,
  mish: (x) => `F.mish(${x})`,
  softplus: (x, beta) => `F.softplus(${x}, beta=${py(beta)})`,
  softsign: (x) => `F.softsign(${x})`,
  // F.hardsigmoid is alpha = 1/6, beta = 1/2 alone.
  hard_sigmoid: (x, alpha, beta) => `(${py(alpha)} * ${x} + ${py(beta)}).clamp(0, 1)`,
  hard_swish: (x) => `F.hardswish(${x})`,
  sigmoid: (x) => `torch.sigmoid(${x})`,
  log_sigmoid: (x) => `F.logsigmoid(${x})`,
  tanh: (x) => `torch.tanh(${x})`,
  identity: (x) => x,
  softcap: (x, cap) => `${py(cap)} * torch.tanh(${x} / ${py(cap)})`,
};

export function activated(values, { name, params }, x) {
  const given = [values.activation_p0, values.activation_p1];
  const isDefault = params.every((param, i) => given[i] === param.default);
  if (name === 'selu' && isDefault) return `F.selu(${x})`;
  return EXPRESSIONS[name](x, ...params.map((_, i) => given[i]));
}
