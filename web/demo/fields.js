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

export const GROUPS = ['norm', 'residual', 'ffn', 'size', 'init'];

/** The value a field has if the configuration says nothing; null is AUTO. */
export const defaultOf = (field) => (Number.isNaN(field.default) ? null : (field.default ?? null));

/** Every field's value: the configuration's, else the default. null where AUTO decides. */
export const valuesOf = (config, fields) => completed(fieldsOf(config), fields);

/** The same for what an.block() is given. */
export const completed = (own, fields) =>
  Object.fromEntries(fields.map((field) => [field.name, own[field.name] ?? defaultOf(field)]));

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

/** Names of the fields in which two configurations differ. */
export function differences(a, b, fields) {
  const left = valuesOf(a, fields);
  const right = valuesOf(b, fields);
  return new Set(fields.map(({ name }) => name).filter((name) => left[name] !== right[name]));
}

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
    case 'alpha':
      return { deepnorm: fourthRoot(values.depth), rezero: 0, layer_scale: 1e-4 }[values.placement] ?? 1;
    case 'beta':
      return values.placement === 'deepnorm' ? 1 / fourthRoot(4 * values.depth) : 1;
    default:
      return undefined;
  }
}

const SCALED = ['deepnorm', 'rezero', 'layer_scale'];
const NO_NORM = ['none', 'rezero'];

/** Why a field has no effect under these values: a key of texts.noEffect, or undefined if it has one. */
export function noEffect(name, values, catalog, trained) {
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
      return 'training';
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

const SMALLEST = 1e-12; // of a logarithmic scale that begins at 0
const KNEE = 0.01; // around 0 a scale with two signs is linear below this

function scaleOf({ type, min, max }) {
  if (min < 0) return 'signed';
  if (type === 'int') return max - min > 64 ? 'log' : 'linear';
  return 'log';
}

export function toPosition(field, value) {
  const { min, max } = field;
  const clamped = Math.min(max, Math.max(min, value));
  switch (scaleOf(field)) {
    case 'signed':
      return 0.5 + (0.5 * Math.asinh(clamped / KNEE)) / Math.asinh(Math.max(-min, max) / KNEE);
    case 'log': {
      const low = min > 0 ? min : SMALLEST;
      if (clamped < low) return 0;
      return Math.log(clamped / low) / Math.log(max / low);
    }
    default:
      return (clamped - min) / (max - min || 1);
  }
}

export function fromPosition(field, position) {
  const { type, min, max } = field;
  let value;
  switch (scaleOf(field)) {
    case 'signed':
      value = KNEE * Math.sinh((2 * position - 1) * Math.asinh(Math.max(-min, max) / KNEE));
      if (Math.abs(value) < KNEE / 2) value = 0;
      break;
    case 'log': {
      const low = min > 0 ? min : SMALLEST;
      value = position === 0 ? min : low * (max / low) ** position;
      break;
    }
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
