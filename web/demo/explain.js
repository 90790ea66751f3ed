// What the Forward panel says about the blocks that are shown, and where that comes from. No DOM.

/** Keys of texts.forward.placements and the papers. */
const SOURCES = {
  post: ['Xiong et al. 2020', 'https://arxiv.org/abs/2002.04745'],
  pre: ['Xiong et al. 2020', 'https://arxiv.org/abs/2002.04745'],
  deepnorm: ['Wang et al. 2022', 'https://arxiv.org/abs/2203.00555'],
  peri: ['Kim et al. 2025', 'https://arxiv.org/abs/2502.02732'],
  lns: ['Sun et al. 2025', 'https://arxiv.org/abs/2502.05795'],
  rezero: ['Bachlechner et al. 2020', 'https://arxiv.org/abs/2003.04887'],
  layer_scale: ['Touvron et al. 2021', 'https://arxiv.org/abs/2103.17239'],
};

// Norms over a token's features after which, with weights of 1, its RMS is 1.
const TO_ONE = ['layer_norm', 'layer_norm_std', 'rms_norm', 'rms_norm_outside'];

// A large ε, a width of 1 or an input of zeros keep a norm from it.
function isOne(key, result) {
  const rms = (key === 'post' ? result?.output : result?.stages?.branch)?.rms;
  return rms === undefined || Math.abs(rms - 1) < 0.01;
}

/**
 * What is to be said: one entry for the first configuration and one for the selected or the next that is wired in
 * another way.
 * @param {object[]} values every field of each configuration
 * @param {boolean[]} trained whether a configuration has trained weights
 * @param {object[]} [results] what has been measured of each: { output, stages }, if it is there yet
 * @returns {{ letters: number[], key: string, toOne: boolean, source?: string[] }[]}
 */
export function explanations(values, trained, selected, results = []) {
  const keyOf = ({ placement, residual, norm }) => {
    if (!residual) return 'no_residual';
    return norm === 'none' && !['none', 'rezero'].includes(placement) ? 'none' : placement;
  };
  const keys = values.map(keyOf);
  const other = keys[selected] === keys[0] ? keys.find((key) => key !== keys[0]) : keys[selected];
  return [keys[0], other].filter(Boolean).map((key) => {
    const letters = keys.flatMap((own, index) => (own === key ? [index] : []));
    const toOne = letters.every(
      (index) =>
        TO_ONE.includes(values[index].norm) &&
        values[index].weight_offset === 0 &&
        !trained[index] &&
        isOne(key, results[index]),
    );
    return { letters, key, toOne, source: SOURCES[key] };
  });
}
