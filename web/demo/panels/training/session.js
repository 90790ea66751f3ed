// The Training panel's live half on the page: what is wanted goes to its worker, what it tells is kept for the pictures.
import { computed, effect, signal } from '@preact/signals';
import { proxy, wrap } from 'comlink';
import { fieldsOf } from '../../presets.js';
import { announcement, picks, state, text, training } from '../../session.js';
import { provideResults } from '../../shell/export/registry.js';
import { afterPaint, isAnswering, onInput } from '../../shell/later.js';
import { makeWorker } from '../../workers.js';
import { Curves } from './curves.js';
import { later } from './later.js';
import { changes, places, planOf, SETTINGS } from './plan.js';
import { resultsOf } from './results.js';

/** What is to be trained. Names and colours of the configurations are not in it. */
const planText = computed(() => JSON.stringify(planOf(picks, picks.configs.map(fieldsOf))));
export const plan = computed(() => JSON.parse(planText.value));

/** What the worker last told of the whole: { phase, away, speed, steps, error }. */
export const status = signal({ phase: 'loading', away: '', speed: null, steps: 0, error: null });
/** The task as it is being learned: name, kind, good, classes, batch and its data; null at first. */
export const task = signal(null);
/** Of each configuration, in their order: { id, status, steps, divergence, good, tests, marks, ... }. */
export const runs = signal([]);
/** By a run's id the last picture, and the number of steps that it shows. */
export const pictures = signal(new Map());
/** What an edit has done: { type: 'all' | 'some' | 'settings', names or places }; null before the first. */
export const notice = signal(null);
export const curves = new Curves();
/** Whether a loss has left all measure. */
export const exploded = signal(false);

/** What of these changes rarely, for parts that need not be made anew with every frame. */
export const order = computed(() => runs.value.map(({ id }) => id).join());
export const begun = computed(() => runs.value.some(({ steps }) => steps > 0));
export const limit = computed(() => status.value.steps);
export const phase = computed(() => status.value.phase);
effect(() => {
  training.value = !['paused', 'done'].includes(phase.value);
});
export const failure = computed(() => status.value.error);
export const mixings = computed(() => [...new Set(runs.value.map(({ mixing }) => mixing))].join());

/** The parts of the panel. */
const TICKS = ['loss', 'pictures', 'metric', 'heat', 'gradient', 'rate', 'table'];
/** By part, a number that grows whenever there is something new to draw. */
export const ticks = Object.fromEntries(TICKS.map((name) => [name, signal(0)]));

/** Grows once a second at most, and at the end: for what costs more to draw than a picture. */
export const slow = signal(0);

const answered = signal(''); // the plan, as text, that the worker has taken up
/** Whether what is shown is of another plan than the state asks for. */
export const isBehind = computed(() => answered.value !== planText.value);

const namesNow = () => state.peek().configs.map(({ name }) => name);
let [sentNames, answeredNames] = [[], []]; // of the configurations that a plan was made of

// Also after the panel has been left, when the page's configurations may be others.
provideResults('training', () => {
  const key = answered.peek();
  if (!begun.peek() || !key) return null;
  const told = { plan: JSON.parse(key), task: task.peek(), phase: phase.peek(), runs: runs.peek() };
  const names = isBehind.peek() ? answeredNames : namesNow();
  return { key, value: resultsOf({ ...told, curves, names }), error: failure.peek() ?? undefined };
});

let worker = null;
let api = null;
let shown = false;
let sent = null; // the last plan that went to the worker
let serial = 0;

// ---- To the worker

function begin() {
  worker = makeWorker('training');
  worker.onerror = (event) => {
    event.preventDefault();
    fail({ code: 'WORKER', message: event.message || 'worker' });
  };
  api = wrap(worker);
  api.connect(proxy(receive));
  api.setPace(Number(state.peek().trainSpeed));
  api.start();
}

/** Once more with another worker, after an error that ended the last. */
export function again() {
  worker.terminate();
  sent = null;
  curves.keepOnly([]); // the next worker counts its runs from one again
  runs.value = [];
  pictures.value = new Map();
  status.value = { ...status.value, phase: 'loading', error: null };
  begin();
  sendPlan();
}

const fail = (error) => {
  status.value = { ...status.value, phase: 'done', error };
};

/** The panel has been opened, or left: what is not seen is not trained. */
export function show(visible) {
  shown = visible;
  if (shown && !worker) begin();
  tellAway();
  if (shown) sendPlan();
}

const tellAway = () => api?.setAway(document.hidden ? 'tab' : shown ? '' : 'panel');
document.addEventListener('visibilitychange', tellAway);

function sendPlan() {
  const next = plan.peek();
  if (!shown || !api || sent === next) return;
  notice.value = sent ? (noticeOf(sent, next) ?? notice.peek()) : null;
  sent = next;
  sentNames = namesNow();
  api.plan(next, ++serial);
}

function noticeOf(before, after) {
  const { common, designs } = changes(before, after);
  const goesOn = runs.peek().some((run) => run.status === 'rewound') && common.every((name) => SETTINGS.includes(name));
  if (common.length > 0) return { type: goesOn ? 'settings' : 'all', names: common };
  if (!designs) return null;
  const fresh = places(before.designs, after.designs).flatMap((place, i) => (place < 0 ? [i] : []));
  return fresh.length > 0 ? { type: 'some', places: fresh } : null;
}

const DEBOUNCE = 150;
let timer = 0;
effect(() => {
  planText.value;
  clearTimeout(timer);
  timer = setTimeout(sendPlan, sent ? DEBOUNCE : 0);
});
effect(() => {
  const pace = Number(picks.trainSpeed);
  if (worker) api.setPace(pace);
});

// While a key is held down training goes on at half its speed.
const HOLD_EVERY = 400;
let holding = -Infinity;
onInput((milliseconds) => {
  const now = performance.now();
  if (!shown || phase.peek() !== 'running' || now - holding < HOLD_EVERY) return;
  holding = now;
  api.hold(milliseconds);
});

export const start = () => api?.start();
export const pause = () => api?.pause();
export const step = () => api?.step();
export const reset = () => {
  notice.value = null;
  api?.reset();
};
export const restart = (id) => api?.restart(id);
export const rewind = (id) => api?.rewind(id);
export const goOn = (id) => api?.goOn(id);

// ---- From the worker

// Also what still comes of a former plan: the runs that go on are told of their steps but once.
function receive({ serial: of, info, runs: told, pictures: drawn, ...said }) {
  const known = new Map(runs.peek().map((run) => [run.id, run]));
  curves.keepOnly(told.map(({ id }) => id));
  runs.value = told.map(({ points, tests, keep, ...run }) => {
    if (keep !== null) curves.truncate(run.id, keep);
    curves.push(run.id, run.depth, points);
    const former = (known.get(run.id)?.tests ?? []).filter(([step]) => keep === null || step <= keep);
    return { ...run, tests: [...former, ...tests] };
  });
  if (info) task.value = info;
  if (of === serial) {
    answered.value = JSON.stringify(sent);
    answeredNames = sentNames;
  }
  exploded.value = curves.exploded;
  const others = keepPictures(drawn);
  const ended = said.phase !== status.peek().phase && ['done', 'paused'].includes(said.phase);
  status.value = said;
  if (ended) announcement.value = text.peek().training.said(said.phase, furthest(), said.steps);
  const over = said.phase !== 'running';
  drawNext(others ? TICKS : TICKS.filter((name) => name !== 'pictures'), over);
  if (over || performance.now() - slowed > SLOW) {
    slowed = performance.now();
    slow.value++;
  }
}

const SLOW = 1000;
let slowed = 0;

/** Steps of the run that is furthest. */
export const furthest = () => Math.max(0, ...runs.peek().map((run) => run.steps));

// Whether there are others than before.
function keepPictures(drawn) {
  const ids = new Set(runs.peek().map(({ id }) => id));
  const kept = [...pictures.peek()].filter(([id]) => ids.has(id));
  if (drawn.length === 0 && kept.length === pictures.peek().size) return false;
  pictures.value = new Map([...kept, ...drawn.map((picture) => [picture.id, picture])]);
  return true;
}

// Milliseconds between two drawings of a part, where it is dear or says little in a tenth of a second.
const EVERY = { heat: 300, table: 300, rate: 500 };
const drawnAt = {};
const draw = Object.fromEntries(TICKS.map((name) => [name, () => ticks[name].value++]));

// What is due and not yet drawn; no drawing before `free`, so that the page has most of its time for the visitor where it
// draws slowly.
const SLOWEST = 500;
const due = new Set();
let free = 0;
let drawn = 0;
const PATIENCE = 600; // how long the drawings wait for what the visitor does

// One part after the other, each in a task of its own; all of them where nothing will follow.
function drawNext(names, last) {
  const now = performance.now();
  for (const name of names) due.add(name);
  if (!last && (now < free || (isAnswering() && now - drawn < PATIENCE))) return;
  drawn = now;
  for (const name of due) {
    if (!last && now - (drawnAt[name] ?? 0) < (EVERY[name] ?? 0)) continue;
    due.delete(name);
    drawnAt[name] = now;
    later(draw[name]);
  }
  free = Number.POSITIVE_INFINITY;
  later(() =>
    afterPaint(() => {
      const end = performance.now();
      free = end + Math.min(3 * (end - now), SLOWEST);
    }),
  );
}
