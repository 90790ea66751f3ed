// What the Depth panel shows, from the state and from what the worker has sent.
import { computed, signal } from '@preact/signals';
import { panelResults, picks } from '../../session.js';
import { axisOf, brokenOf, collected, curveOf, isScaled } from './curves.js';
import { MATRICES } from './state.js';
import { figuresOf, gradientOf } from './summary.js';

const value = computed(() => panelResults.value.depth?.value ?? {});
const configs = computed(() => picks.configs.length);

/** What there is of the configurations that are still there; null before the first result. */
export const entries = computed(() =>
  value.value.plan ? collected(value.value).filter(({ index }) => index < configs.value) : null,
);

/** The job whose results these are: the state may already ask for others. */
export const job = computed(() => value.value.job ?? null);

/** Whether all seeds are there. */
export const finished = computed(() => value.value.finished === true);

/** Whether the large picture has been painted once: the small ones of a first visit come after it. */
export const painted = signal(false);

/** The matrices that some configuration has. */
export const matrices = computed(() => {
  const probes = (entries.value ?? []).flatMap((entry) => entry.probes.filter(Boolean));
  return MATRICES.filter((name) => probes.some(({ weights }) => weights[name]));
});

export const mixes = computed(() => (entries.value ?? []).some(({ config }) => config.mixing !== 'none'));

/** The quantity of the main picture; a matrix or a sublayer that none has is not asked for. */
export const what = computed(() => {
  const { depthShow, depthMatrix, depthSublayer } = picks;
  const matrix = matrices.value.includes(depthMatrix) || matrices.value.length === 0 ? depthMatrix : 'down';
  return { show: depthShow, matrix, sublayer: mixes.value ? depthSublayer : 'ffn' };
});

export const axis = computed(() => axisOf(entries.value ?? []));

/** Where each configuration's numbers end, or null. */
export const broken = computed(() => (entries.value ?? []).map(brokenOf));

export const figures = computed(() => (entries.value ?? []).map((entry) => figuresOf(entry, what.value)));

// A alone is compared with nothing.
const byA = computed(() => picks.depthByA && configs.value > 1);

/** What is drawn of a quantity: 'scaled', its ratio to A's; 'shifted', its difference from A's; null, the quantity itself. */
export const relationOf = ({ show }) => (byA.value ? (isScaled(show) ? 'scaled' : 'shifted') : null);

/** A quantity's curves, of each configuration that has it: { index, ...curveOf() }. The same list while nothing changes. */
export function curvesOf(quantity) {
  const { depthBand, depthTheory } = picks;
  const text = JSON.stringify([quantity, byA.value, depthBand, depthTheory]);
  const lists = drawn.get(entries.value) ?? new Map();
  drawn.set(entries.value, lists);
  if (!lists.has(text)) lists.set(text, makeCurves(quantity, depthBand, depthTheory));
  return lists.get(text);
}

const drawn = new WeakMap();

function makeCurves(quantity, band, withTheory) {
  const reference = byA.value ? entries.value[0] : null;
  return entries.value
    .map((entry) => {
      const curve = curveOf(entry, quantity, axis.value, { reference, band });
      return { index: entry.index, ...curve, predicted: withTheory ? curve.predicted : null };
    })
    .filter(({ median }) => median.some((value) => value !== null));
}

/** Which gradient table and text tell of. */
export const gradient = computed(() => gradientOf(what.value));
