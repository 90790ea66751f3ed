// Columns of measured figures for a spreadsheet: plain numbers, one unit in a column, named in its head. No DOM.
import { hasSpread } from '../format.js';

/** "time (µs)" */
export const inUnit = (what, unit) => `${what} (${unit})`;

/** The heads of what quartiles() gives. @param names what the lower and the upper quartile of something are called */
export const quartileHeads = (what, unit, names) =>
  [what, ...names.map((name) => name(what))].map((head) => inUnit(head, unit));

/** Median, lower and upper quartile, `scale` times as measured; the median alone where samples are too few. */
export const quartiles = (measured, scale = 1) => {
  const { median, low, high } = measured;
  return hasSpread(measured) ? [scale * median, scale * low, scale * high] : [scale * median, null, null];
};
