// What a result should be, in double precision and from the formulas, and how far one may be from it. Of large results
// some rows are computed: the first, the last and some between.
import { activations, norm, rowsOf, softmax, ulps } from '../js/reference.js';

const ROWS = 8;
const ELEMENTS = 1 << 16;

/** At most `most` of `count` indices, evenly spread, both ends among them. */
export function some(count, most) {
  if (count <= most) return Array.from({ length: count }, (_, i) => i);
  return Array.from({ length: most }, (_, i) => Math.floor((i * (count - 1)) / (most - 1)));
}

/** sum of a[aFrom + k aStep] b[bFrom + k bStep] over k < n */
function dot(a, aFrom, aStep, b, bFrom, bStep, n) {
  let sum = 0;
  for (let k = 0; k < n; k++) sum += a[aFrom + k * aStep] * b[bFrom + k * bStep];
  return sum;
}

/** One row of x W^T + b. */
const product = (row, weight, bias, out) =>
  Float64Array.from(
    { length: out },
    (_, o) => dot(row, 0, 1, weight, o * row.length, 1, row.length) + (bias?.[o] ?? 0),
  );

/** One row of an FFN: what enters the activation, and the result. */
function ffnRow({ d, h, activation, gated, weights, x }, r) {
  const row = Float64Array.from(x.subarray(r * d, (r + 1) * d));
  const { f } = activations[activation];
  const up = product(row, weights.up, weights.up_bias, h);
  const gate = gated ? product(row, weights.gate, null, h) : up;
  const hidden = gate.map((value, j) => f(value) * (gated ? up[j] : 1));
  return { row, before: gate, hidden, y: product(hidden, weights.down, weights.down_bias, d) };
}

const chunk = (output, from, values) => ({ output, from, values });
const rowwise = (spec, f) => some(spec.rows, ROWS).map((r) => chunk(0, r * spec.d, f(r)));
const elementwise = (spec, f) => some(spec.n, ELEMENTS).map((i) => chunk(0, i, [f(i)]));
const rowAt = (values, r, d) => rowsOf(values.subarray(r * d, (r + 1) * d), d)[0];
const add = (a, b) => a.map((value, i) => value + b[i]);

/** Parts of the results: which output, from which element on, and the values there. */
const expected = {
  ffn: (spec) => rowwise(spec, (r) => ffnRow(spec, r).y),
  norm: (spec) => rowwise(spec, (r) => norm(spec.norm, [rowAt(spec.x, r, spec.d)], spec)[0]),
  add_norm: (spec) =>
    some(spec.rows, ROWS).flatMap((r) => {
      const sum = add(rowAt(spec.x, r, spec.d), rowAt(spec.residual, r, spec.d));
      return [chunk(0, r * spec.d, sum), chunk(1, r * spec.d, norm(spec.norm, [sum], spec)[0])];
    }),
  softmax: (spec) => rowwise(spec, (r) => softmax(rowAt(spec.x, r, spec.d), spec.log)),
  activation: (spec) => elementwise(spec, (i) => activations[spec.activation].f(spec.x[i])),
  glu: (spec) => elementwise(spec, (i) => activations[spec.activation].f(spec.gate[i]) * spec.up[i]),
  linear: ({ rows, in: from, out, x, weight }) =>
    some(rows, ROWS).map((r) =>
      chunk(0, r * out, product(Float64Array.from(x.subarray(r * from, (r + 1) * from)), weight, null, out)),
    ),
  linear_backward: ({ rows, in: from, out, x, weight, dy }) => [
    ...some(rows, ROWS).map((r) =>
      chunk(
        0,
        r * from,
        Float64Array.from({ length: from }, (_, i) => dot(dy, r * out, 1, weight, i, from, out)),
      ),
    ),
    ...some(out, ROWS).map((o) =>
      chunk(
        1,
        o * from,
        Float64Array.from({ length: from }, (_, i) => dot(dy, o, out, x, i, from, rows)),
      ),
    ),
  ],
  step: (spec) => [chunk(0, 0, losses(spec))],
};

/** The mean squared error before the first and the second step of Adam, the step in full. */
function losses(spec) {
  const { rows, d, h, x, target, weights, activation, rate } = spec;
  const parameters = Object.fromEntries(
    Object.entries(weights).flatMap(([name, values]) => (values ? [[name, Float64Array.from(values)]] : [])),
  );
  const gradients = Object.fromEntries(
    Object.entries(parameters).map(([name, values]) => [name, new Float64Array(values.length)]),
  );
  const { f } = activations[activation];
  // The derivative by a difference of fourth order: right to 1e-11, and nobody's formula.
  const slope = (z, e = 1e-3) => (8 * (f(z + e) - f(z - e)) - (f(z + 2 * e) - f(z - 2 * e))) / (12 * e);
  const accumulate = (into, left, right) => {
    for (let o = 0; o < left.length; o++) {
      for (let i = 0; i < right.length; i++) into[o * right.length + i] += left[o] * right[i];
    }
  };
  const pass = (backward) => {
    let total = 0;
    for (let r = 0; r < rows; r++) {
      const { row, before, hidden, y } = ffnRow({ d, h, activation, gated: false, weights: parameters, x }, r);
      const error = y.map((value, i) => value - target[r * d + i]);
      total += error.reduce((sum, e) => sum + e * e, 0);
      if (!backward) continue;
      const dy = error.map((e) => (2 * e) / (rows * d));
      const dBefore = before.map((z, j) => dot(dy, 0, 1, parameters.down, j, h, d) * slope(z));
      accumulate(gradients.down, dy, hidden);
      accumulate(gradients.down_bias, dy, [1]);
      accumulate(gradients.up, dBefore, row);
      accumulate(gradients.up_bias, dBefore, [1]);
    }
    return total / (rows * d);
  };
  const first = pass(true);
  // Adam's first step, where both moments are the gradient's own after the correction of their bias.
  for (const [name, values] of Object.entries(parameters)) {
    gradients[name].forEach((g, i) => {
      values[i] -= (rate * g) / (Math.abs(g) + 1e-8);
    });
  }
  return [first, pass(false)];
}

export const reference = (spec) => expected[spec.op]?.(spec) ?? null;

/**
 * How far results may be from the reference. `ulp`: units in the last place of each element, which ours have to keep
 * (DESIGN: activations 4, softmax 4, a gate one rounding more). `share`: of the largest element, for all: sums of up to
 * some thousand products and sums of squares in float32.
 */
const tolerances = {
  activation: { ulp: 4, share: 2e-6 },
  glu: { ulp: 5, share: 2e-6 },
  softmax: { ulp: 4, share: 2e-6 },
  norm: { share: 5e-6 },
  add_norm: { share: 5e-6 },
  step: { share: 1e-4 },
};

/**
 * Compares the results of a system. verdict: `right`; `known`: right as far as an absolute error goes, but small values
 * are off by more units in the last place than we allow ourselves, which is timed and said; `wrong`, which is not timed.
 */
export function compare(spec, parts, outputs) {
  const { ulp: most, share } = tolerances[spec.op] ?? { share: 1e-5 };
  const list = Array.isArray(outputs) ? outputs : [outputs];
  let [absolute, ulp, largest] = [0, 0, 0];
  for (const { output, from, values } of parts) {
    for (let i = 0; i < values.length; i++) {
      const [got, want] = [list[output][from + i], values[i]];
      const error = Math.abs(got - want);
      absolute = Math.max(absolute, Number.isNaN(error) ? Infinity : error);
      ulp = Math.max(ulp, ulps(got ?? Number.NaN, want));
      largest = Math.max(largest, Math.abs(want));
    }
  }
  // And half a unit for each addition, where sums are subnormal.
  const subnormal = 2 ** -150 * ((spec.d ?? 1) + (spec.h ?? 1));
  const wrong = !(absolute <= share * largest + subnormal);
  const verdict = wrong ? 'wrong' : most !== undefined && ulp > most ? 'known' : 'right';
  return { verdict, absolute, share: absolute / largest, ulp: most === undefined ? null : ulp };
}
