// The figures behind a picture of curves by layer. No DOM.
import { hasSpread } from '../../format.js';

/**
 * @param {number[]} xs the axis of layers
 * @param {object[]} list the curves, as curveOf() in curves.js gives them, each with the index of its configuration
 * @param {object} look
 * @param {string[]} look.names @param {string} look.letters of the configurations
 * @param {'quartiles' | 'range'} look.band
 * @param {'scaled' | 'shifted' | null} look.relation to A's, as in view.js
 * @param d the panel's texts
 * @returns {{ head: string[], rows: (number | null)[][] }} as a chart takes it: a median, what its band is from and to where
 *   there is one, and what is predicted, one configuration after the other
 */
export function tableOfCurves(xs, list, { names, letters, band, relation }, d) {
  const columns = list.flatMap(({ index, median, low, high, predicted, count }) => [
    [names[index], median],
    ...(hasSpread({ count })
      ? [
          [`${letters[index]} ${d.lows[band]}`, low],
          [`${letters[index]} ${d.highs[band]}`, high],
        ]
      : []),
    ...(predicted ? [[`${letters[index]} ${d.predicted}`, predicted]] : []),
  ]);
  const behind = relation ? ` ${d.relative[relation]}` : '';
  return {
    head: [d.layer, ...columns.map(([head]) => head + behind)],
    rows: xs
      .map((x, i) => [x, ...columns.map(([, values]) => values[i])])
      .filter(([, ...cells]) => cells.some((cell) => cell !== null)),
  };
}
