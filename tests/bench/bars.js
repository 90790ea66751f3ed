// What addnorm is held to: every bar in one table, and how each is judged from the medians of one group.
import { peers } from './cases.js';

/**
 * A measure gives a number from a group's jobs, or null where something it needs was not measured.
 * `job(system, label)` finds a job that was timed; `own` is the bar's own.
 */
const measures = {
  /** How many times as fast as the best peer at the same item. */
  'best peer': ({ own, best }) => best && best.median / own.median,
  onnxruntime: ({ own, job }) => over(job('ort', own.label)?.median, own.median),
  /** The rate of multiply-adds against the loop that does nothing else. */
  peak: ({ own, job }) => {
    const peak = job(`peak ${own.system.split(' ')[0]}`, 'limit');
    return peak && own.work.flops / own.median / (peak.work.flops / peak.median);
  },
  /** The time to read the weights once against the whole call's. */
  'reading the weights': ({ own, limit }) => over(limit('read', own.work.weights), own.median),
  /** The time to copy as many bytes as must be read and written against the call's. */
  'copying as many bytes': ({ own, limit }) => over(limit('copy', own.work.bytes), own.median),
  /** The rate (work a second) against that of the group's first item, the next regular size. */
  'next regular size': ({ own, jobs }) => {
    const regular = jobs.find(({ system }) => system === own.system);
    return regular && own.work.flops / own.median / (regular.work.flops / regular.median);
  },
  scalar: ({ own, job }) => over(job('scalar', own.label)?.median, own.median),
  layer_norm: ({ own, job }) => {
    const layer = job(own.system, own.label.replace('rms', 'layer'));
    return layer && 1 - own.median / layer.median;
  },
  seconds: ({ own }) => own.median,
  /** The lowest rate in a sweep against the highest before it, from the item with this label on. */
  'highest rate before': ({ own, jobs }) => {
    const rates = jobs.filter(({ system }) => system === own.system).map(({ work, median }) => work.flops / median);
    const from = jobs.filter(({ system }) => system === own.system).indexOf(own);
    return Math.min(...rates.slice(from + 1).map((rate, i) => rate / Math.max(...rates.slice(from, from + 1 + i))));
  },
};
const over = (a, b) => (a === undefined || a === null ? null : a / b);

/** One need of a bar: at least (or at most) so much of a measure. */
const least = (value, of) => ({ value, of, met: (got) => got >= value, sign: '>=' });
const most = (value, of) => ({ value, of, met: (got) => got <= value, sign: '<=' });
const times = (value) => least(value, 'best peer');
const peak = (share) => least(share, 'peak');

/** group, label (of an item), system, and what is needed; of several needs one is enough. */
const bar = (group, label, system, ...needs) => ({ group, label, system, needs });
const ffnBars = (group, label, systems, ...needs) => systems.map((system) => bar(group, label, system, ...needs));

export const bars = [
  ...[128, 512].flatMap((rows) => [
    bar(`ffn bert ${rows}`, `${rows} rows`, 'relaxed', times(2.2)),
    bar(`ffn bert ${rows}`, `${rows} rows`, 'relaxed', peak(0.9)),
    bar(`ffn bert ${rows}`, `${rows} rows`, 'simd', times(1.6)),
  ]),
  bar('ffn bert 8', '8 rows', 'relaxed', times(1.8), peak(0.8)),
  bar('ffn bert 1', '1 rows', 'relaxed', times(1.3), least(0.85, 'reading the weights')),
  bar('ffn bert 128', '128 rows', 'simd', least(3, 'scalar')),
  ...['smollm2', 'tinyllama'].flatMap((name) => [
    bar(`ffn ${name} 128`, '128 rows', 'relaxed', peak(0.85)),
    bar(`ffn ${name} 128`, '128 rows', 'relaxed', times(2.2)),
  ]),
  ...ffnBars('ffn bert 8', '7 rows, d = 768', ['relaxed', 'simd'], least(0.8, 'next regular size')),
  ...ffnBars('ffn bert 128', '127 rows, d = 768', ['relaxed', 'simd'], least(0.8, 'next regular size')),
  ...ffnBars('ffn bert 128', '128 rows, d = 767', ['relaxed', 'simd'], least(0.8, 'next regular size')),
  ...[
    ['layer_norm', 0.6],
    ['rms_norm', 0.75],
    ['add + layer_norm', 0.75],
    ['add + rms_norm', 0.75],
  ].flatMap(([label, share]) => [
    bar('norm', label, 'relaxed', least(10, 'onnxruntime')),
    bar('norm', label, 'relaxed', least(share, 'copying as many bytes')),
  ]),
  bar('norm', 'rms_norm', 'relaxed', least(0.25, 'layer_norm')),
  bar('softmax', 'softmax', 'relaxed', times(3)),
  bar('softmax', 'softmax', 'simd', times(2)),
  ...['N(0,1)', 'uniform +-8'].flatMap((inputs) =>
    ['gelu_erf', 'gelu_tanh', 'silu'].flatMap((name) => [
      bar(`activation ${inputs}`, name, 'relaxed', times(name === 'gelu_tanh' ? 2.5 : 3)),
      bar(`activation ${inputs}`, name, 'simd', times(2)),
    ]),
  ),
  bar('linear backward', 'dX and dW', 'relaxed kernel', peak(0.8)),
  bar('call', '16 values', 'relaxed kernel', most(1e-6, 'seconds')),
  bar('call', '16 values', 'relaxed', most(3e-6, 'seconds')),
  bar('call', '16 values', 'relaxed arrays', most(3e-6, 'seconds')),
  bar('load', 'module cached', 'relaxed', most(0.015, 'seconds')),
  // Linear cost, and no cliff: beyond a few rows the rate never falls by more than a tenth.
  ...ffnBars('sweep rows', '8 x 768/3072', ['relaxed', 'simd'], least(0.9, 'highest rate before')),
  ...ffnBars('sweep size', '128 x 128/512', ['relaxed', 'simd'], least(0.9, 'highest rate before')),
];

/** The fastest peer of an item whose result was accepted. */
export function bestPeer(jobs, label) {
  const timed = jobs.filter((job) => job.label === label && peers.includes(job.system) && job.median);
  return timed.sort((a, b) => a.median - b.median)[0] ?? null;
}

/**
 * Judges one bar: the value of each of its needs, and whether it is met (null: not measured).
 * @param {{ name: string, jobs: any[] }[]} results
 */
export function judge({ group, label, system, needs }, results) {
  const timed = (results.find(({ name }) => name === group)?.jobs ?? []).filter(({ median }) => median);
  const job = (who, what) => timed.find((one) => one.system === who && one.label === what);
  const own = job(system, label);
  const limit = (kind, bytes) => timed.find((one) => one.system === kind && one.work.bytes === bytes)?.median;
  const best = bestPeer(timed, label);
  const values = needs.map(({ of }) => (own ? measures[of]({ own, best, job, jobs: timed, limit }) : null));
  const known = values.filter((value) => value !== null && value !== undefined);
  const met = needs.some((need, i) => values[i] !== null && values[i] !== undefined && need.met(values[i]));
  return { values, met: met || (known.length === needs.length ? false : null), best: best?.name ?? null };
}
