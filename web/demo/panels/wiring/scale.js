// How wide and dark a line is for its gradient, the same for all drawings. No DOM.

const WIDTH = [1.5, 9];
const OPACITY = [0.4, 1];
const DECADES = 3; // at most, below the largest
const LEAST = 1; // at least

/** @param {object[]} entries what the run has given, null where there is none yet */
export function strokeScale(entries) {
  const norms = entries
    .flatMap((entry) => Object.values(entry?.edges ?? {}))
    .filter((norm) => norm > 0 && norm < Infinity);
  if (norms.length === 0) return null;
  const high = Math.log10(Math.max(...norms));
  const low = Math.max(Math.log10(Math.min(...norms)), high - DECADES);
  const middle = (high + low) / 2;
  const half = Math.max(high - low, LEAST) / 2;
  const between = ([from, to], t) => from + t * (to - from);
  /** @param {number} norm @returns {{ width: number, opacity: number, dash?: string }} dotted where nothing flows */
  const scale = (norm) => {
    if (!(norm > 0)) return { width: WIDTH[0], opacity: 0.7, dash: '1 4' };
    const t = Math.min(1, Math.max(0, (Math.log10(norm) - middle + half) / (2 * half)));
    return { width: between(WIDTH, t), opacity: between(OPACITY, t) };
  };
  const steps = [0, 1 / 3, 2 / 3, 1].map((t) => 10 ** (middle + (2 * t - 1) * half));
  return { scale, steps };
}
