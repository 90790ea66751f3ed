// What the Activations panel shows, by the package alone. No DOM and no worker: `an` is an instance, so Node's tests run it.

import { NAIVE } from './naive.js';
import { gelu, REFERENCE } from './reference.js';
import { points, ulps } from './sample.js';

export const CURVE_POINTS = 601;
export const HISTOGRAM_BINS = 120;
export const ERROR_BINS = 240;
const EACH = 256; // points of a bin
const CHUNK = 20; // bins at a time: some milliseconds
const LARGE = 3e38;

const ones = (n) => new Float32Array(n).fill(1);
const evenly = (low, high, n) => Float32Array.from({ length: n }, (_, i) => low + ((high - low) * i) / (n - 1));

/** Function and derivative over a range: { x, y, slope }. */
export function curve(an, name, params, [low, high]) {
  const x = evenly(low, high, CURVE_POINTS);
  return { x, y: an.activation(name, x, params), slope: an.activationBackward(name, x, ones(x.length), params) };
}

// ---- Where an activation is flat

// Dense near 0 and far out alike.
const SCAN = Float32Array.from({ length: 4001 }, (_, i) => Math.sinh(((i - 2000) / 2000) * 19.1) * 0.01);

/**
 * The tails in which the derivative is 0 or smaller than `flat` all the way out: { left, right }, each null or
 * { at: the last float of it seen from outside, kind: 'dead' where the function goes to 0, 'saturated' where to another value }.
 * A derivative that passes through 0 between them, at a minimum, is no tail.
 */
export function tails(an, name, params, flat) {
  const limit = Math.fround(flat);
  const isFlat = (x) =>
    an.activationBackward(name, x, ones(x.length), params).map((slope) => slope === 0 || Math.abs(slope) < limit);
  const [below, above] = an.activation(name, Float32Array.of(-LARGE, LARGE), params);
  const side = (scan, value) => {
    const at = lastFlat(isFlat, scan);
    return at === null ? null : { at, kind: Math.abs(value) < 1e-3 ? 'dead' : 'saturated' };
  };
  return { left: side(SCAN, below), right: side(SCAN.toReversed(), above) };
}

// From one end: the last x that is flat, to the float. null if the first one is not; an infinity if all are.
function lastFlat(isFlat, scan) {
  const marks = isFlat(scan);
  const first = marks.indexOf(0);
  if (first < 0) return scan[0] < 0 ? Infinity : -Infinity;
  if (first === 0) return null;
  let [inside, outside] = [scan[first - 1], scan[first]];
  for (let round = 0; round < 4; round++) {
    const finer = evenly(inside, outside, 129);
    const at = isFlat(finer).indexOf(0);
    if (at < 1) break; // neighbours
    [inside, outside] = [finer[at - 1], finer[at]];
  }
  return inside;
}

// ---- Pre-activations

// The first place in a sorted list whose value is not below x (or, with `after`, is above x).
function placeOf(sorted, x, after = false) {
  let [from, to] = [0, sorted.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (sorted[middle] < x || (after && sorted[middle] === x)) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** Shares of sorted values that lie in the tails: { left, right }. */
export function tailShares(sorted, { left, right }) {
  const n = sorted.length || 1;
  return {
    left: left ? placeOf(sorted, left.at, true) / n : 0,
    right: right ? (sorted.length - placeOf(sorted, right.at)) / n : 0,
  };
}

/** { dead, saturated } of the two tails' shares. Where all is flat, both tails are the same. */
export function byKind({ left, right }, shares) {
  const total = { dead: 0, saturated: 0 };
  if (left) total[left.kind] += shares.left;
  if (right && !(left && right.at <= left.at)) total[right.kind] += shares.right;
  return total;
}

/** How many of sorted values lie in each of equal bins over a range, and outside it. */
export function histogram(sorted, [low, high], bins = HISTOGRAM_BINS) {
  const edges = Array.from({ length: bins + 1 }, (_, i) =>
    placeOf(sorted, low + ((high - low) * i) / bins, i === bins),
  );
  return {
    range: [low, high],
    total: sorted.length,
    counts: Array.from({ length: bins }, (_, i) => edges[i + 1] - edges[i]),
    below: edges[0],
    above: sorted.length - edges[bins],
  };
}

// ---- GELU and its approximations

export const APPROXIMATIONS = ['gelu_tanh', 'gelu_quick', 'gelu_erf'];
const STEP = 16; // so many points stand between two that are drawn

/** Each as the package computes it, less the exact x·Φ(x) in double: curves, and the largest over all points. */
export function differences(an, [low, high]) {
  const x = evenly(low, high, (CURVE_POINTS - 1) * STEP + 1);
  const exact = Float64Array.from(x, gelu);
  const lines = APPROXIMATIONS.map((name) => {
    const y = an.activation(name, x);
    let at = 0;
    for (let i = 1; i < x.length; i++) if (Math.abs(y[i] - exact[i]) > Math.abs(y[at] - exact[at])) at = i;
    const shown = Float64Array.from({ length: CURVE_POINTS }, (_, i) => y[STEP * i] - exact[STEP * i]);
    return { name, shown, largest: y[at] - exact[at], at: x[at], exact: exact[at] };
  });
  const shownX = Float64Array.from({ length: CURVE_POINTS }, (_, i) => x[STEP * i]);
  return { range: [low, high], x: shownX, lines, points: x.length };
}

// ---- Errors in ULP

const noError = () => ({
  max: new Float64Array(ERROR_BINS),
  largest: -1,
  at: 0,
  got: 0,
  want: 0,
  infinite: 0,
  first: null,
});

/**
 * The largest error in ULP in each bin of a range, of the package (first) and of the formulas as they are usually
 * written. `pause` is awaited between chunks.
 */
export async function errors(an, name, range, pause = async () => {}) {
  const formulas = (NAIVE[name] ?? []).map(([, f]) => f);
  const lines = [noError(), ...formulas.map(noError)];
  const all = points(range[0], range[1], ERROR_BINS, EACH);
  const exact = REFERENCE[name];
  for (let bin = 0; bin < ERROR_BINS; bin++) {
    const x = all.subarray(bin * EACH, (bin + 1) * EACH);
    const want = Float64Array.from(x, exact);
    note(lines[0], bin, x, an.activation(name, x.slice()), want);
    for (const [i, f] of formulas.entries()) note(lines[i + 1], bin, x, x.map(f), want);
    if (bin % CHUNK === CHUNK - 1) await pause();
  }
  return { name, range, lines, points: all.length };
}

// Infinite errors are counted, and make their bin's infinite; the largest is that of the finite ones.
function note(line, bin, x, got, want) {
  for (let i = 0; i < x.length; i++) {
    const error = ulps(got[i], want[i]);
    if (error > line.max[bin]) line.max[bin] = error;
    if (error === Infinity) {
      line.infinite++;
      line.first ??= { at: x[i], got: got[i], want: want[i] };
    } else if (error > line.largest) Object.assign(line, { largest: error, at: x[i], got: got[i], want: want[i] });
  }
}
