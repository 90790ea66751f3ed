// What a model has learned, to be looked at: its answer at every point of the plane, examples beside their targets, or
// text that it writes. No DOM.
import { alphabet } from 'addnorm/tasks';

/** Points of the plane along one side. */
export const GRID = 48;
const POINTS = 160;
const EXAMPLES = 4;
const SHOWN = 128; // rows of a regression
const WRITTEN = 96; // characters
const PROMPT = 16;
const TEMPERATURE = 0.7;

/** What stays the same while a task is learned: held-out points in the plane, or questions and their answers. */
export function dataOf(task) {
  const { x, target } = task.test;
  if (task.kind === 'classification') {
    const extent = 1.05 * x.data.reduce((far, value) => Math.max(far, Math.abs(value)), 0);
    return { points: x.data.slice(0, 2 * POINTS), labels: target.slice(0, POINTS), extent };
  }
  if (task.kind === 'regression') return {};
  if (task.name === 'text') return { prompt: tokensOf(x, 1)[0].slice(0, PROMPT).map(letter).join('') };
  const [, length] = x.shape;
  const answers = target.slice(0, EXAMPLES * length);
  return { questions: tokensOf(x, EXAMPLES), answers: rowsOf(answers, length) };
}

const letter = (token) => alphabet[token];
const rowsOf = (list, length) =>
  Array.from({ length: list.length / length }, (_, i) => [...list.slice(i * length, (i + 1) * length)]);

// One-hot vectors back to tokens, of the first sequences.
function tokensOf({ data, shape: [, length, symbols] }, count) {
  const tokens = Array.from({ length: count * length }, (_, i) =>
    data.subarray(i * symbols, (i + 1) * symbols).indexOf(1),
  );
  return rowsOf(tokens, length);
}

/**
 * The picture of a model, in parts that take a few milliseconds each: a generator whose result it is.
 * @param an @param model @param task @param data as dataOf gives it @param {number} seed of what is drawn by lot
 */
export function* pictureOf(an, model, task, data, seed) {
  if (task.kind === 'classification') return plane(an, model, data.extent);
  if (task.kind === 'regression') return answers(model, task);
  if (task.name === 'text') return yield* written(an, model, task, data.prompt, seed);
  const { length } = data.questions;
  const [, tokens, symbols] = task.test.x.shape;
  const shape = [length, tokens, symbols];
  const x = { data: task.test.x.data.slice(0, length * tokens * symbols), shape };
  const logits = model.forward(x);
  const best = Array.from({ length: length * tokens }, (_, i) => argmax(logits, i, logits.length / (length * tokens)));
  return { predicted: rowsOf(best, tokens) };
}

function argmax(data, row, width) {
  let best = 0;
  for (let k = 1; k < width; k++) if (data[row * width + k] > data[row * width + best]) best = k;
  return best;
}

/** The middle of a cell of the grid. */
export const cellAt = (k, extent) => (extent * (2 * k + 1 - GRID)) / GRID;

// Class and its probability, from 0 to 255, at every cell: rows from below, as the plane has them.
function plane(an, model, extent) {
  const data = new Float32Array(2 * GRID * GRID);
  for (let i = 0; i < GRID * GRID; i++) {
    data[2 * i] = cellAt(i % GRID, extent);
    data[2 * i + 1] = cellAt(Math.floor(i / GRID), extent);
  }
  const logits = model.forward({ data, shape: [GRID * GRID, 2] });
  const width = logits.length / (GRID * GRID);
  const shares = an.softmax({ data: logits, shape: [GRID * GRID, width] });
  const classes = Uint8Array.from({ length: GRID * GRID }, (_, i) => argmax(logits, i, width));
  return { classes, sure: Uint8Array.from(classes, (own, i) => Math.round(255 * shares[i * width + own])) };
}

// Targets and predictions, the first two outputs of some rows.
function answers(model, task) {
  const { x, target } = task.test;
  const [, width] = x.shape;
  const [, outputs] = target.shape;
  const y = model.forward({ data: x.data.slice(0, SHOWN * width), shape: [SHOWN, width] });
  const pick = (data) => Float32Array.from({ length: 2 * SHOWN }, (_, i) => data[(i >> 1) * outputs + (i & 1)]);
  return { targets: pick(target.data), predictions: pick(y) };
}

/** Goes on with the prompt, character by character, drawn by the model's probabilities at a temperature below 1. */
function* written(an, model, task, prompt, seed) {
  const { length } = task.options;
  const drawn = an.scope(() => an.random([WRITTEN], { distribution: 'uniform', seed }).toArray());
  const tokens = Array.from(prompt, (sign) => alphabet.indexOf(sign));
  for (const share of drawn) {
    const seen = tokens.slice(-length);
    const data = new Float32Array(seen.length * alphabet.length);
    for (const [i, token] of seen.entries()) data[i * alphabet.length + token] = 1;
    const logits = model.forward({ data, shape: [1, seen.length, alphabet.length] }).slice(-alphabet.length);
    tokens.push(draw(an.softmax(logits.map((value) => value / TEMPERATURE)), share));
    yield;
  }
  return { text: tokens.slice(prompt.length).map(letter).join('') };
}

function draw(shares, share) {
  let sum = 0;
  const found = shares.findIndex((own) => {
    sum += own;
    return sum > share;
  });
  return found < 0 ? argmax(shares, 0, shares.length) : found;
}
