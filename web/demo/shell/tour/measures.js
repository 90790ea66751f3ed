// What each stop of the tour has measured: numbers out of the panels' results, or null while something is missing. No DOM.
//
// context: { depth: the Depth panel's result; results: of the common run, by configuration; training: of each run of the
// Training panel { steps, end, status, tests, parameters } }.

import { medianSpread } from '../../numbers.js';
import { collected } from '../../panels/depth/curves.js';
import { figuresOf } from '../../panels/depth/summary.js';

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

/** Seconds a forward pass: { median, half, count }. */
const timeOf = ({ results }, index) => {
  const entry = results[index];
  return entry?.times?.[entry.result?.variant] ?? null;
};

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

/** By stop, from 1. A result with `progress` is of a training that goes on. */
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
  4: trainedOf,
  5(context) {
    const trained = trainedOf(context);
    if (!trained || trained.progress) return trained;
    const [gelu, geglu, swiglu] = [0, 1, 2].map((index) => timeOf(context, index));
    return { ...trained, times: gelu && geglu && swiglu && [gelu, geglu, swiglu] };
  },
  6(context) {
    const [layer, rms] = [0, 1].map((index) => timeOf(context, index));
    if (!layer || !rms || Math.min(layer.count, rms.count) < 9) return null;
    const saved = 1 - rms.median / layer.median;
    const spread = (layer.half + rms.half) / layer.median;
    const outcome = Math.abs(saved) <= spread ? 'same' : saved > 0 ? 'saves' : 'costs';
    return { layer, rms, saved, spread, outcome };
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
