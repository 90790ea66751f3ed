// The plane's table: some held-out points, with the class that each configuration's picture gives the cell that they are in.
// No DOM.
import { number } from '../../format.js';

const SOME = 8;

/**
 * @param {{ points: ArrayLike<number>, labels: number[], extent: number }} task
 * @param {{ name: string, picture?: { classes?: ArrayLike<number> } }[]} figures by configuration
 * @param t the panel's texts
 * @returns {{ head: string[], rows: string[][], exact: () => (string | number)[][] }} exact: a point's coordinates in columns
 *   of their own, with all their digits
 */
export function tableOfPlane({ points, labels, extent }, figures, t) {
  const cellOf = (value, side) => Math.min(side - 1, Math.max(0, Math.floor(((value + extent) * side) / (2 * extent))));
  const classAt = (picture, x, y) => {
    if (!picture?.classes) return '–';
    const side = Math.sqrt(picture.classes.length);
    return t.className(picture.classes[cellOf(y, side) * side + cellOf(x, side)]);
  };
  const some = Array.from({ length: Math.min(SOME, labels.length) }, (_, i) => {
    const [x, y] = [points[2 * i], points[2 * i + 1]];
    return { x, y, classes: [t.className(labels[i]), ...figures.map(({ picture }) => classAt(picture, x, y))] };
  });
  const classes = [t.class, ...figures.map(({ name }) => name)];
  return {
    head: [t.point, ...classes],
    rows: some.map((point) => [`(${number(point.x)}, ${number(point.y)})`, ...point.classes]),
    exact: () => [['x', 'y', ...classes], ...some.map((point) => [point.x, point.y, ...point.classes])],
  };
}
