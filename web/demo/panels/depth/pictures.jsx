// The curves by layer: one large picture, and the other quantities small below it, with one cursor for all.
import { useEffect, useRef } from 'preact/hooks';
import { axisNumber, number } from '../../format.js';
import { Chart, nameOf } from '../../parts/chart.jsx';
import { LETTERS } from '../../parts/look.js';
import { picks, set, text } from '../../session.js';
import { isOfSublayer, isZero } from './curves.js';
import { drawing, pictureOf } from './drawing.js';
import { BANDS, QUANTITIES, SUBLAYERS } from './state.js';
import { tableOfCurves } from './table.js';
import { axis, broken, entries, job, matrices, mixes, painted, relationOf, what } from './view.js';

export function Picture() {
  const d = text.value.depth;
  const { depthByA, depthBand, depthTheory, depthSeeds, configs } = picks;
  const { show, matrix, sublayer } = what.value;
  const drawn = entries.value !== null;
  useEffect(() => {
    if (drawn) requestAnimationFrame(() => setTimeout(() => (painted.value = true)));
  }, [drawn]);
  return (
    <div class="depth-main">
      <QuantityChart
        quantity={what.value}
        controls={
          <span class="depth-tools">
            <Choice name="depthShow" label={d.show} value={show} options={QUANTITIES} texts={d.shows} />
            {show === 'weights' && (
              <Choice
                name="depthMatrix"
                label={d.matrix}
                value={matrix}
                options={known(matrices.value, matrix)}
                texts={d.matrices}
              />
            )}
            {mixes.value && isOfSublayer(show) && (
              <Choice
                name="depthSublayer"
                label={d.sublayer}
                value={sublayer}
                options={SUBLAYERS}
                texts={d.sublayers}
              />
            )}
            {(job.value?.seeds ?? depthSeeds) > 2 && (
              <Choice name="depthBand" label={d.band} value={depthBand} options={BANDS} texts={d.bands} />
            )}
            <Check name="depthTheory" checked={depthTheory} label={d.theory} long={d.theoryLong} />
            {configs.length > 1 && <Check name="depthByA" checked={depthByA} label={d.byA} long={d.byALong} />}
          </span>
        }
      />
    </div>
  );
}

// Before the first result too, so that nothing moves when it comes.
const known = (list, own) => (list.length > 0 ? list : [own]);

const Check = ({ name, checked, label, long }) => (
  <label class="check">
    <input
      type="checkbox"
      checked={checked}
      aria-label={long}
      onChange={(event) => set({ [name]: event.target.checked })}
    />
    {label}
  </label>
);

const Choice = ({ name, label, value, options, texts }) => (
  <select
    class="depth-select"
    aria-label={label}
    value={value}
    onChange={(event) => set({ [name]: event.target.value })}
  >
    {options.map((option) => (
      <option key={option} value={option}>
        {texts[option]}
      </option>
    ))}
  </select>
);

/** The quantities that the large picture does not show; of dead and saturated a chart only where there is one. */
export function SmallPictures() {
  const t = text.value;
  const d = t.depth;
  const others = QUANTITIES.filter((name) => name !== what.value.show).map((name) => ({ ...what.value, show: name }));
  const isEmpty = ({ show: name }) =>
    ['dead', 'saturated'].includes(name) &&
    (entries.value ?? []).every(({ probes }) => probes.every((probe) => !probe?.[name].some((value) => value > 0)));
  const empty = others.filter(isEmpty).map(({ show: name }) => name);
  return (
    <>
      <div class="depth-small">
        {others
          .filter((quantity) => !isEmpty(quantity))
          .map((quantity) => (
            <QuantityChart
              key={quantity.show}
              quantity={quantity}
              small
              controls={
                <button
                  type="button"
                  class="quiet small"
                  aria-label={d.enlarge(titleOf(quantity))}
                  onClick={() => set({ depthShow: quantity.show })}
                >
                  {d.enlargeShort}
                </button>
              }
            />
          ))}
      </div>
      {entries.value && empty.length > 0 && (
        <p class="note">{empty.map((name) => (name === 'dead' ? d.noDead : d.noSaturated)).join(t.sign.space || '')}</p>
      )}
    </>
  );
}

function titleOf(quantity) {
  const d = text.value.depth;
  const { show, matrix } = quantity;
  const relation = relationOf(quantity);
  return [d.titles[show](d.symbols[matrix]), relation && d.relative[relation]].filter(Boolean).join(' ');
}

const NOTHING = { list: [], curves: [], logarithmic: false, structure: '' };

function QuantityChart({ quantity, controls, small }) {
  const { depthBand, configs } = picks;
  const relation = relationOf(quantity);
  const { list, curves, logarithmic, structure } = entries.value ? pictureOf(quantity) : NOTHING;
  const next = useRef(null); // of what is drawn, set when it is built
  return (
    <Chart
      title={titleOf(quantity)}
      note={small ? shortNote(quantity) : entries.value && noteOf(quantity, list, logarithmic)}
      small={small}
      empty={!entries.value || (small && !painted.value) || (curves.length === 0 && text.value.depth.empty)}
      build={(colors, width) => {
        const drawn = drawing({ quantity, small, colors, width });
        next.current = drawn.next;
        return drawn;
      }}
      deps={[structure, JSON.stringify(quantity), relation, configs.map(({ name }) => name).join('\n'), text.value]}
      live={{ tick: entries, data: () => next.current() }}
      readout={(i) => readout(quantity, i, small)}
      controls={controls}
      table={() => {
        const look = { names: configs.map((_, index) => nameOf(index)), letters: LETTERS, band: depthBand, relation };
        return tableOfCurves(axis.value, list, look, text.value.depth);
      }}
    />
  );
}

function shortNote(quantity) {
  const { show, matrix, sublayer } = quantity;
  const { sign, depth: d } = text.value;
  const relation = relationOf(quantity);
  const of = mixes.value && isOfSublayer(show) ? d.ofSublayer(d.sublayers[sublayer]) : '';
  return [d.notes[show](d.symbols[matrix]) + of, relation && d.relativeNotes[relation]]
    .filter(Boolean)
    .join(sign.comma);
}

function noteOf(quantity, list, logarithmic) {
  const { show, matrix } = quantity;
  const t = text.value;
  const d = t.depth;
  const { depthBand } = picks;
  const letters = (indices) => indices.map((index) => LETTERS[index]).join(t.sign.list);
  const seeds = Math.max(0, ...list.map(({ count }) => count));
  const missing = show === 'weights' ? withoutMatrix(matrix) : [];
  const zero = logarithmic ? list.filter(isZero).map(({ index }) => index) : [];
  const ended = entries.value.filter(
    ({ index }) => broken.value[index] && !list.some((curve) => curve.index === index),
  );
  return [
    shortNote(quantity),
    logarithmic && d.logScale,
    seeds > 0 && d.lines(seeds),
    seeds > 1 && d.bandNotes[depthBand],
    list.some(({ predicted }) => predicted) && d.dashed,
    missing.length > 0 && d.none(letters(missing), d.symbols[matrix]),
    zero.length > 0 && d.zero(letters(zero)),
    ended.length > 0 && d.notFinite(letters(ended.map(({ index }) => index))),
  ]
    .filter(Boolean)
    .join(t.sign.semicolon);
}

const withoutMatrix = (matrix) =>
  (entries.value ?? [])
    .filter(({ probes }) => probes.some(Boolean) && probes.every((probe) => !probe?.weights[matrix]))
    .map(({ index }) => index);

function readout(quantity, i, small) {
  const d = text.value.depth;
  const { list, xs } = pictureOf(quantity);
  const relation = relationOf(quantity);
  const x = small ? axisNumber(xs[i]) : d.at(axisNumber(xs[i]));
  const said = list
    .filter(({ median }) => median[i] !== null)
    .map(({ index, median, low, high, predicted, count }) => {
      const letter = `${LETTERS[index]} ${number(median[i])}`;
      if (small || list.length > 3) return letter;
      const range = count > 2 ? ` [${number(low[i])}, ${number(high[i])}]` : '';
      const expected = predicted && predicted[i] !== null ? ` ${d.predictedShort} ${number(predicted[i])}` : '';
      return letter + range + expected;
    });
  const place = [x, relation && d.relative[relation]].filter(Boolean).join(text.value.sign.comma);
  return said.length > 0 ? `${place}:  ${said.join('   ')}` : '';
}
