// What the worker has to compute for the Wiring panel: gradients, where they are shown. No DOM.

/** As in panels/jobs.js. */
export function wiringJob(state, { configs, file }) {
  if (state.wiringShow !== 'gradient') return null;
  const { rows, seed, inputMean, inputStd, variant } = state;
  return {
    configs: configs.map(({ fields, trained }) => ({ fields, trained })),
    input: { rows, seed, inputMean, inputStd, file },
    variant,
  };
}
