// The heat maps' table: each block's gradient norm in the first step and in the last one; saved are those of all. No DOM.
import { number } from '../../format.js';

/**
 * @param {object[]} runs by configuration @param curves of these runs
 * @param {{ names: string[], letters: string }} configs
 * @param t the panel's texts
 * @returns {{ head: string[], rows: string[][], exact: () => (string | number | null)[][] }} blocks from the last down to
 *   the first, as in the picture; exact: a row for each point that is kept, a column for each block of each configuration
 */
export function tableOfHeat(runs, curves, { names, letters }, t) {
  const depth = Math.max(0, ...runs.map((run) => run.depth));
  return {
    head: [t.layer, ...runs.flatMap((run, i) => [t.atStepOf(letters[i], 1), t.atStepOf(letters[i], run.steps)])],
    rows: Array.from({ length: depth }, (_, k) => depth - 1 - k).map((layer) => [
      String(layer + 1),
      ...runs.flatMap(({ id }) => [curves.first(id), curves.last(id)].map((row) => number(row?.layers[layer] ?? null))),
    ]),
    exact: () => {
      const columns = runs.flatMap(({ id, depth: own }, i) => {
        const { length, at } = curves.layers(id);
        return Array.from({ length: own }, (_, layer) => ({
          head: t.blockOf(names[i], layer + 1),
          normAt: (point) => (point < length ? at(layer, point) : null),
        }));
      });
      return [
        [t.stepsOf(curves.stride), ...columns.map(({ head }) => head)],
        ...curves.steps().map((step, point) => [step, ...columns.map(({ normAt }) => normAt(point))]),
      ];
    },
  };
}
