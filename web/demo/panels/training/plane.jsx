// The plane by predicted class, with held-out points.
import { number } from '../../format.js';
import { nameOf } from '../../parts/chart.jsx';
import { text } from '../../session.js';
import { Canvas, paintCells } from './canvas.jsx';
import { parse, pixels } from './colors.js';
import { Figures, reached } from './figures.jsx';
import { tableOfPlane } from './plane-table.js';
import { pictures, runs, slow, task, ticks } from './session.js';

export function Plane() {
  const t = text.value.training;
  return (
    <Figures>
      {(id, index) => (
        <Canvas
          class="training-plane"
          draw={(context, width, height) => drawPlane(context, width, height, pictures.peek().get(id))}
          tick={ticks.pictures}
          deps={[id, task.value]}
          label={t.planeLabel(nameOf(index), number(reached(id)))}
        />
      )}
    </Figures>
  );
}

function classColors() {
  const style = getComputedStyle(document.documentElement);
  return Array.from({ length: 4 }, (_, i) => style.getPropertyValue(`--class-${i}`).trim());
}

function drawPlane(context, width, height, picture) {
  const { points, labels, extent, classes: count } = task.peek();
  const colors = classColors();
  if (picture?.classes) {
    const { classes, sure } = picture;
    const side = Math.sqrt(classes.length);
    const fills = colors.map(parse);
    // From as light as guessing to as strong as certain.
    const cells = pixels(side, side, (x, y) => {
      const i = y * side + x;
      const share = (sure[i] / 255 - 1 / count) / (1 - 1 / count);
      return [...fills[classes[i] % fills.length], 64 + 80 * Math.max(0, share)];
    });
    paintCells(context, cells, side, side, [0, 0, width, height], true);
  }
  const radius = Math.max(1.6, width / 90);
  for (const [i, label] of labels.entries()) {
    const x = (width * (points[2 * i] + extent)) / (2 * extent);
    const y = (height * (extent - points[2 * i + 1])) / (2 * extent);
    drawPoint(context, label, x, y, radius, colors[label % colors.length]);
  }
}

// Classes differ in shape too: full circles, rings, squares, crosses.
function drawPoint(context, label, x, y, r, color) {
  context.fillStyle = color;
  context.strokeStyle = color;
  context.lineWidth = 1.2;
  context.beginPath();
  if (label === 2) context.rect(x - r, y - r, 2 * r, 2 * r);
  else if (label === 3) {
    context.moveTo(x - r, y - r);
    context.lineTo(x + r, y + r);
    context.moveTo(x + r, y - r);
    context.lineTo(x - r, y + r);
  } else context.arc(x, y, r, 0, 7);
  if (label % 2 === 0) context.fill();
  context.stroke();
}

export function planeTable() {
  slow.value;
  const figures = runs.peek().map(({ id }, i) => ({ name: nameOf(i), picture: pictures.peek().get(id) }));
  return tableOfPlane(task.peek(), figures, text.value.training);
}
