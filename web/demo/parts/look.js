// How a configuration looks: its letter follows from its place, its colour and marker from what it keeps.
import { computed } from '@preact/signals';
import { picks } from '../session.js';
import { colorsOf } from '../state.js';

export const LETTERS = 'ABCDEF';

/** The number of each configuration's colour. */
export const colors = computed(() => colorsOf(picks.configs));

/** The number of a configuration's colour; what has no configuration has that of its place. */
export const colorOf = (index) => colors.value[index] ?? index;

/** The class that gives what belongs to a configuration its colour. */
export const lookOf = (index) => `look-${colorOf(index)}`;
