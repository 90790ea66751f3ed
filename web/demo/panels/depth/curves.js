// From the probes of a configuration's seeds to the curves that are drawn, the prediction's too. No DOM.
import { medianSpread } from '../../numbers.js';
import { probeKey } from './job.js';

/** Sublayers of a layer: the FFN, with mixing before it two. */
const eachOf = ({ mixing }) => (mixing === 'none' ? 1 : 2);
const MIXING = ['query', 'key', 'value', 'out'];

/** The value of panelResults.depth by configuration: [{ index, config, ...the plan's entry, probes: those of its seeds }] */
export function collected({ job, plan, ...probes }) {
  return plan.map((entry, index) => ({
    ...entry,
    index,
    // At the place of its seed, so that seeds can be compared.
    probes: Array.from({ length: job.seeds }, (_, n) => probes[probeKey(index, n)]),
  }));
}

/** Quantities of a sublayer: with mixing there are two in a layer, and one of them is looked at. */
export const isOfSublayer = (show) => ['ratio', 'cosine', 'saturated'].includes(show);

const sublayerOf = ({ show, matrix, sublayer }) => {
  if (show === 'weights') return MIXING.includes(matrix) ? 'mixing' : 'ffn';
  return isOfSublayer(show) ? sublayer : 'ffn';
};

/**
 * Where a quantity's values stand on the axis of layers: the stream between the sublayers, at 0 to depth, with mixing at
 * the halves too; what a sublayer does where the stream leaves it.
 */
export function placesOf(what, config) {
  const each = eachOf(config);
  const { depth } = config;
  if (isOfStream(what.show)) return Array.from({ length: each * depth + 1 }, (_, k) => k / each);
  const last = sublayerOf(what) === 'ffn' ? 1 : 1 / each;
  return Array.from({ length: depth }, (_, l) => l + last);
}

/** Quantities that come with the pass back, from the last layer to the first. */
export const isBackward = (show) => show === 'weights' || show === 'gradient';

const isOfStream = (show) => show === 'rms' || show === 'gradient';

/** A quantity's values in one probe or in a prediction, at placesOf(); undefined where there is none. */
export function valuesOf(what, source, config) {
  const { show, matrix } = what;
  if (show === 'weights') return source?.weights?.[matrix];
  const values = source?.[show];
  if (isOfStream(show) || !values) return values;
  const each = eachOf(config);
  if (each === 1) return sublayerOf(what) === 'ffn' ? values : undefined;
  return values.filter((_, k) => (k % each === each - 1) === (sublayerOf(what) === 'ffn'));
}

/** Whether a quantity is compared with A's by its ratio; shares and cosines by the difference. */
export const isScaled = (show) => ['weights', 'gradient', 'rms', 'ratio'].includes(show);

/** null where there is no telling. */
const compared = (show, a, b) => {
  if (!isScaled(show)) return a - b;
  return b === 0 ? null : a / b;
};

/** The axis of all configurations: 0 to depth, the halves too where one of them mixes. */
export function axisOf(entries) {
  const each = Math.max(1, ...entries.map(({ config }) => eachOf(config)));
  const depth = Math.max(0, ...entries.map(({ config }) => config.depth));
  return Array.from({ length: each * depth + 1 }, (_, k) => k / each);
}

/**
 * Over the seeds, at each place of the axis: { median, low, high } with null where there is none, or where fewer than
 * half of the seeds are finite; predicted, likewise or null; count of seeds; broken: whether it ends for that.
 * @param what { show, matrix, sublayer }
 * @param reference the entry that all are compared with, or null
 * @param {'quartiles' | 'range'} band
 */
export function curveOf(entry, what, axis, { reference = null, band = 'quartiles' } = {}) {
  const at = new Map(axis.map((x, i) => [x, i]));
  const onAxis = (own, source) => {
    const values = valuesOf(what, source, own.config);
    if (!values) return null;
    const placed = new Array(axis.length).fill(null);
    placesOf(what, own.config).forEach((x, k) => {
      placed[at.get(x)] = values[k];
    });
    return placed;
  };
  const relative = (values, others) => {
    if (!reference || !values) return values;
    if (!others) return null;
    return values.map((value, i) =>
      value === null || others[i] === null ? null : compared(what.show, value, others[i]),
    );
  };
  const seeds = entry.probes
    .map((probe, n) => relative(onAxis(entry, probe), reference && onAxis(reference, reference.probes[n])))
    .filter(Boolean);
  const predicted = entry.theory?.supported
    ? relative(onAxis(entry, entry.theory), reference && onAxis(reference, supported(reference)))
    : null;
  return { ...over(seeds, band), predicted: predicted?.map(finiteOrNull) ?? null, count: seeds.length };
}

const supported = ({ theory }) => (theory?.supported ? theory : undefined);
const finiteOrNull = (value) => (Number.isFinite(value) ? value : null);

function over(seeds, band) {
  const curve = { median: [], low: [], high: [], broken: false };
  for (let i = 0; i < (seeds[0]?.length ?? 0); i++) {
    const values = seeds.map((values) => values[i]);
    const finite = values.filter(Number.isFinite);
    const there = finite.length > 0 && 2 * finite.length >= values.length;
    if (!there && values.some((value) => value !== null)) curve.broken = true;
    const { median, low, high } = there ? medianSpread(finite) : { median: null, low: null, high: null };
    curve.median.push(median);
    curve.low.push(there && band === 'range' ? Math.min(...finite) : low);
    curve.high.push(there && band === 'range' ? Math.max(...finite) : high);
  }
  return curve;
}

/**
 * Where numbers leave float32, over the seeds, or null: in the pass forwards { way: 'forward' }, the first sublayer whose
 * output is not finite; else in the pass back, the first on the way down whose input's gradient is not.
 */
export function brokenOf({ probes, config }) {
  const each = eachOf(config);
  const there = probes.filter(Boolean);
  const named = (way, sublayers) => ({
    way,
    layer: Math.floor(sublayers[0] / each) + 1,
    sublayer: sublayers[0] % each === each - 1 ? 'ffn' : 'mixing',
    seeds: sublayers.length,
    of: there.length,
  });
  const forward = there.map(({ nonFinite }) => nonFinite.findIndex((n) => n > 0) - 1).filter((k) => k >= 0);
  if (forward.length > 0)
    return named(
      'forward',
      forward.sort((a, b) => a - b),
    );
  const back = there.map(({ gradient }) => gradient.findLastIndex((g) => !Number.isFinite(g))).filter((k) => k >= 0);
  return back.length > 0
    ? named(
        'backward',
        back.sort((a, b) => b - a),
      )
    : null;
}

/** Whether a quantity is 0 in all seeds and layers: nothing that a logarithmic axis could show. */
export const isZero = ({ median }) => {
  const known = median.filter((value) => value !== null);
  return known.length > 0 && known.every((value) => value === 0);
};
