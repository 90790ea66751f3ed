// Drawing a stack's initial weights takes longer than all that is done with them. Of one seed, stacks with the same list of
// parameters have the same weights, whatever their activation or the place of their norm: these are drawn once. No DOM.

// Fields that neither the parameters nor their initial values depend on.
const FREE = [
  'placement',
  'activation',
  'activation_p0',
  'activation_p1',
  'eps',
  'residual',
  'causal',
  'alpha',
  'final_norm',
];
// One norm a sublayer, and no factor.
const ALIKE = ['post', 'pre', 'lns', 'output'];

/** A text that is the same for stacks whose weights are. */
export function familyOf(config) {
  const { placement } = config;
  const bound = Object.entries(config).filter(([name]) => !FREE.includes(name));
  // Factors are parameters, and DeepNorm's weights are smaller.
  return JSON.stringify(ALIKE.includes(placement) ? bound : [...bound, placement, config.alpha]);
}

/** The stack that an.stack(config, { seed }) makes, from the state of another one of its family and seed. */
export function stackLike(an, config, seed, state) {
  const small = an.stack({ ...config, depth: 1 }, { seed });
  try {
    const weights = {};
    for (const [name, value] of Object.entries(small.state())) {
      const own = /^layers\.0\.(.*)/.exec(name)?.[1];
      if (!own)
        weights[name] = value; // a final norm, which the other one may not have
      else for (let l = 0; l < config.depth; l++) weights[`layers.${l}.${own}`] = state[`layers.${l}.${own}`];
    }
    return an.stack(config, { weights });
  } finally {
    small.dispose();
  }
}
