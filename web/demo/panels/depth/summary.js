// The figures of the Depth panel's table, and what is said of them. No DOM.
import { medianSpread } from '../../numbers.js';
import { valuesOf } from './curves.js';

const last = (list) => list.at(-1);

/** Over the finite ones of the seeds: { median, half, count }, or null. */
function over(probes, figure) {
  const values = probes.filter(Boolean).map(figure).filter(Number.isFinite);
  return values.length > 0 ? medianSpread(values) : null;
}

/** Of which gradient the table tells: the one that is shown, else that of the weights. */
export const gradientOf = ({ show, matrix }) => ({ show: show === 'gradient' ? 'gradient' : 'weights', matrix });

/**
 * A configuration's figures, null where there are none: the gradient of the first and the last layer (or stream), the
 * first by the last, seed by seed; the stream's growth, likewise; what the last branch is beside the stream. predicted
 * and predictedGrowth are numbers.
 */
export function figuresOf({ probes, theory, config }, what) {
  const gradient = (source) => valuesOf(gradientOf(what), source, config);
  const has = probes.some((probe) => probe && gradient(probe));
  const of = (figure) => (has ? over(probes, (probe) => figure(gradient(probe))) : null);
  const expected = theory?.supported ? gradient(theory) : undefined;
  return {
    first: of((list) => list[0]),
    last: of(last),
    ratio: of((list) => list[0] / last(list)),
    predicted: expected ? finite(expected[0] / last(expected)) : null,
    growth: over(probes, ({ rms }) => last(rms) / rms[0]),
    predictedGrowth: theory?.supported ? finite(last(theory.rms)) : null,
    branch: over(probes, ({ ratio }) => last(ratio)),
  };
}

const finite = (value) => (Number.isFinite(value) ? value : null);

// ---- What is said

const SOURCES = {
  post: ['Xiong et al. 2020', 'https://arxiv.org/abs/2002.04745'],
  pre: ['Xiong et al. 2020', 'https://arxiv.org/abs/2002.04745'],
  deepnorm: ['Wang et al. 2022', 'https://arxiv.org/abs/2203.00555'],
  peri: ['Kim et al. 2025', 'https://arxiv.org/abs/2502.02732'],
  output: ['Kim et al. 2025', 'https://arxiv.org/abs/2502.02732'],
  lns: ['Sun et al. 2025', 'https://arxiv.org/abs/2502.05795'],
  rezero: ['Bachlechner et al. 2020', 'https://arxiv.org/abs/2003.04887'],
  layer_scale: ['Touvron et al. 2021', 'https://arxiv.org/abs/2103.17239'],
  dyt: ['Zhu et al. 2025', 'https://arxiv.org/abs/2503.10622'],
  none: ['Yang and Schoenholz 2017', 'https://arxiv.org/abs/1712.08969'],
  no_residual: ['Schoenholz et al. 2017', 'https://arxiv.org/abs/1611.01232'],
  scores: ['Noci et al. 2022', 'https://arxiv.org/abs/2206.03126'],
};

/** How a configuration is wired, as the texts tell them apart. */
export function wiringOf({ placement, residual, norm }) {
  if (!residual) return 'no_residual';
  if (placement === 'none' || (norm === 'none' && placement !== 'rezero')) return 'none';
  if (norm === 'dyt' && placement === 'pre') return 'dyt';
  return placement;
}

/** What the gradient does from the last layer down to the first, by their ratio. */
export function courseOf({ first, last: end, ratio }) {
  if (first?.median === 0 && end?.median === 0) return 'zero';
  if (!ratio) return 'unknown';
  return ratio.median > 1.5 ? 'grows' : ratio.median < 0.75 ? 'fades' : 'flat';
}

/**
 * Two things to say: of the first configuration, and of the selected one or the next that is wired in another way;
 * with others that are wired and mixed alike and behave so.
 * @param {object[]} entries
 * @param {object[]} figures of each
 * @param {number} selected
 * @param {{ show: string, matrix: string }} gradient of which they tell: that of queries and keys has a reason of its own
 * @returns {{ indices: number[], wiring: string, topic: string, mixing: string, course: string, source: string[] }[]}
 */
export function lessons(entries, figures, selected, { show, matrix }) {
  const ofScores = show === 'weights' && ['query', 'key'].includes(matrix);
  const all = entries
    .map(({ config, index, probes }) => ({
      index,
      known: probes.some(Boolean),
      wiring: wiringOf(config),
      topic: ofScores ? 'scores' : wiringOf(config),
      mixing: config.mixing,
      course: courseOf(figures[index]),
    }))
    .filter(({ known }) => known);
  if (all.length === 0) return [];
  const alike = (a, b) => a.wiring === b.wiring && a.mixing === b.mixing && a.course === b.course;
  const chosen = all.find(({ index }) => index === selected) ?? all[0];
  const other = alike(chosen, all[0]) ? all.find((entry) => !alike(entry, all[0])) : chosen;
  return [all[0], other].filter(Boolean).map(({ wiring, topic, mixing, course }) => {
    const indices = all.filter((entry) => alike(entry, { wiring, mixing, course })).map(({ index }) => index);
    return { indices, wiring, topic, mixing, course, source: SOURCES[topic] };
  });
}

// ---- What theory says beside its curves

const NOTES = {
  wide: /^Expected over seeds/,
  scatter: /scatter widely/,
  gaussian: /taken as Gaussian/,
  length: /^Sequences of/,
  attention: /^With attention/,
  causal: /^With causal mixing/,
  overTokens: /statistics over tokens/,
};

/** A key of texts.depth.notes for a note of an.theory, or undefined for one that is not known. */
export const noteKey = (note) => Object.keys(NOTES).find((key) => NOTES[key].test(note));
