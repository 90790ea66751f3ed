// What the inspector needs to know about configuration fields, from the module's own list (an.fields). No DOM.
import { baseValues, fieldsOf, trainedOf } from './presets.js';

/** Fields of a stack that a single block does not have. */
export const STACK_FIELDS = ['d_in', 'd_out', 'positions', 'final_norm'];
/** Fields of a single block that a stack does not have. */
export const BLOCK_FIELDS = ['layer'];
const without = (fields, names) => Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
/** What an.block() takes of a configuration's fields, and what an.stack() does. */
export const blockOf = (fields) => without(fields, STACK_FIELDS);
export const stackOf = (fields) => without(fields, BLOCK_FIELDS);

export const GROUPS = ['norm', 'residual', 'mixing', 'ffn', 'size', 'init', 'stack'];

/** The value a field has if the configuration says nothing; null is AUTO. */
export const defaultOf = (field) => (Number.isNaN(field.default) ? null : (field.default ?? null));

// A configuration is never changed, an edit makes another one; what a file's layer says comes with the file.
const known = new WeakMap();

/** Every field's value: the configuration's, else the default. null where AUTO decides. Not to be changed. */
export function valuesOf(config, fields) {
  if (config.weights) return completed(fieldsOf(config), fields);
  if (known.get(config)?.fields !== fields) known.set(config, { fields, values: completed(fieldsOf(config), fields) });
  return known.get(config).values;
}

/** The same for a drawing: trained weights are not scaled by what initial ones would be. */
export const drawnOf = (config, fields) => {
  const values = valuesOf(config, fields);
  return trainedOf(config.weights) ? { ...values, beta: 1 } : values;
};

// A damaged link may say `alpha:zz`: the module refuses it, and what is drawn meanwhile is the default.
const KINDS = { int: 'number', float: 'number', bool: 'boolean' };
const isOfKind = ({ type }, value) => typeof value === (KINDS[type] ?? 'string');

/** The same for what an.block() is given. */
export const completed = (own, fields) =>
  Object.fromEntries(
    fields.map((field) => [field.name, isOfKind(field, own[field.name]) ? own[field.name] : defaultOf(field)]),
  );

/** What reset returns a field to, and whether there is anything to reset. */
export function resetOf(config, field) {
  const base = baseValues(config);
  return { value: base[field.name] ?? defaultOf(field), changed: field.name in config.values };
}

export const isFixed = (config, name) => name in (trainedOf(config.weights)?.fixed ?? {});

const matrixSize = ({ d_model, d_ff, gated }) => d_model * (d_ff ?? 4 * d_model) * (gated ? 3 : 2);

/**
 * The d_ff with which a block has as many weights as another, within half a row of each matrix: a gate is a third
 * matrix, so a gated block's is two thirds. Undefined if it has as many already.
 */
export function matchingWidth(reference, values) {
  const width = Math.round(matrixSize(reference) / matrixSize({ ...values, d_ff: 1 }));
  return width === (values.d_ff ?? 4 * values.d_model) ? undefined : width;
}

/** The d_ff that a configuration has of its own, whatever equal parameters make of it. */
export const ownWidth = (config, fields) => {
  const { d_model, d_ff } = valuesOf({ ...config, matched: undefined }, fields);
  return d_ff ?? 4 * d_model;
};

/**
 * The state with what equal parameters make of it: `matched` is the d_ff with which a configuration's FFN has as many
 * weights as that of the first one. It has none where that is its own, out of range, or fixed by trained weights. What
 * stays as it is stays the same object, so that nothing is drawn anew for it.
 */
export function equalised(state, fields) {
  const bare = state.configs.map(({ matched: _, ...config }) => config);
  const field = fields?.find(({ name }) => name === 'd_ff');
  const match = (config) => {
    if (!state.equalParameters || !field || isFixed(config, 'd_ff')) return undefined;
    const width = matchingWidth(valuesOf(bare[0], fields), valuesOf(config, fields));
    return width >= field.min && width <= field.max ? width : undefined;
  };
  const configs = state.configs.map((config, index) => {
    const matched = index > 0 ? match(bare[index]) : undefined;
    if (matched === config.matched) return config;
    return matched === undefined ? bare[index] : { ...config, matched };
  });
  return configs.every((config, index) => config === state.configs[index]) ? state : { ...state, configs };
}

/** Names of the fields in which two configurations differ. */
export function differences(a, b, fields) {
  const left = valuesOf(a, fields);
  const right = valuesOf(b, fields);
  return new Set(fields.map(({ name }) => name).filter((name) => left[name] !== right[name]));
}

/** The residual additions of a stack, S in the fields' help. */
export const additions = ({ depth, mixing }) => depth * (mixing === 'none' ? 1 : 2);
const FINAL_NORM = ['pre', 'peri', 'output', 'lns', 'layer_scale'];

// From correctly rounded roots, as the module takes it.
const fourthRoot = (x) => Math.sqrt(Math.sqrt(x));

/** What AUTO stands for, as the field's help says it. */
export function automatic(name, values, { norms, activations }) {
  const params = activations.find((entry) => entry.name === values.activation)?.params;
  switch (name) {
    case 'd_ff':
      return 4 * values.d_model;
    case 'eps':
      return norms.find((entry) => entry.name === values.norm)?.eps;
    case 'activation_p0':
      return params?.[0]?.default;
    case 'activation_p1':
      return params?.[1]?.default;
    case 'affine':
      return norms.find((entry) => entry.name === values.norm)?.affine;
    case 'alpha':
      return { deepnorm: fourthRoot(additions(values)), rezero: 0, layer_scale: 1e-4 }[values.placement] ?? 1;
    case 'beta':
      return values.placement === 'deepnorm' ? 1 / fourthRoot(4 * additions(values)) : 1;
    case 'heads':
      return values.d_model % 64 === 0 ? values.d_model / 64 : 1;
    case 'final_norm':
      return FINAL_NORM.includes(values.placement);
    default:
      return undefined;
  }
}

/** Every field with what AUTO stands for, as the module resolves it. */
export const resolved = (values, catalog) =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, value ?? automatic(name, values, catalog) ?? null]),
  );

const SCALED = ['deepnorm', 'rezero', 'layer_scale'];
const NO_NORM = ['none', 'rezero'];
/** Whether a block has a norm at all. */
export const hasNorm = ({ norm, placement }) => norm !== 'none' && !NO_NORM.includes(placement);
/** Whether a block has a norm whose statistics may be the batch's or running ones. */
export const usesBatch = (values) => values.norm === 'batch_norm' && hasNorm(values);

// Fields that a single block does not have or feels in training alone: the panels where they act, and the reason elsewhere.
const ONLY_IN = {
  final_norm: [['depth', 'training'], 'stack'],
  positions: [['training'], 'training'],
  d_in: [[], 'task'],
  d_out: [[], 'task'],
  dropout: [['training'], 'training'],
  residual_dropout: [['training'], 'training'],
  momentum: [['training'], 'training'],
};

/**
 * Why a field has no effect under these values in this panel: a key of texts.noEffect, or undefined if it has one.
 * @param {string} [panel] default: one that runs single blocks
 */
export function noEffect(name, values, catalog, trained, panel = 'forward') {
  const [panels, reason] = ONLY_IN[name] ?? [[panel]];
  return withoutEffect(name, values, catalog, trained) ?? (panels.includes(panel) ? undefined : reason);
}

function withoutEffect(name, values, catalog, trained) {
  const params = catalog.activations.find((entry) => entry.name === values.activation)?.params.length ?? 0;
  const without = NO_NORM.includes(values.placement)
    ? 'placement_none'
    : values.norm === 'none'
      ? 'norm_none'
      : undefined;
  switch (name) {
    case 'norm':
      return without === 'placement_none' ? without : undefined;
    case 'activation_p0':
      return params < 1 ? 'no_parameter' : undefined;
    case 'activation_p1':
      return params < 2 ? 'no_parameter' : undefined;
    case 'eps':
      return without ?? (values.norm === 'dyt' ? 'dyt_eps' : undefined);
    case 'affine':
    case 'weight_offset':
      return without;
    case 'groups':
      return without ?? (values.norm === 'group_norm' ? undefined : 'group_norm');
    case 'momentum':
      return without ?? (values.norm === 'batch_norm' ? undefined : 'batch_norm');
    case 'final_norm':
      return values.norm === 'none' ? 'norm_none' : undefined;
    case 'heads':
    case 'qk_norm':
      return values.mixing === 'attention' ? undefined : 'attention';
    case 'causal':
      return values.mixing === 'none' ? 'mixing' : undefined;
    case 'norm_alpha':
      return without ?? (values.norm === 'dyt' ? undefined : 'dyt');
    case 'alpha':
      return SCALED.includes(values.placement) ? undefined : 'alpha';
    case 'beta':
      return trained ? 'trained' : undefined;
    case 'layer':
      // Seeded weights are those of that layer in a stack.
      return values.placement === 'lns' || !trained ? undefined : 'lns';
    case 'depth':
      return values.placement === 'deepnorm' || values.init === 'gpt2' ? undefined : 'deepnorm';
    case 'init':
      return trained ? 'trained' : undefined;
    case 'init_std':
      return trained ? 'trained' : ['normal', 'gpt2'].includes(values.init) ? undefined : 'init_normal';
    default:
      return undefined;
  }
}

/** A typed text as the field's value, or { error, detail } with a key of texts.fieldErrors. */
export function parseField(field, text) {
  const trimmed = text.trim().replace('\u2212', '-');
  if (/^auto$/i.test(trimmed) && defaultOf(field) === null) return { value: null };
  const value = trimmed === '' ? Number.NaN : Number(trimmed);
  if (!Number.isFinite(value)) return { error: 'number' };
  if (field.type === 'int' && !Number.isInteger(value)) return { error: 'integer' };
  if (value < field.min || value > field.max) return { error: 'range', detail: { min: field.min, max: field.max } };
  return { value };
}

// ---- Sliders: a position 0..1 for a value, so that wide ranges stay usable

// Of a logarithmic scale that begins at 0; 1 has a place of its own.
const smallest = ({ type }) => (type === 'int' ? 0.5 : 1e-12);
const KNEE = 0.01; // around 0 a scale with two signs is linear below this

function scaleOf({ type, min, max }) {
  if (min < 0) return 'signed';
  if (type === 'int') return max - min > 64 ? 'log' : 'linear';
  return 'log';
}

export function toPosition(field, value) {
  const { min, max } = field;
  const low = min > 0 ? min : smallest(field);
  const clamped = Math.min(max, Math.max(min, value));
  switch (scaleOf(field)) {
    case 'signed':
      return 0.5 + (0.5 * Math.asinh(clamped / KNEE)) / Math.asinh(Math.max(-min, max) / KNEE);
    case 'log':
      return clamped < low ? 0 : Math.log(clamped / low) / Math.log(max / low);
    default:
      return (clamped - min) / (max - min || 1);
  }
}

export function fromPosition(field, position) {
  const { type, min, max } = field;
  const low = min > 0 ? min : smallest(field);
  let value;
  switch (scaleOf(field)) {
    case 'signed':
      value = KNEE * Math.sinh((2 * position - 1) * Math.asinh(Math.max(-min, max) / KNEE));
      if (Math.abs(value) < KNEE / 2) value = 0;
      break;
    case 'log':
      value = position === 0 ? min : low * (max / low) ** position;
      break;
    default:
      value = min + position * (max - min);
  }
  return Math.min(max, Math.max(min, type === 'int' ? roundInteger(value) : Number(value.toPrecision(2))));
}

// Sizes that models have: steps of an eighth of the power of two below.
function roundInteger(value) {
  if (value < 16) return Math.round(value);
  const step = 2 ** (Math.floor(Math.log2(value)) - 3);
  return Math.round(value / step) * step;
}
