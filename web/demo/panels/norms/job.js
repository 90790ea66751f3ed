// What the worker has to compute for the walk through the norms. No DOM.
import { parse, vectorOf } from './matrix.js';

/** The state's matrix and parameters as plain lists. */
export function inputOf({ normMatrix, normWeight, normBias, normEps, normGroups }) {
  const matrix = parse(normMatrix);
  return {
    ...matrix,
    weight: vectorOf(normWeight, matrix.d, 1),
    bias: vectorOf(normBias, matrix.d, 0),
    eps: normEps,
    groups: normGroups,
  };
}

/** As in panels/jobs.js. */
export const normsJob = (state, { catalog }) =>
  catalog && { input: inputOf(state), masked: state.normMask, seen: state.normSeen, variant: state.variant };
