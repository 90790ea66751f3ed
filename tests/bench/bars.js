// What addnorm is held to: every bar in one table, and how each is judged from the medians of one group.
import { peers, rowsText } from './cases.js';

/**
 * A measure gives a number from a group's jobs, or null where something it needs was not measured. `own` is the bar's own
 * job, `job(system, label)` finds another that was timed; `seconds` is a job's median, or minimum.
 */
const measures = {
  /** How many times as fast as the best peer at the same item. */
  'best peer': ({ own, best }) => best && best.seconds / own.seconds,
  onnxruntime: ({ own, job }) => over(job('ort', own.label), own),
  scalar: ({ own, job }) => over(job('scalar', own.label), own),
  /** The rate of multiply-adds against the loop that does nothing else. */
  peak: ({ own, job }) => {
    const peak = job(`peak ${own.system.split(' ')[0]}`, 'limit');
    return peak && rate(own) / rate(peak);
  },
  /** The time to read the weights once against the whole call's. */
  'reading the weights': ({ own, limit }) => over(limit('read', own.work.weights), own),
  /** The time to copy as many bytes as must be read and written against the call's. */
  'copying as many bytes': ({ own, limit }) => over(limit('copy', own.work.bytes), own),
  /** The rate against that of the group's first item, the next regular size. */
  'next regular size': ({ own, jobs }) => rate(own) / rate(jobs.find(({ system }) => system === own.system)),
  /** How much less time than layer_norm takes. */
  layer_norm: ({ own, job }) => {
    const layer = job(own.system, own.label.replace('rms', 'layer'));
    return layer && 1 - own.seconds / layer.seconds;
  },
  seconds: ({ own }) => own.seconds,
  /** The lowest rate of a sweep, from the bar's item on, against the highest before it. */
  'highest rate before': ({ own, jobs }) => {
    const sweep = jobs.filter(({ system }) => system === own.system);
    const rates = sweep.slice(sweep.indexOf(own)).map(rate);
    return Math.min(...rates.slice(1).map((one, i) => one / Math.max(...rates.slice(0, i + 1))));
  },
};
const rate = ({ work, seconds }) => work.flops / seconds;
const over = (a, b) => (a ? a.seconds / b.seconds : null);

/** One need of a bar: at least (or at most) so much of a measure. */
const least = (value, of) => ({ value, of, met: (got) => got >= value, sign: '>=' });
const most = (value, of) => ({ value, of, met: (got) => got <= value, sign: '<=' });
const times = (value) => least(value, 'best peer');
const peak = (share) => least(share, 'peak');

/** group, label (of an item), system, and what is needed; of several needs one is enough. */
const bar = (group, label, system, ...needs) => ({ group, label, system, needs });
const both = (group, label, ...needs) => ['relaxed', 'simd'].map((system) => bar(group, label, system, ...needs));

export const bars = [
  ...[128, 512].flatMap((rows) => [
    bar(`ffn bert ${rows}`, rowsText(rows), 'relaxed', times(2.2)),
    bar(`ffn bert ${rows}`, rowsText(rows), 'relaxed', peak(0.9)),
    bar(`ffn bert ${rows}`, rowsText(rows), 'simd', times(1.6)),
  ]),
  bar('ffn bert 8', rowsText(8), 'relaxed', times(1.8), peak(0.8)),
  bar('ffn bert 1', rowsText(1), 'relaxed', times(1.3), least(0.85, 'reading the weights')),
  bar('ffn bert 128', rowsText(128), 'simd', least(3, 'scalar')),
  ...['smollm2', 'tinyllama'].flatMap((name) => [
    bar(`ffn ${name} 128`, rowsText(128), 'relaxed', peak(0.85)),
    bar(`ffn ${name} 128`, rowsText(128), 'relaxed', times(2.2)),
  ]),
  ...both('ffn bert 8', `${rowsText(7)}, d = 768`, least(0.8, 'next regular size')),
  ...both('ffn bert 128', `${rowsText(127)}, d = 768`, least(0.8, 'next regular size')),
  ...both('ffn bert 128', `${rowsText(128)}, d = 767`, least(0.8, 'next regular size')),
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
  ...['softmax', 'softmax, uniform +-8'].flatMap((label) => [
    bar('softmax', label, 'relaxed', times(3)),
    bar('softmax', label, 'simd', times(2)),
  ]),
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
  ...both('sweep rows', '8 x 768/3072', least(0.9, 'highest rate before')),
  ...both('sweep size', '128 x 128/512', least(0.9, 'highest rate before')),
];

/** The fastest peer of an item whose result was accepted. */
const bestPeer = (timed, label) =>
  timed.filter((job) => job.label === label && peers.includes(job.system)).sort((a, b) => a.seconds - b.seconds)[0];

/**
 * Judges one bar: the value of each of its needs, null where it was not measured; whether it is met, null if that is not
 * known; the best peer, and how many times as fast as that without its copies, where those were measured.
 * @param {any} bar
 * @param {{ name: string, jobs: any[] }[]} results
 * @param {'median' | 'min'} by
 */
export function judge({ group, label, system, needs }, results, by = 'median') {
  const measured = results.find(({ name }) => name === group)?.jobs.filter(({ median }) => median) ?? [];
  const jobs = measured.map((one) => ({ ...one, seconds: one[by] }));
  const job = (who, what) => jobs.find((one) => one.system === who && one.label === what);
  const limit = (kind, bytes) => jobs.find((one) => one.system === kind && one.work.bytes === bytes);
  const own = job(system, label);
  const best = bestPeer(jobs, label) ?? null;
  const values = needs.map(({ of }) => (own ? (measures[of]({ own, best, job, jobs, limit }) ?? null) : null));
  const met =
    needs.some((need, i) => values[i] !== null && need.met(values[i])) || (values.includes(null) ? null : false);
  const peer = needs.some(({ of }) => of === 'onnxruntime') ? job('ort', label) : best;
  const copies = peer && job(`${peer.system} copies`, label);
  return { values, met, best, withoutCopies: own && copies ? (peer.seconds - copies.seconds) / own.seconds : null };
}
