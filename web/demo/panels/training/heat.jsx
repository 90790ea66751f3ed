// The gradient norms of the layers over the steps, one picture a configuration, one scale of colours for all.
import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { number, power } from '../../format.js';
import { nameOf } from '../../parts/chart.jsx';
import { ConfigName } from '../../parts/controls.jsx';
import { LETTERS, lookOf } from '../../parts/look.js';
import { text } from '../../session.js';
import { Canvas, paintCells } from './canvas.jsx';
import { Card } from './card.jsx';
import { SYNC } from './charts.jsx';
import { colorAt, decadesOf, GRADIENT, pixels, shareOf } from './colors.js';
import { tableOfHeat } from './heat-table.js';
import { begun, curves, order, runs, slow, ticks } from './session.js';
import { lastStep } from './view.js';

export function HeatMaps() {
  const t = text.value.training;
  const [said, setSaid] = useState('');
  const ids = order.value.split(',').filter(Boolean).map(Number);
  return (
    <Card title={t.heat} note={said || t.heatNote} table={tableOf} empty={!begun.value} class="training-heat">
      <div class="training-maps">
        {ids.map((id, index) => (
          <figure key={id} class={lookOf(index)}>
            <figcaption>
              <ConfigName index={index} />
            </figcaption>
            <Heat id={id} index={index} say={setSaid} />
          </figure>
        ))}
      </div>
      <Scale />
    </Card>
  );
}

// One scale for all pictures.
function decades() {
  const { extent } = curves;
  return extent && decadesOf(extent);
}

const runOf = (id) => runs.peek().find((one) => one.id === id);

function Heat({ id, index, say }) {
  const t = text.value.training;
  const canvas = useRef(null);
  const cursor = useCursor();
  const reading = useReading(id, index, say);
  const draw = (context, width, height) => {
    const { depth } = runOf(id) ?? { depth: 1 };
    const scale = decades();
    const { length: columns, at: normAt } = curves.layers(id);
    if (!scale || columns === 0) return;
    const cells = pixels(columns, depth, (i, layer) => colorAt(shareOf(normAt(layer, i), scale)));
    const across = (width * columns * curves.stride) / lastStep();
    paintCells(context, cells, columns, depth, [0, 0, Math.min(width, across), height]);
  };
  return (
    <div class="training-map">
      <Canvas
        class="training-cells"
        draw={draw}
        tick={ticks.heat}
        deps={[id]}
        label={`${t.heat}, ${nameOf(index)}. ${text.value.chart.readout}`}
        canvas={canvas}
        tabIndex={0}
        {...reading}
      />
      <i class="training-cursor" ref={cursor} />
    </div>
  );
}

const MOVES = {
  ArrowRight: [1, 0],
  ArrowLeft: [-1, 0],
  PageDown: [10, 0],
  PageUp: [-10, 0],
  ArrowUp: [0, 1],
  ArrowDown: [0, -1],
};

/** Reads a cell out, where the pointer is or the keys have come to; the charts' cursor follows. */
function useReading(id, index, say) {
  const t = text.value.training;
  const at = useRef(null);
  const read = (point, layer) => {
    const { length, at: normAt } = curves.layers(id);
    if (length === 0) return;
    const last = runOf(id).depth - 1;
    at.current = { point: Math.min(length - 1, Math.max(0, point)), layer: Math.min(last, Math.max(0, layer)) };
    const step = curves.steps()[at.current.point];
    say(t.heatAt(nameOf(index), step, at.current.layer + 1, number(normAt(at.current.layer, at.current.point))));
    moveCharts(step);
  };
  const forget = () => {
    say('');
    moveCharts(null);
  };
  const onPointerMove = ({ offsetX, offsetY, currentTarget: { clientWidth, clientHeight } }) => {
    const point = Math.floor((offsetX / clientWidth) * (lastStep() / curves.stride));
    if (point >= curves.length(id)) return forget();
    const { depth } = runOf(id);
    read(point, depth - 1 - Math.floor((offsetY / clientHeight) * depth));
  };
  const onKeyDown = (event) => {
    if (event.key === 'Escape') forget();
    const move = MOVES[event.key];
    if (!move) return;
    event.preventDefault();
    const { point, layer } = at.current ?? { point: -1, layer: 0 };
    read(point + move[0], layer + move[1]);
  };
  return { onPointerMove, onPointerLeave: forget, onKeyDown, onBlur: forget };
}

// The line where the charts' cursor is: it follows them.
function useCursor() {
  const line = useRef(null);
  useEffect(() => {
    const mark = line.current; // also while it leaves the page
    const follow = {
      pub(type, plot) {
        if (type !== 'mousemove' && type !== 'mouseleave') return;
        const { left, idx } = plot.cursor;
        const step = left < 0 || idx === null || idx === undefined ? null : plot.data[0][idx];
        mark.hidden = step === null;
        if (step !== null) mark.style.left = `${(100 * step) / lastStep()}%`;
      },
    };
    mark.hidden = true;
    const { sub, unsub } = uPlot.sync(SYNC);
    sub(follow);
    return () => unsub(follow);
  }, []);
  return line;
}

/** Brings the charts' cursor to a step; null: away. */
function moveCharts(step) {
  const [first] = uPlot.sync(SYNC).plots.filter((plot) => plot.setCursor && plot.data); // that are drawn
  if (!first) return;
  const left = step === null ? -10 : first.valToPos(step, 'x');
  first.setCursor({ left, top: step === null ? -10 : 10 }, true, true);
}

/** Which colour stands for which norm. */
function Scale() {
  ticks.heat.value;
  const t = text.value.training;
  const scale = decades();
  if (!scale) return null;
  const { top, bottom } = scale;
  const every = Math.ceil((top - bottom) / 4);
  const marks = [];
  for (let exponent = bottom; exponent <= top; exponent += every) marks.push(exponent);
  return (
    <div class="training-scale">
      <span class="note">{t.layers}</span>
      <span class="training-bar">
        <i style={{ background: GRADIENT }} />
        {marks.map((exponent) => (
          <small key={exponent} style={{ left: `${(100 * (exponent - bottom)) / (top - bottom)}%` }}>
            {power(10 ** exponent)}
          </small>
        ))}
      </span>
    </div>
  );
}

function tableOf() {
  slow.value;
  const list = runs.peek();
  const configs = { names: list.map((_, index) => nameOf(index)), letters: LETTERS };
  return tableOfHeat(list, curves, configs, text.value.training);
}
