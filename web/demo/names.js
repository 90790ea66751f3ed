// What norms and activations are usually called. No DOM.

const NORM_NAMES = {
  layer_norm: 'LayerNorm',
  layer_norm_std: 'LayerNorm (std)',
  rms_norm: 'RMSNorm',
  rms_norm_outside: 'RMSNorm (outside)',
  batch_norm: 'BatchNorm',
  group_norm: 'GroupNorm',
  instance_norm: 'InstanceNorm',
  dyt: 'DyT',
};
const ACTIVATION_NAMES = {
  relu: 'ReLU',
  gelu_erf: 'GELU',
  gelu_tanh: 'GELU tanh',
  gelu_quick: 'QuickGELU',
  silu: 'SiLU',
  relu_squared: 'ReLU²',
};
const GATED_NAMES = {
  silu: 'SwiGLU',
  gelu_erf: 'GEGLU',
  gelu_tanh: 'GEGLU tanh',
  relu: 'ReGLU',
  sigmoid: 'GLU',
  identity: 'Bilinear',
};

/** The field's usual name where it has one, the module's otherwise. Always a text: a damaged link may say `on`. */
export const normName = (name) => NORM_NAMES[name] ?? String(name);
export const activationName = (name, gated) =>
  gated ? (GATED_NAMES[name] ?? `${ACTIVATION_NAMES[name] ?? name} GLU`) : (ACTIVATION_NAMES[name] ?? String(name));
