// What the page keeps of the runs: per configuration a bounded number of points over the steps, the same steps for all.
// When a run becomes longer, two neighbours become one. No DOM.
import { CHANNELS } from './channels.js';

/** Points of a curve at most; a power of two. */
export const CAPACITY = 512;
/** A smooth curve is a mean whose weights fall by this from step to step: over about ten steps. */
export const SMOOTHING = 0.9;
/** The first of CHANNELS, which have one. */
const SMOOTH = 2;
const EXPLODED = 100;
const RECENT = 10;
const BEYOND = 1000;
const VANISHED = 0.05;

/** Whether the first layer gets far less of the gradient than in the first step: of ratio(). */
export const hasVanished = ({ first, now }) => now < VANISHED * first;

export class Curves {
  /** Steps that a point stands for. */
  stride = 1;
  #runs = new Map();

  /** Forgets all runs but these. */
  keepOnly(ids) {
    for (const id of this.#runs.keys()) if (!ids.includes(id)) this.#runs.delete(id);
    if (this.#runs.size === 0) this.stride = 1;
  }

  /**
   * Adds steps of a run.
   * @param {number} id @param {number} depth of its stack
   * @param {Float64Array} points rows of the step's number, from 1, then CHANNELS, then a value for each layer
   */
  push(id, depth, points) {
    const width = 1 + CHANNELS.length + depth;
    if (!this.#runs.has(id)) this.#runs.set(id, newRun(width - 1));
    const run = this.#runs.get(id);
    for (let at = 0; at < points.length; at += width) {
      const step = points[at];
      while (step > CAPACITY * this.stride) this.#halve();
      add(run, Math.floor((step - 1) / this.stride), points, at + 1);
      run.steps = step;
    }
  }

  /** Forgets what a run has done after a step. */
  truncate(id, step) {
    const run = this.#runs.get(id);
    if (!run) return;
    run.length = Math.min(run.length, Math.floor(step / this.stride));
    run.steps = step;
    run.counts.fill(0, run.length);
    run.sums.fill(0, run.length * run.width);
    const end = run.length - 1;
    run.last = end < 0 ? null : rowOf(Array.from({ length: run.width }, (_, k) => meanAt(run, end, k)));
    run.weight = end < 0 ? 0 : 1;
    run.means = Array.from({ length: SMOOTH }, (_, k) => (end < 0 ? 0 : run.smooth[end * SMOOTH + k]));
    if (end < 0) run.first = null;
    run.top = Math.max(0, ...Array.from({ length: run.length }, (_, i) => meanAt(run, i, 0)));
  }

  #halve() {
    this.stride *= 2;
    for (const run of this.#runs.values()) halve(run);
  }

  /** The last steps of the points, for the longest run. */
  steps() {
    const longest = [...this.#runs.values()].reduce((best, run) => (run.steps > best.steps ? run : best), { steps: 0 });
    const length = longest.length ?? 0;
    return Array.from({ length }, (_, i) => Math.min((i + 1) * this.stride, longest.steps));
  }

  /** Of a run the mean of a channel over the steps of each point; null where it has none. */
  values(id, channel) {
    const run = this.#runs.get(id);
    if (!run) return [];
    const { length, sums, counts, width } = run;
    const offset = CHANNELS.indexOf(channel);
    const values = new Array(length);
    for (let i = 0; i < length; i++) values[i] = counts[i] > 0 ? sums[i * width + offset] / counts[i] : null;
    return values;
  }

  /** A channel smoothed, at the last step of each point: the loss or the gradient. */
  smooth(id, channel) {
    const run = this.#runs.get(id);
    const offset = CHANNELS.indexOf(channel);
    return run ? Array.from({ length: run.length }, (_, i) => run.smooth[i * SMOOTH + offset]) : [];
  }

  /** The gradient norms of a run's layers: how many points, and that of a layer, from 0, at one of them. */
  layers(id) {
    const { length = 0, sums, counts, width } = this.#runs.get(id) ?? {};
    const at = (layer, point) => sums[point * width + CHANNELS.length + layer] / counts[point];
    return { length, at };
  }

  /**
   * The least positive and the largest gradient norm that any layer of any run has had in a step; null without one. What
   * has left all measure does not count: what is above a thousand times the first steps' largest.
   */
  get extent() {
    const runs = [...this.#runs.values()].filter(({ high }) => high > 0);
    if (runs.length === 0) return null;
    const begun = Math.max(...runs.flatMap(({ first }) => first?.layers ?? []), 0);
    const high = Math.max(...runs.map((run) => run.high));
    return [Math.min(...runs.map(({ low }) => low)), begun > 0 ? Math.min(high, BEYOND * begun) : high];
  }

  /** Whether a loss has become so much larger than it began that a linear axis would show nothing else. */
  get exploded() {
    return [...this.#runs.values()].some(({ first, top }) => top > EXPLODED * first?.loss);
  }

  /**
   * The gradient norm of the first layer by that of the last: in the first step, and now, the geometric mean over the last
   * points; null where there is none.
   */
  ratio(id) {
    const { length, at } = this.layers(id);
    const first = this.first(id);
    if (!first) return null;
    const last = first.layers.length - 1;
    const from = Math.max(0, length - RECENT);
    const logs = Array.from({ length: length - from }, (_, i) => Math.log(at(0, from + i) / at(last, from + i)));
    const now = Math.exp(logs.reduce((sum, value) => sum + value, 0) / logs.length);
    return { first: first.layers[0] / first.layers[last], now };
  }

  /** How many points a run has. */
  length(id) {
    return this.#runs.get(id)?.length ?? 0;
  }

  /** The last step of a run, as it was told: { loss, gradient, rate, metric, layers }; null before the first. */
  last(id) {
    return this.#runs.get(id)?.last ?? null;
  }

  /** The first step, likewise. */
  first(id) {
    return this.#runs.get(id)?.first ?? null;
  }
}

const newRun = (width) => ({
  width,
  length: 0,
  steps: 0,
  counts: new Uint32Array(CAPACITY),
  sums: new Float64Array(CAPACITY * width),
  smooth: new Float64Array(CAPACITY * SMOOTH),
  means: new Array(SMOOTH).fill(0), // of what is smoothed, times the sum of their weights
  weight: 0,
  low: Infinity, // of the layers' gradient norms
  high: 0,
  top: 0, // of the losses
  first: null,
  last: null,
});

function add(run, bucket, points, at) {
  const { width, sums, counts, means } = run;
  for (let k = 0; k < width; k++) sums[bucket * width + k] += points[at + k];
  counts[bucket]++;
  run.weight = SMOOTHING * run.weight + (1 - SMOOTHING);
  for (let k = 0; k < SMOOTH; k++) {
    means[k] = SMOOTHING * means[k] + (1 - SMOOTHING) * points[at + k];
    run.smooth[bucket * SMOOTH + k] = means[k] / run.weight;
  }
  for (let k = CHANNELS.length; k < width; k++) {
    const norm = points[at + k];
    if (norm > 0 && norm < run.low) run.low = norm;
    if (norm > run.high) run.high = norm;
  }
  run.top = Math.max(run.top, points[at]);
  run.length = bucket + 1;
  run.last = rowOf(points.subarray(at, at + width));
  run.first ??= run.last;
}

const rowOf = (values) => ({
  ...Object.fromEntries(CHANNELS.map((name, k) => [name, values[k]])),
  layers: Array.from(values.slice(CHANNELS.length)),
});

function halve(run) {
  const { width, sums, counts, smooth } = run;
  const length = Math.ceil(run.length / 2);
  for (let i = 0; i < length; i++) {
    const [a, b] = [2 * i, 2 * i + 1];
    const both = b < run.length;
    for (let k = 0; k < width; k++) sums[i * width + k] = sums[a * width + k] + (both ? sums[b * width + k] : 0);
    counts[i] = counts[a] + (both ? counts[b] : 0);
    for (let k = 0; k < SMOOTH; k++) smooth[i * SMOOTH + k] = smooth[(both ? b : a) * SMOOTH + k];
  }
  counts.fill(0, length);
  sums.fill(0, length * width);
  run.length = length;
}

const meanAt = ({ sums, counts, width }, point, offset) =>
  counts[point] > 0 ? sums[point * width + offset] / counts[point] : null;
