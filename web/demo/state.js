// The state of the page: one plain object, and the URL hash that says the same. No DOM, no library.
//
// A configuration is { name, preset, weights, values, color? }: `values` holds only the fields that differ from the
// preset's, so a link stays short and a field can be reset; `color` is the number of its colour where that is not the
// one of its place.

import { parseReference } from './files/reference.js';
import { ACTIVATIONS_PROPS } from './panels/activations/state.js';
import { DEPTH_PROPS } from './panels/depth/state.js';
import { NORMS_PROPS } from './panels/norms/state.js';
import { TRAINING_PROPS } from './panels/training/state.js';
import { WEIGHTS_PROPS } from './panels/weights/state.js';
import { WIRING_PROPS } from './panels/wiring/state.js';
import { flag, integer, number, oneOf } from './props.js';
import { SHELL_PROPS } from './shell/state.js';
import { STOPS } from './shell/tour/stops.js';

export const MAX_CONFIGS = 6;
const COLORS = new Set(Array.from({ length: MAX_CONFIGS }, (_, color) => String(color)));
export const PANELS = ['wiring', 'forward', 'activations', 'depth', 'training', 'speed', 'weights'];
/** The builds of the module, the fastest first. */
export const VARIANTS = ['relaxed', 'simd', 'scalar'];
export const SIGNALS = ['output', 'branch', 'hidden', 'stream'];

/**
 * The whole state but the configurations: property, its key in the hash, how it is read and written, its value on the
 * first visit. `view` marks what is looking around and no edit, which undo leaves alone.
 */
export const PROPS = [
  { name: 'panel', key: 'panel', type: oneOf(...PANELS), initial: 'depth', view: true },
  { name: 'rows', key: 'rows', type: integer(1, 65536), initial: 256 },
  { name: 'seed', key: 'seed', type: integer(0, 0xffffffff), initial: 7 },
  { name: 'inputMean', key: 'mean', type: number(-1e6, 1e6), initial: 0 },
  { name: 'inputStd', key: 'std', type: number(0, 1e6), initial: 1 },
  { name: 'signal', key: 'signal', type: oneOf(...SIGNALS), initial: 'output', view: true },
  { name: 'logShare', key: 'log', type: flag, initial: false, view: true },
  { name: 'sigma', key: 'sigma', type: flag, initial: false, view: true },
  { name: 'variant', key: 'variant', type: oneOf('auto', ...VARIANTS), initial: 'auto' },
  { name: 'onlyDifferent', key: 'diff', type: flag, initial: false, view: true },
  { name: 'equalParameters', key: 'equal', type: flag, initial: false },
  { name: 'selected', key: 'selected', type: integer(0, MAX_CONFIGS - 1), initial: 1, view: true },
  { name: 'language', key: 'lang', type: oneOf('auto', 'en', 'zh'), initial: 'auto', view: true },
  { name: 'theme', key: 'theme', type: oneOf('auto', 'light', 'dark'), initial: 'auto', view: true },
  { name: 'sidebar', key: 'sidebar', type: flag, initial: true, view: true },
  ...ACTIVATIONS_PROPS,
  ...DEPTH_PROPS,
  ...NORMS_PROPS,
  ...TRAINING_PROPS,
  ...WEIGHTS_PROPS,
  ...WIRING_PROPS,
  ...SHELL_PROPS,
];

// The format of the link. What a link of an older one leaves out means what it meant then.
const VERSION = 2;
const FORMER = { 1: { panel: 'forward' } };

/** The state of a first visit. */
export function initialState() {
  const state = Object.fromEntries(PROPS.map(({ name, initial }) => [name, initial]));
  state.configs = [
    { name: 'Post-Norm', preset: 'post_norm', weights: '', values: {} },
    { name: 'Pre-Norm', preset: 'pre_norm', weights: '', values: {} },
  ];
  return state;
}

/** state → "rows=64&c=Post-Norm,placement:post&..." without what the first visit has anyway. */
export function encodeState(state) {
  const parts = [`v=${VERSION}`, ...state.configs.map((config) => `c=${encodeConfig(config)}`)];
  for (const { name, key, type, initial } of PROPS) {
    const text = type.write(state[name]);
    if (text !== type.write(initial)) parts.push(`${key}=${encodeURIComponent(text)}`);
  }
  return parts.join('&');
}

/** The inverse. What cannot be read is left at its initial value: a damaged link still opens. */
export function decodeState(hash) {
  const text = String(hash).replace(/^#/, '');
  const parts = text === '' ? [] : text.split('&');
  const version = text === '' ? VERSION : (parts.map((part) => /^v=(\d+)$/.exec(part)?.[1]).find(Boolean) ?? 1);
  // A link that names a stop of the tour and no configuration is that stop's.
  const named = !/(^|&)c=/.test(text) && /(?:^|&)tour=([^&]*)/.exec(text)?.[1];
  const stop = named && STOPS[PROPS.find(({ name }) => name === 'tour').type.read(named) - 1];
  const state = { ...initialState(), ...(stop || FORMER[version]) };
  const configs = [];
  for (const part of parts) {
    const [key, text] = splitOnce(part, '=');
    if (key === 'c' && configs.length < MAX_CONFIGS) {
      configs.push(decodeConfig(text));
      continue;
    }
    const prop = PROPS.find((candidate) => candidate.key === key);
    const value = prop?.type.read(unescapeText(text));
    if (value !== undefined) state[prop.name] = value;
  }
  if (configs.length > 0) state.configs = configs;
  state.selected = Math.min(state.selected, state.configs.length - 1);
  return state;
}

// "Pre-Norm,preset:bert_base,eps:1e-5": the name, then fields. Numbers, on and off, and names of list entries.
function encodeConfig({ name, preset, weights, values, color }) {
  const own = { ...(preset && { preset }), ...(weights && { weights }), ...(color !== undefined && { color }) };
  const fields = { ...own, ...values };
  const pairs = Object.entries(fields).map(([key, value]) => `${escapeText(key)}:${escapeText(encodeValue(value))}`);
  return [escapeText(name), ...pairs].join(',');
}

// What every object has, and would be found in any table of names.
const isInherited = (word) => word in Object.prototype;

function decodeConfig(text) {
  const [name, ...pairs] = text.split(',');
  const config = { name: cleanName(unescapeText(name)), preset: '', weights: '', values: {} };
  for (const pair of pairs) {
    const [key, value] = splitOnce(pair, ':').map(unescapeText);
    if (key === 'preset' || key === 'weights') config[key] = isId(key, value) ? value : '';
    else if (key === 'color') {
      if (COLORS.has(value)) config.color = Number(value);
    } else if (/^[a-z]\w{0,40}$/i.test(key) && !isInherited(key) && !isInherited(value)) {
      config.values[key] = decodeValue(value);
    }
  }
  return config;
}

// Weights may be those of a file that the visitor has.
const isId = (key, value) => /^\w{1,40}$/.test(value) || (key === 'weights' && parseReference(value) !== null);

const encodeValue = (value) =>
  value === true ? 'on' : value === false ? 'off' : value === null ? 'auto' : String(value);

function decodeValue(text) {
  if (text === 'on' || text === 'off') return text === 'on';
  if (text === 'auto') return null;
  return text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text;
}

/** A configuration's name as it is kept: one line, at most 40 characters, never empty. */
export function cleanName(text) {
  const name = Array.from(text.replace(/[\p{C}\s]+/gu, ' ').trim())
    .slice(0, 40)
    .join('')
    .trim();
  return name || 'Block';
}

/**
 * The number of each configuration's colour, no two alike: what it says of itself, else that of its place, else the
 * first that is free.
 */
export function colorsOf(configs) {
  const taken = new Set();
  const take = (color) => color !== undefined && !taken.has(color) && taken.add(color);
  const own = configs.map(({ color }) => (take(color) ? color : undefined));
  const placed = own.map((color, place) => color ?? (take(place) ? place : undefined));
  return placed.map((color) => color ?? configs.findIndex((_, free) => take(free)));
}

// Each with its colour, so that it keeps it wherever it goes.
const withColors = (configs, colors = colorsOf(configs)) =>
  configs.map(({ color: _, ...config }, place) =>
    colors[place] === place ? config : { ...config, color: colors[place] },
  );

// Edits: state → state. Nothing is changed in place, so that undo is a list of former states.

export function editConfig(state, index, patch) {
  const configs = state.configs.map((config, i) => (i === index ? { ...config, ...patch } : config));
  return { ...state, configs };
}

/** value undefined resets the field to what preset, trained weights or default say. */
export function editField(state, index, field, value) {
  const values = { ...state.configs[index].values };
  if (value === undefined) delete values[field];
  else values[field] = value;
  return editConfig(state, index, { values });
}

export function addConfig(state, config) {
  if (state.configs.length >= MAX_CONFIGS) return state;
  return { ...state, configs: withColors([...state.configs, config]), selected: state.configs.length };
}

export function duplicateConfig(state, index) {
  const { name, color: _, ...rest } = state.configs[index];
  const taken = new Set(state.configs.map((config) => config.name));
  const stem = name.replace(/ \d+$/, '');
  let n = 2;
  while (taken.has(`${stem} ${n}`)) n++;
  return addConfig(state, { ...rest, name: cleanName(`${stem} ${n}`), values: { ...rest.values } });
}

export function removeConfig(state, index) {
  if (state.configs.length <= 1) return state;
  const others = (list) => list.filter((_, i) => i !== index);
  const configs = withColors(others(state.configs), others(colorsOf(state.configs)));
  const selected = Math.min(state.selected > index ? state.selected - 1 : state.selected, configs.length - 1);
  return { ...state, configs, selected };
}

/** The configuration at place `from` comes to stand at `to`; the selected one stays selected. */
export function moveConfig(state, from, to) {
  const { length } = state.configs;
  if (from === to || to < 0 || to >= length) return state;
  const order = state.configs.map((_, i) => i).filter((i) => i !== from);
  order.splice(to, 0, from);
  const colors = colorsOf(state.configs);
  const configs = withColors(
    order.map((i) => state.configs[i]),
    order.map((i) => colors[i]),
  );
  return { ...state, configs, selected: order.indexOf(state.selected) };
}

/** Gives a configuration a colour; one that has it takes the former in exchange. */
export function recolorConfig(state, index, color) {
  const colors = colorsOf(state.configs);
  const former = colors[index];
  const swapped = colors.map((own, i) => (i === index ? color : own === color ? former : own));
  return { ...state, configs: withColors(state.configs, swapped) };
}

function splitOnce(text, separator) {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

// encodeURIComponent leaves ' ( ) * ! ~ alone and escapes the separators , : & =.
const escapeText = (text) => encodeURIComponent(String(text).toWellFormed?.() ?? String(text));

function unescapeText(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
