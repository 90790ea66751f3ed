// Numbers as text: three significant digits, SI prefixes, a real minus sign. No DOM.

const MINUS = '\u2212';
const NARROW = '\u202f'; // between a number and its unit

const PREFIXES = [
  [1e15, 'P'],
  [1e12, 'T'],
  [1e9, 'G'],
  [1e6, 'M'],
  [1e3, 'k'],
  [1, ''],
  [1e-3, 'm'],
  [1e-6, 'µ'],
  [1e-9, 'n'],
];

const sign = (text) => text.replaceAll('-', MINUS);

/** 0.912, 41.2, 1230, 1.20e−7, ∞, NaN; null and undefined give an en dash. */
export function number(value, digits = 3) {
  if (value === null || value === undefined) return '–';
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '∞' : `${MINUS}∞`;
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size < 1e-4 || size >= 1e6) return sign(value.toExponential(digits - 1)).replace('e+', 'e');
  return sign(fixed(value, digits));
}

// toPrecision without its exponents: 1230, not 1.23e+3.
function fixed(value, digits) {
  const rounded = Number(value.toPrecision(digits));
  const exponent = Math.floor(Math.log10(Math.abs(rounded)));
  return rounded.toFixed(Math.max(0, digits - 1 - exponent));
}

/** 31.2 GFLOP/s, 2.10 MB, 4.72 M: three digits with the unit's SI prefix. */
export function si(value, unit = '', digits = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return number(value);
  if (value === 0) return unit ? `0${NARROW}${unit}` : '0';
  const rounded = Math.abs(Number(value.toPrecision(digits)));
  const [factor, prefix] = PREFIXES.find(([limit]) => rounded >= limit) ?? PREFIXES[PREFIXES.length - 1];
  const text = sign(fixed(value / factor, digits));
  const name = prefix + unit;
  return name ? `${text}${NARROW}${name}` : text;
}

const ENOUGH = 3;
/** Whether there are so many samples that their quartiles say something. */
export const hasSpread = ({ count }) => count >= ENOUGH;

/** 41.2 ± 0.6 ms: the spread in the median's unit, with as many decimals; without it while there are too few samples. */
export function spread({ median, half, count }, unit) {
  if (count < ENOUGH) return si(median, unit);
  if (!Number.isFinite(median) || median === 0) return number(median);
  const rounded = Math.abs(Number(median.toPrecision(3)));
  const [factor, prefix] = PREFIXES.find(([limit]) => rounded >= limit) ?? PREFIXES[PREFIXES.length - 1];
  const text = fixed(median / factor, 3);
  const decimals = (text.split('.')[1] ?? '').length;
  return `${sign(text)} ± ${(half / factor).toFixed(decimals)}${NARROW}${prefix}${unit}`;
}

/** 1.28 ± 0.05: a number without a unit and its spread, as exactly; without the spread while there are too few samples. */
export function around({ median, half, count }) {
  const text = number(median);
  if (count < ENOUGH || !Number.isFinite(median) || /e|^0$/.test(text)) return text;
  const spread = half.toFixed((text.split('.')[1] ?? '').length);
  return `${text} ± ${Number(spread) === 0 ? number(half, 1) : spread}`;
}

/** 65 536: a whole number, digits in groups. */
export const count = (value) =>
  String(Math.round(value))
    .replace(/\B(?=(\d{3})+$)/g, NARROW)
    .replace('-', MINUS);

export const percent = (share) => `${number(100 * share)}${NARROW}%`;

/** 89 %, 3.4 %: a share as exactly as it can be measured. */
export const roughPercent = (share) => `${share < 0.0995 ? number(100 * share, 2) : Math.round(100 * share)}${NARROW}%`;

/** The powers of ten from low to high. */
export function powers(low, high) {
  const list = [];
  for (let exponent = Math.ceil(Math.log10(low) - 1e-9); 10 ** exponent <= high; exponent++) list.push(10 ** exponent);
  return list;
}

const SUPERSCRIPT = { '-': '⁻', 0: '⁰', 1: '¹', 2: '²', 3: '³', 4: '⁴', 5: '⁵', 6: '⁶', 7: '⁷', 8: '⁸', 9: '⁹' };
/** 10³ */
export const power = (value) =>
  `10${[...String(Math.round(Math.log10(value)))].map((digit) => SUPERSCRIPT[digit]).join('')}`;

/** A figure at an axis: as short as it is exact, a real minus sign. */
export const axisNumber = (value) => sign(fieldValue(Math.abs(value) < 1e-12 ? 0 : Number(value.toPrecision(3))));

/** A field's value as it stands in its control: 768, 1e-5, on, gelu_erf. */
export function fieldValue(value) {
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  if (typeof value !== 'number') return String(value);
  const size = Math.abs(value);
  if (value !== 0 && (size < 1e-3 || size >= 1e7)) return String(Number(value.toPrecision(6)).toExponential());
  return String(Number(value.toPrecision(6)));
}

const TEX = [
  [/\\mathrm\{(\w)\}/g, '$1'],
  [/\\sqrt\{([^}]*)\}/g, '√$1'],
  [/\\alpha/g, 'α'],
  [/\\beta/g, 'β'],
  [/\\gamma/g, 'γ'],
  [/\\ell/g, 'ℓ'],
  [/\s*\\odot\s*/g, ' ⊙ '],
  [/\\,/g, '·'],
  [/_1/g, '₁'],
  [/_2/g, '₂'],
  [/ \/ /g, '/'],
];

/** A placement's short TeX formula as plain text: x + F(N(x)). */
export const plainFormula = (tex) => TEX.reduce((text, [pattern, by]) => text.replace(pattern, by), tex);

/** "5" or "5–9": how many batches were timed. */
export function batchesText(counts) {
  const [low, high] = [Math.min(...counts), Math.max(...counts)];
  return low === high ? String(low) : `${low}–${high}`;
}
