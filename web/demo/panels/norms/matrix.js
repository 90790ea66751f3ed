// The matrix of the walk-through as text, for the link and back. No DOM.
//
// "0.5_-1.2~3_4!*5_6~7_8": numbers of a token with _ between, tokens with ~, sequences with *; ! behind padding. All signs
// that a link takes as they are. An example stands there by its name.

export const MOST = { b: 3, l: 4, d: 6 };
const LARGEST = 3e38;

const RANDOM = [
  [
    [0.5, -1.2, 0.8, 1.5],
    [-0.3, 0.7, -1.6, 0.2],
    [1.1, -0.4, 0.9, -2.1],
  ],
  [
    [-0.8, 1.5, 0.2, -0.6],
    [2.4, -0.9, 0.4, 1.3],
    [-1.4, 0.6, -0.2, 0.3],
  ],
];
const changed = (change) => RANDOM.map((tokens, s) => tokens.map((values, t) => change(values, s, t)));
const made = (values, padding = []) => ({
  b: values.length,
  l: values[0].length,
  d: values[0][0].length,
  data: values.flat(2),
  padding: values.flat().map((_, token) => padding.includes(token)),
});

/** By name; a token is padding by its place among all. */
export const EXAMPLES = {
  random: made(RANDOM),
  outlier: made(changed((values, s, t) => (s === 0 && t === 1 ? [-0.3, 0.7, 40, 0.2] : values))),
  constant: made(changed((values, s, t) => (s === 0 && t === 1 ? [3, 3, 3, 3] : values))),
  padding: made(
    changed((values, s, t) => (s === 1 && t > 0 ? [6, 6, 6, 6] : values)),
    [4, 5],
  ),
  large_mean: made(changed((values) => values.map((value) => Math.round(10 * (10000 + value)) / 10))),
  one: made([[RANDOM[0][0]]]),
};

const writeNumber = (value) => String(value + 0).replace('+', '');

/** A typed or written number: finite in float32, or undefined. */
export function readNumber(text) {
  const value = text.trim() === '' ? Number.NaN : Number(text.trim().replace('\u2212', '-'));
  return Math.abs(value) <= LARGEST ? value + 0 : undefined;
}

/** { b, l, d, data, padding } as text, an example as its name. */
export function print({ b, l, d, data, padding }) {
  const token = (at) =>
    data
      .slice(at * d, (at + 1) * d)
      .map(writeNumber)
      .join('_') + (padding[at] ? '!' : '');
  const text = Array.from({ length: b }, (_, s) =>
    Array.from({ length: l }, (_, t) => token(s * l + t)).join('~'),
  ).join('*');
  return NAMES.get(text) ?? text;
}
const NAMES = new Map();
for (const [name, example] of Object.entries(EXAMPLES)) NAMES.set(print(example), name);

/** The inverse; undefined for what is no matrix of a size that is shown. */
export function parse(text) {
  if (Object.hasOwn(EXAMPLES, text)) return EXAMPLES[text];
  if (text.length > 4000) return undefined;
  const sequences = text.split('*').map((tokens) => tokens.split('~'));
  const padding = sequences.flat().map((token) => token.endsWith('!'));
  const values = sequences.map((tokens) => tokens.map((token) => token.replace(/!$/, '').split('_').map(readNumber)));
  const [b, l, d] = [values.length, values[0].length, values[0][0].length];
  const fits = b <= MOST.b && l <= MOST.l && d <= MOST.d;
  const isRegular = values.every((tokens) => tokens.length === l && tokens.every((token) => token.length === d));
  const data = values.flat(2);
  return fits && isRegular && !data.includes(undefined) ? { b, l, d, data, padding } : undefined;
}

/** The type of a property that is such a text. */
export const matrixText = {
  read: (text) => {
    const matrix = parse(text);
    return matrix && print(matrix);
  },
  write: String,
  matrix: MOST,
};

/** The type of a property that is a text of numbers, one for each feature: "1_0.5"; none at all is "". */
export const vectorText = {
  read: (text) => {
    const values = text === '' ? [] : text.split('_').map(readNumber);
    return values.length <= MOST.d && !values.includes(undefined) ? values.map(writeNumber).join('_') : undefined;
  },
  write: String,
  vector: MOST.d,
};

/** A text of numbers as a list of d; what it leaves out is `rest`. */
export const vectorOf = (text, d, rest) => {
  const values = text === '' ? [] : text.split('_').map(Number);
  return Array.from({ length: d }, (_, i) => values[i] ?? rest);
};
export const vectorTextOf = (values) => values.map(writeNumber).join('_');

/** Of another size: what was there stays in its place, new cells hold 0. */
export function resized(matrix, { b = matrix.b, l = matrix.l, d = matrix.d }) {
  const next = { b, l, d, data: [], padding: [] };
  for (let s = 0; s < b; s++) {
    for (let t = 0; t < l; t++) {
      const has = s < matrix.b && t < matrix.l;
      next.padding.push(has && matrix.padding[s * matrix.l + t]);
      for (let c = 0; c < d; c++)
        next.data.push(has && c < matrix.d ? matrix.data[(s * matrix.l + t) * matrix.d + c] : 0);
    }
  }
  return next;
}
