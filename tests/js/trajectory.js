// Three small trainings whose every number is hashed: tests/trajectory.json has the hashes of the variant simd. Imports
// nothing, so that a page can run it as well: pass an instance.

/** FNV-1a, 64 bits, over bytes; every NaN counts as the same. */
function hash(tensors) {
  let value = 0xcbf29ce484222325n;
  for (const { data } of Object.values(tensors)) {
    const canonical = data.map((number) => (Number.isNaN(number) ? NaN : number));
    for (const byte of new Uint8Array(canonical.buffer, canonical.byteOffset, canonical.byteLength)) {
      value = BigInt.asUintN(64, (value ^ BigInt(byte)) * 0x100000001b3n);
    }
  }
  return value.toString(16).padStart(16, '0');
}

const [batch, length, width, classes] = [4, 5, 7, 3];
const small = { d_model: 12, d_ff: 20, d_in: width, depth: 3 };
const trainings = {
  'attention, gated, rms_norm, adamw': {
    config: {
      ...small,
      mixing: 'attention',
      heads: 2,
      causal: true,
      gated: true,
      activation: 'silu',
      norm: 'rms_norm',
    },
    more: { d_out: classes, positions: length, dropout: 0.1, residual_dropout: 0.1, bias: false },
    optimizer: 'adamw',
    settings: { clip: 1, decay: 'matrices' },
  },
  'mean, deepnorm, adam': {
    config: { ...small, mixing: 'mean', placement: 'deepnorm', activation: 'gelu_erf', init: 'xavier_normal' },
    more: { d_out: classes },
    optimizer: 'adam',
    settings: {},
  },
  'batch_norm, post, sgd': {
    config: { ...small, placement: 'post', norm: 'batch_norm', activation: 'mish' },
    more: { d_out: width },
    optimizer: 'sgd',
    settings: { momentum: 0.9, nesterov: true },
  },
};

/**
 * The hash of parameters, buffers and moments after some steps, by the training's name.
 * @param {import('../../dist/lib/index.js').Addnorm} an
 */
export function trajectories(an, steps = 40) {
  const rate = an.schedule('warmup_cosine', { rate: 0.02, warmup: 10, total: steps });
  const entries = Object.entries(trainings).map(([name, { config, more, optimizer: kind, settings }]) => {
    const end = an.scope(() => {
      const model = an.stack({ ...config, ...more }, { seed: 11 });
      const optimizer = an.optimizer(kind, model, { rate, ...settings });
      for (let step = 0; step < steps; step++) {
        an.scope(() => {
          const x = an.random([batch, length, width], { seed: 12, stream: step });
          const y = model.forward(x, { train: true, seed: step });
          const labels = () =>
            Array.from(
              an.random([batch * length], { distribution: 'uniform', high: classes, seed: 13 }).data,
              Math.floor,
            );
          const [loss, target] = kind === 'sgd' ? ['mse', x] : ['softmax_cross_entropy', labels()];
          const { gradient } = an.loss(loss, y, target);
          model.zeroGrad();
          model.backward(gradient, { dx: false });
          optimizer.step();
        });
      }
      return { ...model.state(), ...optimizer.state() };
    });
    return [name, hash(end)];
  });
  return Object.fromEntries(entries);
}
