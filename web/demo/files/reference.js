// How a configuration names weights of a file: the file's name, the layer's, and the fields that come with them, so that a
// link says them even where the file is not open. The text is "file~NAME~LAYER~field!value~...".
import { short } from './errors.js';

const MAX_LENGTH = 600;
const MAX_NAME = 80;

// What a file can say of a block, and how it is written.
const FIXED = { d_model: 'number', d_ff: 'number', gated: 'flag', bias: 'flag' };
const START = {
  activation: 'word',
  activation_p0: 'number',
  norm: 'word',
  eps: 'number',
  placement: 'word',
  affine: 'word',
  weight_offset: 'number',
  residual: 'flag',
};
const OMITS = ['parallel', 'experts']; // keys of texts.omits
const KINDS = { ...FIXED, ...START };
const write = { number: String, word: String, flag: (value) => (value ? 'on' : 'off') };
const read = {
  number: (text) => (text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : undefined),
  word: (text) => (/^[a-z]\w{0,40}$/.test(text) ? text : undefined),
  flag: (text) => (text === 'on' || text === 'off' ? text === 'on' : undefined),
};

/** A name as it stands in a reference: its end, without what separates. */
export const fileKey = (name) => {
  const clean = short(name, 1000).replaceAll('~', '-').toWellFormed?.() ?? short(name, 1000).replaceAll('~', '-');
  const signs = Array.from(clean.trim());
  return signs.slice(-MAX_NAME).join('') || 'file';
};

/** The reference of a layer, or '' for one whose name is too long to be in a link. */
export function referenceTo(name, { key, fixed, start, omits = [] }) {
  const fields = Object.entries({ ...fixed, ...start })
    .filter(([field]) => Object.hasOwn(KINDS, field))
    .map(([field, value]) => `${field}!${write[KINDS[field]](value)}`);
  const all = [
    'file',
    fileKey(name),
    key.replaceAll('~', '-'),
    ...fields,
    ...(omits.length ? [`omits!${omits.join('.')}`] : []),
  ];
  const text = all.join('~');
  return parseReference(text) ? text : '';
}

const pick = (values, table) =>
  Object.fromEntries(Object.entries(values).filter(([name]) => Object.hasOwn(table, name)));

/** { file, layer, fixed, start, omits } of a reference, or null for any other text. */
export function parseReference(text) {
  if (!text.startsWith('file~') || text.length > MAX_LENGTH || /\p{C}/u.test(text)) return null;
  const [, file, layer, ...pairs] = text.split('~');
  if (!file || !layer) return null;
  const values = {};
  let omits = [];
  for (const pair of pairs) {
    const [name, value = ''] = pair.split('!');
    if (name === 'omits') {
      omits = OMITS.filter((word) => value.split('.').includes(word));
      continue;
    }
    const known = Object.hasOwn(KINDS, name) ? read[KINDS[name]](value) : undefined;
    if (known === undefined) return null;
    values[name] = known;
  }
  if (values.d_model === undefined || values.d_ff === undefined) return null;
  return { file, layer, fixed: pick(values, FIXED), start: pick(values, START), omits };
}
