// The cell that is looked at: the one the pointer is on, else the one that was chosen last.
import { computed, signal } from '@preact/signals';
import { picks } from '../../session.js';
import { parse } from './matrix.js';

const hovered = signal(null);
const chosen = signal(0);

export const cell = computed(() => {
  const { data } = parse(picks.normMatrix);
  return Math.min(hovered.value ?? chosen.value, data.length - 1);
});

const cellOf = (event) => {
  const found = event.target.closest('[data-cell]');
  return found ? Number(found.dataset.cell) : null;
};
const choose = (event) => {
  const found = cellOf(event);
  if (found !== null) chosen.value = found;
};

/** Listeners of what holds cells, which say their number as data-cell. */
export const looking = {
  onPointerOver: (event) => {
    hovered.value = cellOf(event);
  },
  onPointerLeave: () => {
    hovered.value = null;
  },
  onClick: choose,
  onFocusCapture: choose,
};
