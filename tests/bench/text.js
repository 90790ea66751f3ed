// Numbers as text, and the lines that a run prints.
import { bars, judge } from './bars.js';

/** 12.3 ms, 4.56 us */
export function time(seconds) {
  const [scale, unit] =
    seconds < 1e-6 ? [1e9, 'ns'] : seconds < 1e-3 ? [1e6, 'us'] : seconds < 1 ? [1e3, 'ms'] : [1, 's'];
  return `${(seconds * scale).toPrecision(3)} ${unit}`;
}

/** The rate of a job: GFLOP/s where there are products, else GB/s; of a single small call neither says anything. */
export function rate({ work, median }) {
  if (!median || !(work.flops || work.bytes > 4096)) return '';
  return work.flops
    ? `${(work.flops / median / 1e9).toFixed(1)} GFLOP/s`
    : `${(work.bytes / median / 1e9).toFixed(1)} GB/s`;
}

export const size = (bytes) =>
  bytes < 1e6 ? `${Math.round(bytes / 1024)} KB` : `${Number((bytes / 2 ** 20).toFixed(1))} MB`;
/** What a limit was measured on. */
export const labelOf = ({ label, work }) => (label === 'limit' ? (work.bytes ? size(work.bytes) : '') : label);

/** What was found of a result's exactness. */
export function errorOf({ check }) {
  if (!check) return '';
  const ulp = check.ulp === null ? '' : `, ${check.ulp < 1e3 ? check.ulp.toFixed(1) : check.ulp.toExponential(0)} ULP`;
  return `${check.absolute.toExponential(1)}${ulp}${check.verdict === 'known' ? ' (small values)' : ''}`;
}

/** What the processor does natively. */
export const nativeText = ({ skipped, fused, separate }) =>
  skipped
    ? `natively: not measured, ${skipped}`
    : `natively, with vectors of 128 bits: ${(fused / 1e9).toFixed(1)} GFLOP/s fused, ${(separate / 1e9).toFixed(1)} as product and sum`;

export function groupLines({ jobs }) {
  return jobs.map((job) => {
    const head = `  ${labelOf(job).padEnd(22)} ${job.system.padEnd(15)}`;
    if (job.skipped) return `${head} ${job.skipped}`;
    const numbers = [time(job.min), time(job.median), `${(100 * job.spread).toFixed(0)} %`].map((one) =>
      one.padStart(8),
    );
    return `${head} ${numbers.join(' ')}  ${rate(job).padStart(13)}  ${errorOf(job)}`;
  });
}

const factors = ['best peer', 'onnxruntime', 'scalar'];
/** A measured value or a bound, in the form of what it is compared with. */
function amount(of, value) {
  if (value === null) return '-';
  if (of === 'seconds') return time(value);
  return factors.includes(of) ? `${value.toFixed(2)} x` : `${(100 * value).toFixed(0)} %`;
}

const nouns = { seconds: 'a call', layer_norm: "less than layer_norm's time", peak: 'of the peak' };
const needText = ({ sign, value, of }) => {
  const noun = nouns[of] ?? (factors.includes(of) ? of : `of ${of}`);
  return `${sign} ${factors.includes(of) ? `${value} x` : amount(of, value)} ${noun}`;
};

/** What is left of a peer's time without its copies, in times ours. */
function copiesText(times) {
  if (times === null) return '';
  return times > 0 ? ` (${times.toFixed(2)} x without its copies)` : ' (its copies take as long)';
}

/** The bars that a run has measured, as rows of text. */
export function barRows(report) {
  return bars
    .filter(({ group }) => report.groups.some(({ name }) => name === group))
    .map((bar) => {
      const [byMedian, byMinimum] = ['median', 'min'].map((by) => judge(bar, report.groups, by));
      const { met, best, withoutCopies } = byMedian;
      const values = (judged) => bar.needs.map(({ of }, i) => amount(of, judged.values[i])).join(', ');
      const compared = bar.needs.some(({ of }) => of === 'best peer') && best;
      return {
        work: /^\d+ rows?$/.test(bar.label) ? bar.group : `${bar.group}: ${bar.label}`,
        variant: bar.system,
        need: bar.needs.map(needText).join(' or '),
        median: values(byMedian) + (compared || bar.needs[0].of === 'onnxruntime' ? copiesText(withoutCopies) : ''),
        minimum: values(byMinimum),
        peer: compared ? best.name : '',
        verdict: met === null ? 'not measured' : met ? 'met' : 'NOT met',
      };
    });
}

export const barLines = (report) =>
  barRows(report).map(({ work, variant, need, median, minimum, peer, verdict }) =>
    [
      work.padEnd(36),
      variant.padEnd(14),
      need.padEnd(52),
      minimum.padEnd(12),
      median.padEnd(38),
      verdict.padEnd(8),
      peer,
    ].join(' '),
  );
