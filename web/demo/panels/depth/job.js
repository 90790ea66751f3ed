// What the worker has to compute for the Depth panel. No DOM.

/** As in panels/jobs.js. */
export function depthJob(state, { configs }) {
  return {
    depth: state.depthBlocks,
    seeds: state.depthSeeds,
    seed: state.seed,
    residual: state.depthResidual,
    mixing: state.depthMixing,
    width: state.depthWidth,
    sequences: state.depthSequences,
    length: state.depthLength,
    variant: state.variant,
    configs: configs.map(({ fields }) => fields),
  };
}

/** The key under which the run sends the probe of a configuration's n-th seed, from 0. */
export const probeKey = (index, n) => `${index}/${n}`;
export const seedOf = ({ seed }, n) => (seed + n) % 2 ** 32;
