// Predictions against their targets.
import { number } from '../../format.js';
import { nameOf } from '../../parts/chart.jsx';
import { text } from '../../session.js';
import { Canvas } from './canvas.jsx';
import { Figures, reached } from './figures.jsx';
import { pictures, runs, slow, task, ticks } from './session.js';

const SOME = 8;

export function Scatter() {
  const t = text.value.training;
  return (
    <Figures>
      {(id, index) => (
        <Canvas
          class="training-plane"
          draw={(context, width, height) => drawScatter(context, width, height, pictures.peek().get(id))}
          tick={ticks.pictures}
          deps={[id, task.value]}
          label={t.scatterLabel(nameOf(index), number(reached(id)))}
        />
      )}
    </Figures>
  );
}

const REACH = 3; // targets have a variance of about 1

function drawScatter(context, width, height, picture) {
  const style = getComputedStyle(context.canvas);
  // What lies outside stands at the edge.
  const place = (value, size) => (size * (Math.min(REACH, Math.max(-REACH, value)) + REACH)) / (2 * REACH);
  context.strokeStyle = style.getPropertyValue('--edge');
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(0, height);
  context.lineTo(width, 0);
  context.stroke();
  if (!picture?.targets) return;
  context.fillStyle = style.getPropertyValue('--config');
  context.globalAlpha = 0.7;
  for (const [i, target] of picture.targets.entries()) {
    context.beginPath();
    context.arc(place(target, width), height - place(picture.predictions[i], height), 1.8, 0, 7);
    context.fill();
  }
  context.globalAlpha = 1;
}

export function scatterTable() {
  slow.value;
  const t = text.value.training;
  const shown = runs.peek().map(({ id }) => pictures.peek().get(id));
  const { targets = [] } = shown.find((picture) => picture?.targets) ?? {};
  return {
    head: [t.target, ...runs.peek().map((_, i) => nameOf(i))],
    rows: Array.from(targets.slice(0, SOME), (target, i) => [
      number(target),
      ...shown.map((picture) => number(picture?.predictions?.[i])),
    ]),
  };
}
