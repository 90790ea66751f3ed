// What each stop of the tour has measured: numbers out of the panels' results, or null while something is missing. No DOM.
//
// context: { depth: the Depth panel's result; results: of the common run, by configuration; training: of each run of the
// Training panel { steps, end, status, tests, parameters, ratio: () => as Curves.ratio() } }.

import { medianSpread } from '../../numbers.js';
import { collected } from '../../panels/depth/curves.js';
import { figuresOf } from '../../panels/depth/summary.js';
import { hasVanished } from '../../panels/training/curves.js';
import { shownOf } from './stop-state.js';

const GRADIENT = { show: 'gradient' };
const DOWN = { show: 'weights', matrix: 'down' };

/** Of each configuration figuresOf() for a gradient, with its entry; null until all seeds are there. */
function depthOf({ depth }, what) {
  if (!depth?.finished) return null;
  return collected(depth).map((entry) => ({ entry, ...figuresOf(entry, what) }));
}

/** Over the seeds, a figure of one configuration's probe by that of another's, seed by seed. */
function ratioOf(a, b, figure) {
  const pairs = a.entry.probes.map((probe, seed) => figure(probe) / figure(b.entry.probes[seed]));
  return medianSpread(pairs.filter(Number.isFinite));
}

const lastDown = ({ weights }) => weights.down.at(-1);
const predictedRatio = (a, b) => lastDown(a.entry.theory) / lastDown(b.entry.theory);

const ENOUGH = 9; // batches: the quartiles of fewer say little

/** Of the first configurations, seconds a forward pass: { median, half, count }; null until all were timed in turns. */
function timesOf({ results }, length) {
  const times = Array.from({ length }, (_, index) => {
    const entry = results[index];
    return entry?.times?.[entry.result?.variant];
  });
  return times.every((time) => time?.count >= ENOUGH && time.begun === times[0].begun) ? times : null;
}

/** How much longer one takes than another: their ratio, and `same` where it is within the spread of both. */
function compared(one, other) {
  const median = one.median / other.median;
  const half = (one.half + other.half) / other.median;
  return { median, half, outcome: Math.abs(median - 1) <= half ? 'same' : median < 1 ? 'less' : 'more' };
}

/** How good each model is on the held-out data after the last step. */
function trainedOf({ training }) {
  if (!training?.length) return null;
  const ended = ({ status, steps, end }) => status !== 'learning' || steps >= end;
  if (!training.every(ended)) return { progress: training.map(({ steps }) => steps), end: training[0].end };
  return {
    scores: training.map(({ status, tests }) => (status === 'learning' ? (tests.at(-1)?.[1] ?? null) : Number.NaN)),
    parameters: training.map(({ parameters }) => parameters),
    steps: training[0].end,
  };
}

/** By stop, from 1, and what one leads on to. `progress`: of a training that goes on; `times` may be still to come. */
export const MEASURES = {
  1(context) {
    const [without, path] = depthOf(context, GRADIENT) ?? [];
    if (!without) return null;
    return { without: without.ratio, with: path.ratio, growth: path.growth, predicted: without.predicted };
  },
  2(context) {
    const [none, pre, post] = depthOf(context, GRADIENT) ?? [];
    if (!none) return null;
    return { none: none.growth, pre: pre.growth, post: post.growth, predicted: pre.predictedGrowth };
  },
  3(context) {
    const [post, pre] = depthOf(context, GRADIENT) ?? [];
    if (!post) return null;
    return {
      post: post.ratio,
      pre: pre.ratio,
      last: ratioOf(post, pre, lastDown),
      predicted: predictedRatio(post, pre),
    };
  },
  warmup(context) {
    const trained = trainedOf(context);
    if (!trained || trained.progress) return trained;
    const [post, pre] = context.training.map(({ ratio }) => ratio());
    return post && pre && { ...trained, post, pre, vanished: [post, pre].map(hasVanished) };
  },
  4(context) {
    const trained = trainedOf(context);
    if (!trained || trained.progress) return trained;
    const times = timesOf(context, 4);
    const range = Math.max(...trained.scores) - Math.min(...trained.scores);
    return { ...trained, range, times, longer: times && compared(times[3], times[0]) };
  },
  5(context) {
    const trained = trainedOf(context);
    if (!trained || trained.progress) return trained;
    const { scores } = trained;
    const times = timesOf(context, 3);
    const [gelu, geglu, swiglu] = times ?? [];
    return {
      ...trained,
      ahead: scores.slice(1).filter((score) => score > scores[0]).length,
      times,
      geglu: times && compared(geglu, gelu),
      swiglu: times && compared(swiglu, gelu),
      silu: times && compared(swiglu, geglu),
    };
  },
  6(context) {
    const [layer, rms] = timesOf(context, 2) ?? [];
    if (!layer) return null;
    const { median, half, outcome } = compared(rms, layer);
    return { layer, rms, saved: 1 - median, spread: half, outcome };
  },
  7(context) {
    const [post, deep, pre] = depthOf(context, DOWN) ?? [];
    if (!post) return null;
    return {
      byPost: ratioOf(deep, post, lastDown),
      predicted: predictedRatio(deep, post),
      deep: deep.ratio,
      pre: pre.ratio,
      growth: deep.growth,
    };
  },
  8(context) {
    const figures = depthOf(context, GRADIENT);
    if (!figures) return null;
    const [layer, dyt, rezero] = figures;
    const share = ({ saturated }) => saturated.reduce((sum, value) => sum + value / saturated.length, 0);
    const saturated = medianSpread(dyt.entry.probes.map(share));
    const weights = rezero.entry.probes.every(({ weights: { up, down } }) => [...up, ...down].every((g) => g === 0));
    return {
      layer: layer.ratio,
      dyt: dyt.ratio,
      rezero: rezero.ratio,
      growth: [layer.growth, dyt.growth, rezero.growth],
      saturated,
      still: weights,
    };
  },
};

/** What a stop has measured, where it is shown as it is; null where not, or not yet. */
export const measuredOf = (state, context) => MEASURES[shownOf(state)]?.(context) ?? null;
