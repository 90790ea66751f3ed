// Block Lab's Training panel without a browser: what a state asks for, the configurations in step against the package
// itself, what an edit begins anew, divergence and the way back, and what the page keeps of a run.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CHANNELS } from '../../web/demo/panels/training/channels.js';
import { colorAt, decadesOf, pixels, shareOf } from '../../web/demo/panels/training/colors.js';
import { CAPACITY, Curves, SMOOTHING } from '../../web/demo/panels/training/curves.js';
import en from '../../web/demo/panels/training/en.js';
import { tableOfHeat } from '../../web/demo/panels/training/heat-table.js';
import { GRID } from '../../web/demo/panels/training/pictures.js';
import * as plans from '../../web/demo/panels/training/plan.js';
import { tableOfPlane } from '../../web/demo/panels/training/plane-table.js';
import { resultsOf } from '../../web/demo/panels/training/results.js';
import { RECIPES, TASKS, TRAINING_PROPS } from '../../web/demo/panels/training/state.js';
import { Trainer } from '../../web/demo/panels/training/trainer.js';
import zh from '../../web/demo/panels/training/zh.js';
import { fieldsOf, PRESETS } from '../../web/demo/presets.js';
import { toCsv } from '../../web/demo/shell/export/csv.js';
import { fromFile, toFile } from '../../web/demo/shell/export/everything.js';
import { initialState, PROPS } from '../../web/demo/state.js';
import { instance } from './shared.js';

const { makeTask, tasks } = await import('../../dist/lib/tasks.js');

const an = await instance('simd');
const first = initialState();
/** Small enough for a test. */
const small = { trainDepth: 2, trainWidth: 8, trainBatch: 8, trainSteps: 12 };
const planFor = (patch, configs = first.configs.map(fieldsOf)) =>
  plans.planOf({ ...first, ...small, ...patch }, configs);

function trainer(plan) {
  const made = new Trainer(an);
  made.apply(plan);
  return made;
}

/** Trains up to a number of steps; for each run, in the configurations' order, what the page is told. */
function train(made, steps = Infinity) {
  while (made.turn(steps));
  return made.frame();
}
/** Rows of a run: the step, CHANNELS, the layers. */
function rowsOf({ points, depth }) {
  const width = 1 + CHANNELS.length + depth;
  return Array.from({ length: points.length / width }, (_, i) => [...points.slice(i * width, (i + 1) * width)]);
}
const ids = (made) => made.runs.map(({ id }) => id);

// ---- What a state asks for

test('every task of the package has a name, a recipe and its texts', () => {
  assert.deepEqual(
    TASKS,
    tasks.map(({ name }) => name),
  );
  for (const recipe of Object.values(RECIPES)) {
    for (const [name, value] of Object.entries(recipe)) {
      const { type } = TRAINING_PROPS.find((prop) => prop.name === name);
      assert.equal(type.read(String(value)), value, name);
    }
  }
  for (const t of [en, zh]) {
    for (const name of TASKS) assert.ok(t.tasks[name].length > 0 && t.taskHelp[name].length > 10);
    for (const { name, view } of TRAINING_PROPS) {
      const said = t.knobs[name] ?? name === 'trainTask';
      assert.ok(view || said, name);
    }
    for (const name of Object.keys(planFor({}))) if (name !== 'designs') assert.ok(t.changed[name], name);
  }
  const keys = PROPS.map(({ key }) => key);
  assert.equal(new Set(keys).size, keys.length, 'keys of the link are unique');
});

test('every preset makes a stack for every task, and attention reads no later character', () => {
  const size = { depth: 1, width: 12 };
  for (const { name } of tasks) {
    const wanted = makeTask(an, name).config;
    for (const { id, values } of PRESETS) {
      const config = plans.stackFor(plans.planOf(first, [values]).designs[0], wanted, size);
      an.scope(() => {
        const { config: made } = an.stack(config);
        assert.equal(made.d_model, 12, id);
        assert.equal(made.d_out, wanted.d_out, id);
        assert.equal(made.causal && name === 'text', name === 'text', id);
      });
    }
  }
});

test('a stack has the design of its configuration at the panel’s size', () => {
  const stackOf = (fields, wanted, size = { depth: 3, width: 32 }) =>
    plans.stackFor(plans.planOf(first, [fields]).designs[0], wanted, size);
  const wanted = { d_in: 2, d_out: 2 };
  const base = { d_in: 2, d_out: 2, d_model: 32, depth: 3, mixing: 'none' };
  assert.deepEqual(stackOf({ placement: 'post' }, wanted), { ...base, placement: 'post', d_ff: 128 });
  assert.equal(stackOf({ d_model: 768, d_ff: 2048 }, wanted).d_ff, 85);
  assert.deepEqual(stackOf({ d_model: 768, depth: 12, layer: 3 }, wanted), stackOf({ d_model: 64, d_ff: 256 }, wanted));
  const { init_std } = stackOf({ d_model: 512, init: 'normal', init_std: 0.02 }, wanted);
  assert.equal(init_std * Math.sqrt(32), 0.02 * Math.sqrt(512), 'pre-activations keep their size');
  // As far as the field goes; what is out of range is the stack's to refuse, by the number that was given.
  assert.equal(plans.MAX_STD, an.fields.find(({ name }) => name === 'init_std').max);
  const most = { d_model: 512, init: 'normal', init_std: plans.MAX_STD };
  an.stack(stackOf(most, wanted)).dispose();
  assert.equal(stackOf(most, wanted).init_std, plans.MAX_STD);
  assert.throws(() => an.stack(stackOf({ ...most, init_std: 5000 }, wanted)), /init_std.*5000/);
  const held = (fields) => plans.isHeld(plans.planOf(first, [fields]).designs[0], 32);
  assert.deepEqual([most, { ...most, d_model: 16 }, { ...most, init_std: 5000 }, {}].map(held), [
    true,
    false,
    false,
    false,
  ]);

  const sequence = { d_in: 9, d_out: 8, mixing: 'attention', heads: 2, positions: 12 };
  const mixed = stackOf({ d_model: 64 }, sequence);
  assert.deepEqual([mixed.mixing, mixed.heads, mixed.positions], ['attention', 2, 12], 'as the task needs it');
  assert.equal(stackOf({ mixing: 'mean' }, sequence).mixing, 'mean', 'the configuration says otherwise');
  assert.equal(stackOf({ mixing: 'attention', heads: 8 }, sequence).heads, 8);
  assert.equal(stackOf({ mixing: 'attention', heads: 12 }, sequence).heads, 2, '12 does not divide 32');
  assert.equal(stackOf({ positions: 0 }, sequence).positions, undefined);
  assert.equal(stackOf({ norm: 'group_norm', groups: 12 }, wanted).groups, 8);
});

test('the schedule is the package’s, whatever is asked for', () => {
  const rates = (patch, steps) => {
    const rate = an.schedule(...plans.scheduleOf(planFor({ trainRate: 0.5, trainSteps: 10, ...patch })));
    return steps.map(rate);
  };
  assert.deepEqual(rates({}, [1, 5]), [0.5, 0.5]);
  assert.deepEqual(rates({ trainWarmup: 5 }, [1, 5, 9]), [0.1, 0.5, 0.5]);
  assert.deepEqual(rates({ trainSchedule: 'cosine' }, [10]), [0]);
  assert.deepEqual(rates({ trainSchedule: 'cosine', trainWarmup: 99 }, [5, 10]), [0.25, 0]);
  assert.deepEqual(rates({ trainSchedule: 'inverse_sqrt', trainWarmup: 4 }, [4, 16]), [0.5, 0.25]);
});

test('a batch is made smaller where a step would take too long, for all alike', () => {
  assert.equal(plans.samplesWithin(64, [{ d_model: 32, d_ff: 128, depth: 16 }], 1), 64);
  const wide = { d_model: 128, d_ff: 512, depth: 32, mixing: 'attention' };
  const fewer = plans.samplesWithin(512, [{ d_model: 8, d_ff: 32, depth: 1 }, wide], 32);
  assert.ok(fewer >= 1 && fewer < 64, String(fewer));
});

// ---- In step

/** The same training by the package alone. */
function byHand(fields, { seed, task: name, batch, depth, width, rate, decay, clip, steps }) {
  const task = makeTask(an, name, { seed, batch });
  const config = { ...task.config, ...fields, d_model: width, d_ff: 4 * width, depth };
  return an.scope(() => {
    const model = an.stack(config, { seed });
    const optimizer = an.optimizer('adamw', model, { rate, weightDecay: decay, decay: 'matrices', clip });
    return Array.from({ length: steps }, (_, step) =>
      an.scope(() => {
        const { x, target } = task.batch(step);
        const y = model.forward(an.tensor(x), { train: true, seed: step });
        const { value, gradient } = an.loss(task.loss, y, target, task.lossOptions);
        model.zeroGrad();
        model.backward(gradient, { dx: false });
        const norm = an.clipGradNorm(model, Infinity);
        const metric = task.metric(y, target);
        const own = Object.entries(model.gradients).filter(([parameter]) => parameter.startsWith('layers.1.'));
        const squares = own.flatMap(([, { data }]) => [...data]).reduce((sum, entry) => sum + entry * entry, 0);
        optimizer.step();
        return { loss: value, norm, metric, layer: Math.sqrt(squares) };
      }),
    );
  });
}

test('the figures are those of the package alone, bit for bit', () => {
  for (const task of ['spiral', 'teacher_student', 'copy']) {
    const plan = planFor({ trainTask: task });
    const made = trainer(plan);
    const frame = train(made);
    for (const [i, placement] of ['post', 'pre'].entries()) {
      const expected = byHand({ placement, init: 'xavier_normal' }, plan);
      const rows = rowsOf(frame[i]);
      assert.equal(rows.length, plan.steps);
      for (const [k, [step, loss, norm, rate, , , layer]] of rows.entries()) {
        assert.deepEqual([step, loss, norm, rate], [k + 1, expected[k].loss, expected[k].norm, plan.rate]);
        assert.ok(Math.abs(layer - expected[k].layer) < 1e-5 * expected[k].layer, `${task}: ${layer}`);
      }
      const [at, value] = frame[i].tests.at(-1);
      const { model } = made.runs[i].learner;
      const { test: held, metric } = made.task;
      assert.equal(at, plan.steps);
      assert.equal(value, metric(model.forward(held.x), held.target));
    }
    made.dispose();
  }
});

test('all take the same number of steps, however many are asked for at a time', () => {
  const made = trainer(planFor({}));
  for (let turns = 1; turns <= 10; turns++) {
    made.turn(Infinity);
    const steps = made.runs.map(({ learner }) => learner.steps);
    assert.deepEqual(steps, [Math.ceil(turns / 2), Math.floor(turns / 2)]);
  }
  made.dispose();
});

test('an edit begins anew what it concerns, and nothing else', () => {
  const made = trainer(planFor({}));
  train(made, 4);
  const [a, b] = ids(made);
  const fields = first.configs.map(fieldsOf);
  const applied = (patch, configs) => {
    made.apply(planFor(patch, configs));
    return ids(made);
  };
  assert.deepEqual(applied({ trainSteps: 20 }), [a, b], 'more steps');
  assert.deepEqual(applied({ trainSteps: 20, trainLog: true, inputMean: 3 }), [a, b], 'what is not of the training');
  assert.deepEqual(applied({}, [fields[1], fields[0]]), [b, a], 'another order');
  assert.deepEqual(applied({}, [fields[1]]), [b], 'one less');
  const [own, same] = applied({}, [{ ...fields[1], activation: 'relu' }, fields[1]]);
  assert.ok(own !== b && same === b, 'one edited while the other has moved');
  const frame = train(made, 4);
  assert.deepEqual(
    frame.map(({ steps }) => steps),
    [4, 4],
    'what is behind catches up',
  );
  const wider = applied({}, [
    { ...fields[1], activation: 'relu', d_model: 2 * fields[1].d_model, d_ff: 2 * fields[1].d_ff },
    fields[1],
  ]);
  assert.deepEqual(wider, [own, same], 'a width that the panel replaces');
  assert.ok(
    applied({ trainRate: 0.1 }, fields).every((id) => ![own, same].includes(id)),
    'the rate concerns all',
  );
  const before = ids(made);
  assert.ok(
    applied({ trainRate: 0.1, seed: 8 }, fields).every((id) => !before.includes(id)),
    'and the seed',
  );
  made.dispose();

  const cosine = planFor({ trainSchedule: 'cosine' });
  assert.deepEqual(plans.changes(cosine, { ...cosine, steps: 20 }).common, ['steps'], 'a cosine ends with the steps');
});

test('what cannot be made says why, and the others learn', () => {
  const made = trainer(planFor({}, [{ activation: 'relu', eps: -1 }, { placement: 'pre' }]));
  const [wrong, right] = train(made);
  assert.equal(wrong.status, 'failed');
  assert.match(wrong.error.message, /eps/);
  assert.equal(right.steps, small.trainSteps);
  made.dispose();
});

// ---- Divergence

// Without norms the warm-up comes to rates that no step survives; with norms before the branches they are survived.
const wild = {
  trainTask: 'teacher_student',
  trainOptimizer: 'momentum',
  trainRate: 1,
  trainWarmup: 100,
  trainDepth: 4,
  trainWidth: 32,
  trainBatch: 16,
  trainClip: 0,
  trainSteps: 120,
};
const wildConfigs = [{ norm: 'none', placement: 'none' }, fieldsOf(first.configs[1])];

test('what diverges is named and stops, the others go on; it goes back to a good snapshot and on from there', () => {
  const plan = planFor(wild, wildConfigs);
  const made = trainer(plan);
  const [lost, well] = train(made);
  assert.equal(lost.status, 'diverged');
  assert.equal(lost.divergence.value, 'NaN');
  assert.equal(lost.divergence.step, lost.steps + 1);
  assert.match(lost.divergence.tensor, /^layers\.\d\./);
  assert.equal(well.status, 'learning');
  assert.equal(well.steps, 120);
  assert.ok(lost.good > 0 && lost.good <= lost.steps - 10, `to step ${lost.good} of ${lost.steps}`);
  // Saved with everything else it says the same.
  const told = [lost, well];
  const [saved] = resultsOf({ plan, task: made.info(), phase: 'done', runs: told, curves: kept(told), names: [] }).runs;
  const { layer } = lost.divergence;
  assert.deepEqual(saved.marks, [
    { type: 'diverged', step: lost.steps + 1, tensor: lost.divergence.tensor, layer, value: 'NaN' },
  ]);
  assert.ok(layer >= 1 && layer <= 4);
  assert.equal(saved.curves.step.at(-1), lost.steps);

  made.rewind(lost.id);
  const [rewound] = made.frame();
  assert.deepEqual([rewound.status, rewound.steps, rewound.keep], ['rewound', lost.good, lost.good]);
  assert.equal(made.turn(Infinity), false, 'it waits');
  made.goOn(lost.id);
  const [again] = train(made);
  const before = rowsOf(lost).slice(lost.good);
  assert.deepEqual(rowsOf(again), before, 'the same bits as the first time');
  assert.deepEqual(again.divergence, lost.divergence);

  made.rewind(lost.id);
  made.apply({ ...plan, rate: 0.02, warmup: 0 });
  assert.deepEqual(ids(made), [lost.id, well.id], 'a lower rate acts from there on');
  const [calm] = train(made);
  assert.deepEqual([calm.status, calm.steps], ['learning', 120]);
  assert.equal(rowsOf(calm)[0][0], lost.good + 1);
  assert.equal(rowsOf(calm).at(-1)[1 + CHANNELS.indexOf('rate')], 0.02);
  assert.deepEqual(
    calm.marks.map(({ type }) => type),
    ['diverged', 'diverged', 'settings'],
  );

  made.restart(lost.id);
  assert.ok(ids(made)[0] !== lost.id && ids(made)[1] === well.id);
  made.dispose();
});

test('nothing stays allocated when a trainer is gone', () => {
  const { bytes, live } = an.stats();
  const made = trainer(planFor(wild, wildConfigs));
  train(made, 80);
  made.reset();
  made.apply(planFor({ trainTask: 'copy' }));
  train(made, 3);
  made.dispose();
  assert.deepEqual([an.stats().bytes, an.stats().live], [bytes, live]);
});

// ---- Pictures

function pictureOf(made, i) {
  const making = made.picture(made.runs[i]);
  let parts = 0;
  for (;;) {
    const { done, value } = making.next();
    if (done) return { ...value, parts };
    parts++;
  }
}

test('the plane shows what the model answers at each cell', () => {
  const made = trainer(planFor({}));
  train(made);
  const { classes, sure } = pictureOf(made, 1);
  const { extent, labels, points } = made.info();
  assert.equal(classes.length, GRID * GRID);
  assert.equal(points.length, 2 * labels.length);
  assert.ok(points.every((value) => Math.abs(value) <= extent));
  const { model } = made.runs[1].learner;
  for (const [column, row] of [
    [0, 0],
    [5, 40],
    [GRID - 1, 2],
  ]) {
    const at = (k) => -extent + (2 * extent * (k + 0.5)) / GRID;
    const [a, b] = model.forward({ data: Float32Array.of(at(column), at(row)), shape: [1, 2] });
    const cell = row * GRID + column;
    assert.equal(classes[cell], Number(b > a));
    assert.ok(Math.abs(sure[cell] / 255 - 1 / (1 + Math.exp(-Math.abs(a - b)))) < 0.003);
  }
  made.dispose();
});

test('a point of the plane is two columns of its CSV, with all digits, and one of the table that is read', () => {
  // Four cells: a at the left, b at the right; the second row is the upper one.
  const task = { points: Float32Array.of(-1.3333, 0.25, 0.1, -2), labels: [1, 1], extent: 2 };
  const { head, rows, exact } = tableOfPlane(
    task,
    [{ name: 'A' }, { name: 'B', picture: { classes: [0, 1, 0, 1] } }],
    en,
  );
  assert.deepEqual(
    [head, ...rows],
    [
      ['point', 'class', 'A', 'B'],
      ['(−1.33, 0.250)', 'b', '–', 'a'],
      ['(0.100, −2.00)', 'b', '–', 'b'],
    ],
  );
  assert.deepEqual(exact(), [
    ['x', 'y', 'class', 'A', 'B'],
    [Math.fround(-1.3333), 0.25, 'b', '–', 'a'],
    [Math.fround(0.1), -2, 'b', '–', 'b'],
  ]);
});

test('answers, predictions and text are those of the model', () => {
  const copy = trainer(planFor({ trainTask: 'copy' }));
  const { questions, answers } = copy.info();
  const { predicted } = pictureOf(copy, 0);
  for (const [row, tokens] of questions.entries()) {
    const asked = tokens.filter((token) => token < 8);
    assert.deepEqual(
      answers[row].filter((label) => label >= 0),
      asked,
    );
    assert.equal(predicted[row].length, tokens.length);
  }
  copy.dispose();

  const teacher = trainer(planFor({ trainTask: 'teacher_student' }));
  const { targets, predictions } = pictureOf(teacher, 0);
  const { x, target } = teacher.task.test;
  const y = teacher.runs[0].learner.model.forward(x);
  assert.deepEqual([...targets.slice(0, 4)], [...target.data.slice(0, 2), ...target.data.slice(8, 10)]);
  assert.deepEqual([...predictions.slice(0, 4)], [...y.slice(0, 2), ...y.slice(8, 10)]);
  teacher.dispose();

  const writer = trainer(planFor({ trainTask: 'text' }));
  const one = pictureOf(writer, 0);
  assert.equal(one.text.length, 96);
  assert.equal(one.parts, 96, 'a part for each character');
  assert.equal(pictureOf(writer, 0).text, one.text, 'drawn by the seed');
  writer.dispose();
});

// ---- What the page keeps

/** Steps of a run of two layers, whose values follow from the step. */
const points = (from, to, loss = (step) => step) =>
  Float64Array.from(
    Array.from({ length: to - from + 1 }, (_, i) => {
      const step = from + i;
      return [step, loss(step), 2 * step, 0.1, 0.5, step, step / 10];
    }).flat(),
  );

test('curves keep every step while there are few, and means of neighbours then', () => {
  const curves = new Curves();
  curves.push(1, 2, points(1, 10));
  assert.deepEqual(curves.steps(), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  assert.deepEqual(curves.values(1, 'gradient').slice(0, 3), [2, 4, 6]);
  assert.equal(curves.layers(1).at(1, 9), 1);
  curves.push(1, 2, points(11, 2 * CAPACITY + 8));
  assert.equal(curves.stride, 4);
  const losses = curves.values(1, 'loss');
  assert.deepEqual(losses.slice(0, 2), [2.5, 6.5]);
  assert.equal(losses.length, CAPACITY / 2 + 2);
  assert.equal(curves.steps().at(-1), 2 * CAPACITY + 8);
  assert.equal(curves.last(1).loss, 2 * CAPACITY + 8, 'the last step itself');
  assert.equal(curves.first(1).loss, 1);

  // One that comes later has its points at the same steps.
  curves.push(2, 2, points(1, 9));
  assert.deepEqual(curves.values(2, 'loss'), [2.5, 6.5, 9]);
  curves.keepOnly([2]);
  assert.deepEqual(curves.values(1, 'loss'), []);
  curves.keepOnly([]);
  assert.equal(curves.stride, 1);
});

test('the smooth curve is an unbiased mean of the steps', () => {
  const curves = new Curves();
  curves.push(
    1,
    2,
    points(1, 50, () => 3),
  );
  for (const value of curves.smooth(1, 'loss')) assert.ok(Math.abs(value - 3) < 1e-12);
  curves.push(
    1,
    2,
    points(51, 51, () => 4),
  );
  const weight = (1 - SMOOTHING) / (1 - SMOOTHING ** 51);
  assert.ok(Math.abs(curves.smooth(1, 'loss').at(-1) - (3 + weight)) < 1e-12);
});

test('a curve that goes back has nothing behind that step', () => {
  const curves = new Curves();
  curves.push(
    1,
    2,
    points(1, 30, (step) => (step > 25 ? 1e9 : 1)),
  );
  assert.equal(curves.exploded, true);
  curves.truncate(1, 25);
  assert.equal(curves.length(1), 25);
  assert.equal(curves.exploded, false);
  assert.equal(curves.last(1).gradient, 50);
  curves.push(1, 2, points(26, 27));
  assert.deepEqual(curves.steps().slice(-3), [25, 26, 27]);
  assert.deepEqual(curves.values(1, 'loss').slice(-3), [1, 26, 27]);
  curves.truncate(1, 0);
  assert.deepEqual([curves.length(1), curves.last(1)], [0, null]);
});

test('a scale of colours spans what there is, brighter for more', () => {
  const curves = new Curves();
  assert.equal(curves.extent, null);
  curves.push(1, 2, points(1, 30));
  assert.deepEqual(curves.extent, [0.1, 30]);
  assert.deepEqual(decadesOf(curves.extent), { top: 2, bottom: -1 });
  assert.deepEqual(decadesOf([1e-30, 10]), { top: 1, bottom: -7 });
  assert.deepEqual(decadesOf([10, 10]), { top: 1, bottom: 0 });
  const scale = { top: 2, bottom: -2 };
  assert.deepEqual([shareOf(1, scale), shareOf(0, scale), shareOf(100, scale)], [0.5, 0, 1]);
  const brightness = Array.from({ length: 11 }, (_, i) => colorAt(i / 10).reduce((sum, value) => sum + value, 0));
  assert.ok(brightness.every((value, i) => i === 0 || value > brightness[i - 1]));
  // Rows from above: the first row of the picture is the last of the cells.
  assert.deepEqual([...pixels(1, 2, (_, y) => (y === 1 ? [9, 8, 7] : null))], [9, 8, 7, 255, 0, 0, 0, 0]);
});

// ---- What is saved

/** What the page keeps of runs, from one frame. */
function kept(frame) {
  const curves = new Curves();
  for (const { id, depth, points } of frame) curves.push(id, depth, points);
  return curves;
}

test('everything has the training: each curve as the package gives it alone, tests and marks', () => {
  const plan = planFor({ trainTask: 'xor' });
  const made = trainer(plan);
  const runs = train(made);
  const saved = { plan, task: made.info(), phase: 'done', runs, curves: kept(runs), names: ['Post', 'Pre'] };
  const text = toFile({ state: first, results: [], panels: { training: { key: 'k', value: resultsOf(saved) } } });
  const { panels, units } = JSON.parse(text);
  const { value } = panels.training;
  assert.deepEqual(value.plan, plan);
  assert.deepEqual(value.task, { name: 'xor', kind: 'classification', classes: 2, batch: 8, metric: 'accuracy' });
  assert.equal(value.stepsPerPoint, 1);
  for (const [i, placement] of ['post', 'pre'].entries()) {
    const expected = byHand({ placement, init: 'xavier_normal' }, plan);
    const column = (name) => expected.map((row) => row[name]);
    const { name, depth, tests, marks, curves } = value.runs[i];
    assert.deepEqual([name, depth, marks], [['Post', 'Pre'][i], 2, []]);
    const steps = Array.from({ length: plan.steps }, (_, k) => k + 1);
    assert.deepEqual(curves.step, steps);
    assert.deepEqual(curves.loss, column('loss'));
    assert.deepEqual(curves.accuracy, column('metric'));
    assert.deepEqual(curves.gradient, column('norm'));
    assert.deepEqual(
      curves.rate,
      steps.map(() => plan.rate),
    );
    assert.equal(curves.gradientByBlock.length, 2);
    for (const [k, { layer }] of expected.entries())
      assert.ok(Math.abs(curves.gradientByBlock[1][k] - layer) < 1e-5 * layer, `step ${k + 1}`);
    const { test: held, metric } = made.task;
    const reached = metric(made.runs[i].learner.model.forward(held.x), held.target);
    assert.deepEqual(tests.at(-1), { step: plan.steps, accuracy: reached });
    for (const list of [curves.lossSmoothed, curves.gradientSmoothed, curves.gradientByBlock[0]])
      assert.ok(list.length === plan.steps && list.every((number) => number > 0));
    for (const unit of ['loss', 'accuracy', 'gradient', 'gradientByBlock', 'rate', 'step'])
      assert.ok(units[unit], unit);
  }
  assert.deepEqual(fromFile(text).state, first, 'it is opened as ever');
  made.dispose();
});

test('the heat maps’ CSV has every step that is kept and every block, with all digits', () => {
  const norm = (id, step, block) => 1 / (step + 10 * block + 100 * id);
  const rows = (id, depth, steps) =>
    Float64Array.from(
      Array.from({ length: steps }, (_, k) => [
        k + 1,
        ...CHANNELS.map(() => 1),
        ...Array.from({ length: depth }, (_, l) => norm(id, k + 1, l + 1)),
      ]).flat(),
    );
  const runsOf = (...steps) =>
    steps.map((count, i) => ({ id: i, depth: 2 - i, steps: count, points: rows(i, 2 - i, count) }));
  const tableOf = (runs) => tableOfHeat(runs, kept(runs), { names: ['A Post, Norm', 'B Pre'], letters: 'AB' }, en);
  const few = tableOf(runsOf(3, 2)); // the second has diverged
  assert.deepEqual(toCsv(few.exact()).slice(1).trim().split('\r\n'), [
    'step,"A Post, Norm, block 1","A Post, Norm, block 2","B Pre, block 1"',
    `1,${norm(0, 1, 1)},${norm(0, 1, 2)},${norm(1, 1, 1)}`,
    `2,${norm(0, 2, 1)},${norm(0, 2, 2)},${norm(1, 2, 1)}`,
    `3,${norm(0, 3, 1)},${norm(0, 3, 2)},`,
  ]);
  assert.deepEqual(
    few.rows.map(([block]) => block),
    ['2', '1'],
  );
  const [head, ...means] = tableOf(runsOf(CAPACITY + 3, 4)).exact();
  assert.equal(head[0], 'step (means of 2)');
  assert.deepEqual(
    means.map(([step]) => step),
    [...Array.from({ length: CAPACITY / 2 + 1 }, (_, i) => 2 * i + 2), CAPACITY + 3],
  );
  assert.deepEqual(means[1], [
    4,
    ...[1, 2].map((block) => (norm(0, 3, block) + norm(0, 4, block)) / 2),
    (norm(1, 3, 1) + norm(1, 4, 1)) / 2,
  ]);
  assert.deepEqual(means.at(-1), [CAPACITY + 3, norm(0, CAPACITY + 3, 1), norm(0, CAPACITY + 3, 2), null]);
});
