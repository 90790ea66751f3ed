// What the Speed panel measures beside whole forward passes: their parts, and how they grow. No DOM.

/** As in panels/jobs.js. Weights and values are of no account for the time. */
export const speedJob = ({ rows, variant }, { catalog, configs }) =>
  catalog && { configs: configs.map(({ fields }) => fields), rows, variant };
