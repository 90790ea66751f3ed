// What the models have learned so far: the plane parted into classes, predictions beside targets, answers, or text.
import { number } from '../../format.js';
import { nameOf } from '../../parts/chart.jsx';
import { ConfigName } from '../../parts/controls.jsx';
import { lookOf } from '../../parts/look.js';
import { text } from '../../session.js';
import { Canvas, paintCells } from './canvas.jsx';
import { Card } from './card.jsx';
import { parse, pixels } from './colors.js';
import { begun, order, pictures, runs, slow, task, ticks } from './session.js';

const KINDS = { classification: Plane, regression: Scatter, sequence: Answers };

export function Gallery() {
  const t = text.value.training;
  const { name, kind } = task.value;
  const known = name === 'text' ? 'text' : kind;
  const Kind = known === 'text' ? Written : KINDS[kind];
  const table = { classification: planeTable, regression: scatterTable }[kind];
  return (
    <Card
      title={t.gallery[known]}
      note={t.galleryNotes[known]}
      empty={!begun.value}
      table={table}
      class="training-gallery"
    >
      <Kind />
    </Card>
  );
}

const ids = () => order.value.split(',').filter(Boolean).map(Number);

/** One picture a configuration, with the number of steps that it shows. */
function Figures({ children }) {
  return (
    <div class="training-figures">
      {ids().map((id, index) => (
        <figure key={id} class={lookOf(index)}>
          {children(id, index)}
          <figcaption>
            <ConfigName index={index} /> <Shown id={id} />
          </figcaption>
        </figure>
      ))}
    </div>
  );
}

/** "step 120", and what failed if it did. */
function Shown({ id }) {
  ticks.pictures.value;
  const t = text.value.training;
  const picture = pictures.peek().get(id);
  if (picture?.error) return <small class="error-text">{picture.error.message}</small>;
  return <small>{picture ? t.atStep(picture.step) : '…'}</small>;
}

const accuracyOf = (id) =>
  runs
    .peek()
    .find((run) => run.id === id)
    ?.tests.at(-1)?.[1] ?? null;

// ---- The plane

function Plane() {
  const t = text.value.training;
  return (
    <Figures>
      {(id, index) => (
        <Canvas
          class="training-plane"
          draw={(context, width, height) => drawPlane(context, width, height, pictures.peek().get(id))}
          tick={ticks.pictures}
          deps={[id, task.value]}
          label={t.planeLabel(nameOf(index), number(accuracyOf(id)))}
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
      return [...fills[classes[i] % fills.length], 24 + 116 * Math.max(0, share)];
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

const SOME = 8;

// Some held-out points, with the class that each configuration's picture gives the cell that they are in.
function planeTable() {
  slow.value;
  const t = text.value.training;
  const { points, labels, extent } = task.peek();
  const cellOf = (value, side) => Math.min(side - 1, Math.max(0, Math.floor(((value + extent) * side) / (2 * extent))));
  const classAt = (picture, x, y) => {
    if (!picture?.classes) return '–';
    const side = Math.sqrt(picture.classes.length);
    return t.className(picture.classes[cellOf(y, side) * side + cellOf(x, side)]);
  };
  return {
    head: [t.point, t.class, ...runs.peek().map((_, i) => nameOf(i))],
    rows: Array.from({ length: Math.min(SOME, labels.length) }, (_, i) => {
      const [x, y] = [points[2 * i], points[2 * i + 1]];
      return [
        `(${number(x)}, ${number(y)})`,
        t.className(labels[i]),
        ...runs.peek().map(({ id }) => classAt(pictures.peek().get(id), x, y)),
      ];
    }),
  };
}

// ---- Predictions beside targets

function Scatter() {
  const t = text.value.training;
  return (
    <Figures>
      {(id, index) => (
        <Canvas
          class="training-plane"
          draw={(context, width, height) => drawScatter(context, width, height, pictures.peek().get(id))}
          tick={ticks.pictures}
          deps={[id, task.value]}
          label={t.scatterLabel(nameOf(index), number(accuracyOf(id)))}
        />
      )}
    </Figures>
  );
}

const REACH = 3; // targets have a variance of about 1

function drawScatter(context, width, height, picture) {
  const style = getComputedStyle(context.canvas);
  const place = (value, size) => (size * (value + REACH)) / (2 * REACH);
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

function scatterTable() {
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

// ---- Questions and answers

/** a, b, c, ...; numbers where numbers are added. */
const symbolOf = (name, token) => (name === 'modular_addition' ? String(token) : String.fromCharCode(97 + token));

function Answers() {
  ticks.pictures.value;
  const t = text.value.training;
  const { name, questions, answers, classes } = task.value;
  const separator = name === 'modular_addition' ? ' ' : '';
  const write = (tokens) => tokens.map((token) => symbolOf(name, token)).join(separator);
  const shown = ids().map((id) => pictures.peek().get(id)?.predicted);
  return (
    <div class="table-box">
      <table class="training-answers" aria-label={t.gallery.sequence}>
        <thead>
          <tr>
            {[t.question, t.target, ...shown.map((_, i) => nameOf(i))].map((cell) => (
              <th key={cell} scope="col">
                {cell}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {questions.map((tokens, row) => {
            const places = answers[row].flatMap((label, i) => (label >= 0 ? [i] : []));
            const wanted = places.map((i) => answers[row][i]);
            const asked = tokens.filter((token) => token < classes);
            return (
              <tr key={row}>
                <th scope="row">{name === 'modular_addition' ? asked.join(' + ') : write(asked)}</th>
                <td>{write(wanted)}</td>
                {shown.map((predicted, k) => (
                  <td key={k}>
                    <Answer
                      given={predicted && places.map((i) => predicted[row][i])}
                      {...{ wanted, name, separator }}
                    />
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

// Wrong symbols are underlined, and said to be wrong.
function Answer({ given, wanted, name, separator }) {
  const t = text.value.training;
  if (!given) return '…';
  return (
    <>
      {given.map((token, i) => (
        <span key={i}>
          {i > 0 && separator}
          {token === wanted[i] ? symbolOf(name, token) : <em class="training-wrong">{symbolOf(name, token)}</em>}
        </span>
      ))}
      <span class="visually-hidden">
        {' '}
        {t.rightOf(given.filter((token, i) => token === wanted[i]).length, given.length)}
      </span>
    </>
  );
}

// ---- Text

function Written() {
  ticks.pictures.value;
  const { prompt } = task.value;
  return (
    <ul class="training-texts">
      {ids().map((id, index) => (
        <li key={id} class={lookOf(index)}>
          <ConfigName index={index} /> <Shown id={id} />
          <p class="training-text">
            <span class="note">{oneLine(prompt)}</span>
            {oneLine(pictures.peek().get(id)?.text ?? '')}
          </p>
        </li>
      ))}
    </ul>
  );
}

const oneLine = (written) => written.replaceAll('\n', '⏎');
