// The Training panel's own worker, with an instance of the package of its own: the other panels' runs and training do not
// wait for one another. It lets messages in between steps, and tells the page at most ten times a second what is new.
import { load } from 'addnorm';
import { expose, transfer } from 'comlink';
import { Trainer } from './trainer.js';

const FRAME = 100; // milliseconds between what is told
const WITHOUT_BREATH = 12;
/** Of the time, what pictures may take while steps are made; but they are not older than this. */
const PICTURES = 0.15;
const [SOON, LATE] = [250, 2000];
const MAX_BYTES = 2 ** 30;

let trainer = null;
let variant = '';
let serial = 0; // of the plan that has been taken up, by the page's count
let error = null;
let tell = null; // the page's function
let target = 0; // steps up to which is trained
let away = ''; // why nothing is done at the moment: 'tab', 'panel' or nothing
let pace = 0; // steps a second, 0: any number
let held = -Infinity; // till when the processor is the page's: with two of them a visitor would wait for training

// ---- Waiting

// What comes while nobody waits is not forgotten: the next wait ends at once.
let woken = false;
let resume = () => {};
const wake = () => {
  woken = true;
  resume();
};
async function until(milliseconds) {
  if (!woken) {
    await new Promise((resolve) => {
      const timer = milliseconds === Infinity ? 0 : setTimeout(resolve, milliseconds);
      resume = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
  woken = false;
}

const { port1, port2 } = new MessageChannel();
let breathed = 0;
/** Lets messages in, where it has been long. */
async function breathe(now = performance.now()) {
  if (now - breathed < WITHOUT_BREATH) return;
  await new Promise((resolve) => {
    port1.onmessage = resolve;
    port2.postMessage(0);
  });
  breathed = performance.now();
}

// ---- The loop

let level = -1; // the step that was last begun

async function loop() {
  let due = 0; // when the next step may begin
  for (;;) {
    const now = performance.now();
    const idle = !trainer || away !== '';
    const step = idle ? Infinity : trainer.lowest;
    if (step >= Math.min(target, trainer?.plan.steps ?? 0)) {
      if (!idle) await draw();
      await report(true);
      await until(Infinity);
      due = 0;
      continue;
    }
    const fresh = step !== level; // all have taken the same steps
    if (fresh && now >= nextPicture) {
      await draw();
      continue;
    }
    if (fresh && pace > 0 && now < due) {
      await report();
      await until(due - now);
      continue;
    }
    if (now < held) {
      await until(held - now);
      continue;
    }
    if (fresh && pace > 0) due = Math.max(now, due + 1000 / pace);
    level = step;
    trainer.turn(target);
    count();
    await breathe();
    await report();
  }
}

// ---- Speed: steps of all configurations, over the last second or so

let counted = [];
function count() {
  if (trainer.lowest > (counted.at(-1)?.step ?? -1)) counted.push({ step: trainer.lowest, time: performance.now() });
  while (counted.length > 2 && counted[0].time < performance.now() - 1500) counted.shift();
}

function stepsPerSecond() {
  const [first, last] = [counted[0], counted.at(-1)];
  if (counted.length < 2 || !Number.isFinite(last.step)) return null;
  return (1000 * (last.step - first.step)) / (last.time - first.time);
}

// ---- Pictures

let nextPicture = 0;
const drawn = new Map(); // by a run's id, the steps that its picture shows
let pictures = [];

/** A new picture of every run that has gone on, in parts between which messages come in. */
async function draw() {
  const from = performance.now();
  const mine = trainer;
  for (const run of mine.runs) {
    if (!run.learner || drawn.get(run.id) === run.learner.steps) continue;
    const step = run.learner.steps;
    const picture = await complete(mine, run);
    if (!picture) break; // something has changed meanwhile
    drawn.set(run.id, step);
    pictures.push({ id: run.id, step, ...picture });
  }
  const ids = new Set(mine.runs.map(({ id }) => id));
  for (const id of drawn.keys()) if (!ids.has(id)) drawn.delete(id);
  const now = performance.now();
  nextPicture = now + Math.min(LATE, Math.max(SOON, (now - from) / PICTURES));
}

async function complete(mine, run) {
  const { learner } = run;
  try {
    const making = mine.picture(run);
    for (;;) {
      const { done, value } = making.next();
      if (done) return value;
      await breathe();
      if (trainer !== mine || run.learner !== learner || !mine.runs.includes(run)) return null;
    }
  } catch (problem) {
    return { error: plainError(problem) };
  }
}

// ---- What the page is told

let reported = 0;
let answered = Promise.resolve();
let waiting = false;

let informed = null; // what the page has been told of the task

const phase = () => {
  if (away) return 'away';
  if (!trainer) return 'loading';
  const open = trainer.lowest < trainer.plan.steps;
  return open ? (target > trainer.lowest ? 'running' : 'paused') : 'done';
};

/** A frame, if it is time for one and the page has dealt with the last; in any case where nothing will follow. */
async function report(last = false) {
  if (!tell || serial === 0) return;
  if (last) await answered;
  else if (waiting || performance.now() - reported < FRAME) return;
  reported = performance.now();
  waiting = true;
  const runs = trainer?.frame() ?? [];
  const news = trainer && trainer.data !== informed;
  if (news) informed = trainer.data;
  const frame = {
    serial,
    phase: phase(),
    away,
    error,
    speed: target > 0 ? stepsPerSecond() : null,
    steps: trainer?.plan.steps ?? 0,
    info: news ? trainer.info() : null,
    runs,
    pictures,
  };
  pictures = [];
  const buffers = runs.flatMap(({ points }) => (points.length > 0 ? [points.buffer] : []));
  answered = tell(transfer(frame, buffers)).finally(() => {
    waiting = false;
  });
}

// ---- What the page says

let applying = Promise.resolve();
const plainError = (problem) => ({ code: problem.code ?? problem.name, message: problem.message });

async function apply(plan, number) {
  try {
    if (!trainer || plan.variant !== variant) {
      const an = await load({ variant: plan.variant, maxBytes: MAX_BYTES });
      trainer?.dispose();
      trainer?.an.dispose();
      trainer = new Trainer(an);
      variant = plan.variant;
    }
    trainer.apply(plan);
    error = null;
  } catch (problem) {
    trainer?.an.dispose();
    trainer = null;
    error = plainError(problem);
  }
  if (target !== Infinity) target = 0;
  serial = number;
  counted = [];
  nextPicture = 0;
  wake();
}

// In the order of what the page says; what needs a trainer waits until there has been a plan.
const act = (deed) => {
  applying = applying.then(() => {
    deed();
    counted = [];
    wake();
  });
  return applying;
};

expose({
  connect(given) {
    tell = given;
    loop().catch((problem) => {
      error = plainError(problem);
      report(true);
    });
  },
  plan(plan, number) {
    applying = applying.then(() => apply(plan, number));
    return applying;
  },
  start: () => act(() => (target = Infinity)),
  // Not before all have taken the step that has begun.
  pause: () => act(() => (target = trainer && trainer.lowest === level ? level + 1 : 0)),
  /** One more step of those that are level. */
  step: () => act(() => (target = (trainer?.lowest ?? 0) + 1)),
  reset: () =>
    act(() => {
      if (target !== Infinity) target = 0;
      trainer?.reset();
    }),
  restart: (id) => act(() => trainer?.restart(id)),
  rewind: (id) => act(() => trainer?.rewind(id)),
  goOn: (id) => act(() => trainer?.goOn(id)),
  setPace(steps) {
    pace = steps;
    wake();
  },
  /** No step begins for so many milliseconds. */
  hold(milliseconds) {
    held = performance.now() + milliseconds;
  },
  setAway(reason) {
    away = reason;
    wake();
  },
});
