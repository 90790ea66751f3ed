// The Speed panel's tables as they are saved, and LayerNorm beside RMSNorm. No DOM.
import { inUnit, quartileHeads, quartiles } from '../../parts/exact.js';
import { standing } from '../../roofline.js';
import { VARIANTS } from '../../state.js';

const MICRO = 1e6;
const percent = (share) => 100 * share;
const empty = (count) => Array(count).fill(null);

/** What was measured of both norms on as many rows of the same width as a configuration's block had. */
export const normsOf = (norms, { d, rows }) => norms.find((pair) => pair.d === d && pair.rows === rows);

/**
 * What one LayerNorm takes longer than one RMSNorm, of the time of the block that has as many tokens.
 * @param one a configuration's parts and @param norms as run.js sends them
 * @returns { layer, rms, ratio, unclear: whether their quartiles overlap, share: null where the block was not measured };
 *   null while they are not measured
 */
export function compareNorms(one, norms) {
  const { layer, rms } = normsOf(norms, one) ?? {};
  if (!layer) return null;
  return {
    layer,
    rms,
    ratio: layer.median / rms.median,
    unclear: layer.low <= rms.high && rms.low <= layer.high,
    share: one.block ? (layer.median - rms.median) / one.block.median : null,
  };
}

// ---- Tables, each with its head, as parts/exact-table.jsx takes them. names: of the configurations; t: the page's texts

/** Every variant's times. */
export function exactTimings(results, names, capabilities, t) {
  const s = t.speed;
  const p = t.parts;
  const rows = names.flatMap((name, index) =>
    VARIANTS.map((variant) => {
      const { result, times, error, timeError } = results[index] ?? {};
      const time = times?.[variant];
      const { available, reason } = capabilities[variant];
      const why = available ? (error ?? timeError)?.message : `${s.refused} ${reason}`;
      if (!time || !result) return [name, variant, ...empty(9), why];
      const { rows: tokens, cost } = result;
      return [
        name,
        variant,
        tokens,
        ...quartiles(time, MICRO),
        cost.flops / time.median / 1e9,
        percentOfPeak(cost, time),
        tokens / time.median,
        time.count,
        time.repeats,
        null,
      ];
    }),
  );
  const head = [
    s.configuration,
    s.variant,
    s.tokens,
    ...quartileHeads(s.time, 'µs', s.quartiles),
    s.rate,
    inUnit(s.ofPeak, '%'),
    s.tokensPerSecond,
    p.batches,
    p.repeats,
    p.remark,
  ];
  return [head, ...rows];
}

function percentOfPeak(cost, time) {
  const place = standing(cost, time);
  return place ? percent(place.ofPeak) : null;
}

/** What a forward pass costs. */
export function exactCosts(results, names, t) {
  const s = t.speed;
  const rows = names.map((name, index) => {
    const { result } = results[index] ?? {};
    if (!result) return [name, ...empty(6)];
    const { parameters, flops, bytes } = result.cost;
    return [name, result.rows, parameters, flops, 4 * parameters, bytes, result.memory];
  });
  const head = [s.configuration, s.tokens, s.parameters, s.flops];
  return [[...head, ...[s.weights, s.bytes, s.memory].map((what) => inUnit(what, 'B'))], ...rows];
}

/** Where the time goes. @param parts of the configurations, as run.js sends them */
export function exactParts(parts, names, t) {
  const p = t.parts;
  const [configuration, kernel, tokens, time, share, rate] = p.head;
  const rows = names.flatMap((name, index) => {
    const one = parts[index];
    if (!one?.block) return [[name, ...empty(9), one ? p.reasons[one.reason] : null]];
    const row = (label, part, ofBlock) => [
      name,
      label,
      one.rows,
      part.calls,
      ...quartiles(part, MICRO),
      ofBlock,
      part.flops ? part.flops / part.median / 1e9 : null,
      part.bytes ? part.bytes / part.median / 1e9 : null,
      null,
    ];
    return [
      ...one.parts.map((part) => row(p.names[part.name], part, percent((part.calls * part.median) / one.block.median))),
      row(p.whole, one.block, null),
    ];
  });
  const head = [
    configuration,
    kernel,
    tokens,
    p.calls,
    ...quartileHeads(time, 'µs', t.speed.quartiles),
    inUnit(share, '%'),
    inUnit(rate, 'GFLOP/s'),
    inUnit(rate, 'GB/s'),
    p.remark,
  ];
  return [head, ...rows];
}

/** LayerNorm against RMSNorm. */
export function exactNorms(parts, norms, names, t) {
  const p = t.parts;
  const [configuration, , layerNorm, rmsNorm, ratio, share] = p.normsHead;
  const rows = names.map((name, index) => {
    const one = parts[index] ?? {};
    const compared = compareNorms(one, norms);
    if (!compared) return [name, ...empty(11)];
    const { layer, rms, unclear } = compared;
    const remark = [compared.share === null ? p.unmeasured : '', unclear ? p.unclear : ''].filter(Boolean);
    return [
      name,
      one.rows,
      one.d,
      ...quartiles(layer, MICRO),
      ...quartiles(rms, MICRO),
      compared.ratio,
      compared.share === null ? null : percent(compared.share),
      remark.join(t.sign.semicolon),
    ];
  });
  const times = [layerNorm, rmsNorm].flatMap((norm) => quartileHeads(norm, 'µs', t.speed.quartiles));
  return [[configuration, t.speed.tokens, p.width, ...times, ratio, inUnit(share, '%'), p.remark], ...rows];
}

/**
 * Time against rows or width.
 * @param head of the sizes @param sizes as run.js sends them
 * @param {{ name: string, line: (object | null)[] }[]} measured by configuration, with its times at each size
 * @param {string[]} missing what is not measured, and why
 */
export function exactSweep(head, sizes, measured, missing, t) {
  return [
    [head, ...measured.flatMap(({ name }) => quartileHeads(name, 'µs', t.speed.quartiles)), ...missing],
    ...sizes.map((size, i) => [
      size,
      ...measured.flatMap(({ line }) => (line[i] ? quartiles(line[i], MICRO) : empty(3))),
      ...empty(missing.length),
    ]),
  ];
}
