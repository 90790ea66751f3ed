// How exact we and the peers are, against double precision, over one fixed set of inputs: the table of the README.
//
// Peers are asked for the function of the library's own where it has one (`library`: tfjs-layers' gelu_new, mish and
// layerNormalization, jax.nn's standardize), which is what their users get; else it is the job that is timed.
import { activations, defaults, norm, rowsOf, softmax, ulps, unit } from '../js/reference.js';
import { reference } from './reference.js';

const { abs, fround } = Math;
const LARGEST = fround(3.4028234663852886e38);

/** The inputs, 100 000 of them: what is dense near 0 would be missed by random words, and the other way round. */
export function points() {
  const list = [];
  // Every exponent, both signs: 64 mantissas spread over [1, 2) by the golden ratio, from subnormals to the largest.
  for (let exponent = -149; exponent <= 127; exponent++) {
    for (let i = 0; i < 64; i++) {
      const mantissa = 1 + ((i * 0.6180339887498949) % 1);
      const x = fround(mantissa * 2 ** exponent);
      list.push(x, -x);
    }
  }
  // Where the functions bend: -20..20, and on to where exp leaves float32.
  const special = [0, -0, 0.5, 1, 3, 6, 88, 88.5, 88.72, 89, 100, 103, 104, 110, 1e4, 1e19, 3e38, LARGEST];
  for (const x of special) list.push(x, -x);
  const tail = 4000;
  for (let i = 0; i < tail; i++) list.push(fround(-110 + (220 * i) / (tail - 1)));
  const dense = 100_000 - list.length;
  for (let i = 0; i < dense; i++) list.push(fround(-20 + (40 * i) / (dense - 1)));
  return Float32Array.from(list);
}

const ends = Float32Array.of(-Infinity, Infinity, Number.NaN, -Infinity);

/** The result of one job; null where the system has no such operation. */
async function result(system, spec) {
  const job = await system.make({ ...spec, library: true });
  if (!job) return null;
  const values = await job.result();
  await job.dispose();
  return Array.isArray(values) ? values.at(-1) : values;
}

const finite = Number.isFinite;

// Failures by name: the test, and which of the failing inputs is named: the one that comes first by this number.
const failures = {
  // Zero where the true value is no subnormal, let alone zero.
  zero: { test: (got, want) => got === 0 && abs(want) >= 2 ** -126, first: (_x, want) => -abs(want) },
  sign: {
    test: (got, want) => got * fround(want) < 0,
    first: (_x, want) => -abs(want),
  },
  infinite: { test: (got, want) => !finite(got) && !Number.isNaN(got) && abs(want) <= LARGEST, first: abs },
  nan: { test: (got, want) => Number.isNaN(got) && !Number.isNaN(want), first: abs },
  // At an infinity or NaN, which have only one right answer.
  end: { test: (got, want) => !finite(want) && !Number.isNaN(got) && ulps(got, want) > 0, first: abs },
};

/** @returns {{ ulp: number, at: number, absolute: number, absoluteAt: number, failures: object[] }} */
function compared(x, got, want) {
  const found = { ulp: 0, at: 0, absolute: 0, absoluteAt: 0, failures: [] };
  for (let i = 0; i < x.length; i++) {
    const error = abs(got[i] - want[i]);
    if (!finite(error)) continue; // a failure, or both infinite
    // Subnormals may be flushed to zero: fewer than one unit of the smallest normal number are no error here.
    const ulp = error < 2 ** -126 ? 0 : error / unit(want[i]);
    if (ulp > found.ulp) Object.assign(found, { ulp, at: x[i] });
    if (error > found.absolute) Object.assign(found, { absolute: error, absoluteAt: x[i] });
  }
  for (const [name, { test, first }] of Object.entries(failures)) {
    let [worst, count] = [null, 0];
    for (let i = 0; i < x.length; i++) {
      if (!test(got[i], want[i])) continue;
      count++;
      const rank = first(x[i], want[i]);
      if (!worst || rank < worst.rank) worst = { rank, x: x[i], got: got[i], want: want[i] };
    }
    if (worst) found.failures.push({ name, count, x: `${worst.x}`, got: `${worst.got}`, want: `${worst.want}` });
  }
  return found;
}

async function activationErrors(systems, name, x) {
  const wanted = (data) => Float64Array.from(data, (v) => activations[name].f(v, ...defaults(name)));
  const spec = (data) => ({ op: 'activation', activation: name, n: data.length, x: data });
  const [want, wantEnds] = [wanted(x), wanted(ends)];
  const results = [];
  for (const system of systems) {
    const got = await result(system, spec(x));
    if (!got) {
      results.push(null);
      continue;
    }
    const found = compared(x, got, want);
    found.failures.push(...compared(ends, await result(system, spec(ends)), wantEnds).failures);
    results.push(found);
  }
  return { op: name, results };
}

/* ---- Rows -------------------------------------------------------------------------------------------------------- */

/** N(0, 1), the same every time: Marsaglia's xorshift, Box and Muller. */
function normal(n, seed) {
  let state = seed;
  const next = () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return ((state >>> 0) + 0.5) / 2 ** 32;
  };
  return Float32Array.from({ length: n }, () => Math.sqrt(-2 * Math.log(next())) * Math.cos(2 * Math.PI * next()));
}

const [ROWS, D] = [8, 768];
const spread = (scale, shift) => normal(ROWS * D, 1).map((value) => value * scale + shift);

const normRows = {
  'N(0, 1)': spread(1, 0),
  'mean 1e4, deviation 0.7': spread(0.7, 1e4),
  'mean 1e6, deviation 0.7': spread(0.7, 1e6),
  'sizes about 1e19': spread(1e19, 0),
  'sizes up to 3e38': Float32Array.from({ length: ROWS * D }, (_, i) => 3e38 * Math.sin(i)),
};

const row = (what, measure, results) => ({ what, measure, results });

/** The largest error by `distance`, null where one is not finite that should be. */
function largest(got, want, distance) {
  let top = 0;
  for (let i = 0; i < want.length; i++) {
    const error = distance(got[i], want[i]);
    if (!finite(error)) return { error: null, got: `${got[i]}`, want: `${want[i]}` };
    top = Math.max(top, error);
  }
  return { error: top };
}

async function each(systems, spec, want, distance) {
  const results = [];
  for (const system of systems) {
    const got = await result(system, spec);
    results.push(got && largest(got, want, distance));
  }
  return results;
}

const absolute = (got, want) => abs(got - want);

async function rowErrors(systems) {
  const rows = [];
  for (const [name, eps] of [
    ['layer_norm', 1e-5],
    ['rms_norm', 1e-6],
  ]) {
    for (const [what, x] of Object.entries(normRows)) {
      const affine = { weight: new Float32Array(D).fill(1), bias: name === 'layer_norm' ? new Float32Array(D) : null };
      const want = norm(name, rowsOf(x, D), { eps }).flat();
      const spec = { op: 'norm', norm: name, rows: ROWS, d: D, x, eps, ...affine };
      rows.push(row(`${name}, ${what}`, 'absolute', await each(systems, spec, want, absolute)));
    }
  }
  for (const scale of [1, 10]) {
    for (const log of [false, true]) {
      const x = spread(scale, 0);
      const want = rowsOf(x, D).flatMap((values) => softmax(values, log));
      const results = await each(systems, { op: 'softmax', log, rows: ROWS, d: D, x }, want, ulps);
      rows.push(row(`${log ? 'log-softmax' : 'softmax'}, N(0, ${scale ** 2})`, 'ULP', results));
    }
  }
  return rows;
}

const ffns = {
  'FFN 768/3072, GELU (erf)': { d: 768, h: 3072, activation: 'gelu_erf', gated: false, bias: true },
  'FFN 768/3072, GELU (tanh)': { d: 768, h: 3072, activation: 'gelu_tanh', gated: false, bias: true },
  'SwiGLU 576/1536': { d: 576, h: 1536, activation: 'silu', gated: true, bias: false },
};

async function ffnErrors(systems) {
  const rows = [];
  for (const [what, shape] of Object.entries(ffns)) {
    const { d, h, gated, bias } = shape;
    const matrix = (out, inner, seed) => normal(out * inner, seed).map((value) => value / Math.sqrt(inner));
    const weights = { up: matrix(h, d, 2), gate: gated ? matrix(h, d, 3) : null, down: matrix(d, h, 4) };
    Object.assign(weights, { up_bias: bias ? normal(h, 5) : null, down_bias: bias ? normal(d, 6) : null });
    const spec = { op: 'ffn', rows: ROWS, ...shape, x: normal(ROWS * d, 7), weights };
    const want = reference(spec).flatMap(({ values }) => [...values]); // all rows, as there are no more than it computes
    const size = Math.sqrt(want.reduce((sum, value) => sum + value * value, 0) / want.length);
    const results = await each(systems, spec, want, (got, value) => abs(got - value) / size);
    rows.push(row(what, 'of the root mean square', results));
  }
  return rows;
}

// Exact everywhere, or another's name at default parameters.
const same = ['identity', 'relu', 'swish', 'celu'];

/**
 * The errors of all systems, in the engine that runs this: plain JSON.
 * @param {{ instances: object[], peers: object[] }} systems what `create` of addnorm.js and of the peers gave
 */
export async function measure({ instances, peers }) {
  const systems = [...instances, ...peers];
  const x = points();
  const report = {
    systems: systems.map(({ name, version }) => ({ name, version })),
    points: x.length,
    activations: [],
  };
  for (const name of Object.keys(activations)) {
    if (same.includes(name)) continue;
    report.activations.push(await activationErrors(systems, name, x));
  }
  report.rows = [...(await rowErrors(systems)), ...(await ffnErrors(systems))];
  return report;
}

/* ---- The table --------------------------------------------------------------------------------------------------- */

/** Three digits, as a power of ten where that is shorter. */
function short(text, digits = 3) {
  const x = Number(text);
  if (!finite(x)) return Number.isNaN(x) ? 'NaN' : x < 0 ? '−∞' : '∞';
  const plain = x === 0 || (abs(x) >= 0.01 && abs(x) < 1e4);
  const shown = plain ? String(Number(x.toPrecision(digits))) : x.toExponential(digits - 1).replace(/\.?0*e\+?/, 'e');
  return shown.replaceAll('-', '−');
}
const figure = (value) => short(value, 2);

const names = {
  zero: ({ x, want }) => `0 at ${short(x)}, not ${short(want)}`,
  sign: ({ x, got, want }) => `${short(got)} at ${short(x)}, not ${short(want)}`,
  infinite: ({ x }) => `∞ at ${short(x)}`,
  nan: ({ x }) => `NaN at ${short(x)}`,
  end: ({ x, got }) => `${short(got)} at ${short(x)}`,
};

function activationCell(found) {
  if (!found) return '–';
  return [figure(found.ulp), ...found.failures.map((failure) => names[failure.name](failure))].join('; ');
}

const rowCell = (found) =>
  !found ? '–' : found.error === null ? `${short(found.got)}, not ${short(found.want)}` : figure(found.error);

/** What is worth a place in the README. */
export const notable = [
  ...['sigmoid', 'tanh', 'gelu_erf', 'gelu_tanh', 'silu', 'mish', 'softplus'],
  ...['layer_norm, mean', 'layer_norm, sizes about', 'softmax, N(0, 100)', 'FFN'],
];

/**
 * A table of what `measure` gave: operations down, systems across.
 * @param {string[]} [only] how the rows' names begin; all rows without it
 */
export function table({ systems, activations: functions, rows }, only = ['']) {
  const lines = [
    ...functions.map(({ op, results }) => [`${op}, ULP`, ...results.map(activationCell)]),
    ...rows.map(({ what, measure, results }) => [`${what}, ${measure}`, ...results.map(rowCell)]),
  ].filter(([name]) => only.some((start) => name.startsWith(start)));
  return { head: ['largest error', ...systems.map(({ name, version }) => `${name} ${version}`.trim())], rows: lines };
}

/** The same in Markdown. */
export const markdownTable = ({ head, rows }) =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
