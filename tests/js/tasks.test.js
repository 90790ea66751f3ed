// The tasks: their data is what their help says, the same everywhere, and held out where it should be; and a model of ours
// learns each of them, sequences by mixing alone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failure, instance, inUse, same, variants } from './helpers.js';

const { alphabet, makeTask, tasks } = await import('../../dist/lib/tasks.js');
const { text } = await import('../../dist/lib/text.js');

const an = await instance('simd');
const names = tasks.map(String);

/** Training as the manual of makeTask has it; what the metric says of the held-out data. */
function train(task, change = {}, steps = task.good.steps) {
  return an.scope(() => {
    const model = an.stack({ ...task.config, ...change }, { seed: 1 });
    const { optimizer: name, ...settings } = task.recipe;
    const optimizer = an.optimizer(name, model, settings);
    for (let step = 0; step < steps; step++) {
      an.scope(() => {
        const { x, target } = task.batch(step);
        const y = model.forward(an.tensor(x), { train: true });
        const { gradient } = an.loss(task.loss, y, target, task.lossOptions);
        model.zeroGrad();
        model.backward(gradient, { dx: false });
        optimizer.step();
      });
    }
    const { x, target } = task.test;
    return task.metric(model.forward(an.tensor(x)), target);
  });
}

for (const { name, good } of tasks) {
  test(`${name}: ${good.metric} ${good.value} in ${good.steps} steps`, (t) => {
    const before = inUse(an);
    const reached = train(makeTask(an, name, { seed: 1 }));
    t.diagnostic(`${name}: ${good.metric} ${reached.toFixed(4)}`);
    assert.ok(good.metric === 'loss' ? reached <= good.value : reached >= good.value, `${reached}`);
    assert.deepEqual(inUse(an), before, 'nothing is left in memory');
  });
}

for (const { name, kind, good } of tasks) {
  if (kind !== 'sequence') continue;
  test(`${name}: without mixing it stays at chance`, (t) => {
    const task = makeTask(an, name, { seed: 1 });
    const reached = train(task, { mixing: 'none' });
    t.diagnostic(`${name}: ${good.metric} ${reached.toFixed(4)}, chance ${good.chance.toFixed(4)}`);
    if (good.metric === 'loss') {
      assert.ok(reached > good.chance, `${reached}`);
      return;
    }
    // Four standard deviations of as many guesses as there are answers.
    const answers = task.test.target.filter((label) => label >= 0).length;
    const spread = Math.sqrt((good.chance * (1 - good.chance)) / answers);
    assert.ok(Math.abs(reached - good.chance) < 4 * spread, `${reached}`);
  });
}

for (const [name, chance] of [
  ['circles', 0.5],
  ['xor', 0.5],
]) {
  test(`${name}: a linear model finds no more than chance and a margin`, () => {
    const reached = train(makeTask(an, name, { seed: 1 }), { activation: 'identity', norm: 'none' });
    assert.ok(reached < chance + 0.2, `${reached}`);
  });
}

test('counting which letter follows which gives the chance of the text', () => {
  const cut = Math.floor(text.length * 0.9);
  const counts = new Map();
  for (let i = 1; i < cut; i++) {
    const after = counts.get(text[i - 1]) ?? new Map();
    counts.set(text[i - 1], after.set(text[i], (after.get(text[i]) ?? 0) + 1));
  }
  const loss = (extra) => {
    let sum = 0;
    for (let i = cut + 1; i < text.length; i++) {
      const after = counts.get(text[i - 1]) ?? new Map();
      const total = [...after.values()].reduce((a, b) => a + b, 0);
      sum -= Math.log(((after.get(text[i]) ?? 0) + extra) / (total + extra * alphabet.length));
    }
    return sum / (text.length - cut - 1);
  };
  // Each letter counted a little more often than it came, so that none is impossible: the best of some such extras.
  const best = Math.min(...[0.05, 0.1, 0.2, 0.5, 1].map(loss));
  assert.equal(best.toFixed(2), tasks.find(({ name }) => name === 'text').good.chance.toFixed(2));
});

const floats = (target) => (target instanceof Int32Array ? Float32Array.from(target) : target.data);

test('the data depends on seed and step alone, in every variant', async () => {
  for (const name of names) {
    const first = makeTask(an, name, { seed: 7 });
    const { x, target } = first.batch(3);
    const all = [first.test, first.batch(4), makeTask(an, name, { seed: 8 }).batch(3)];
    for (const other of all) assert.notDeepEqual(other.x, x, name);
    for (const variant of variants) {
      const task = makeTask(await instance(variant), name, { seed: 7 });
      for (const [got, want] of [
        [task.batch(3), { x, target }],
        [task.test, first.test],
      ]) {
        assert.deepEqual(got.x.shape, want.x.shape);
        same(got.x.data, want.x.data, name);
        // The relaxed teacher may round its answers otherwise.
        if (name !== 'teacher_student' || variant !== 'relaxed') same(floats(got.target), floats(want.target), name);
      }
    }
  }
});

test('shapes are those of the configuration, and numbers are finite', () => {
  for (const name of names) {
    const task = makeTask(an, name);
    const { batch: rows } = task.options;
    const { d_in, d_out } = task.config;
    for (const { x, target } of [task.batch(0), task.test]) {
      assert.equal(x.shape.at(-1), d_in, name);
      assert.ok(x.data.every(Number.isFinite));
      const positions = x.data.length / d_in;
      if (task.kind === 'regression') assert.deepEqual(target.shape, [...x.shape.slice(0, -1), d_out]);
      else {
        assert.equal(target.length, positions);
        assert.ok(target.every((label) => label === -100 || (label >= 0 && label < d_out)));
      }
    }
    assert.equal(task.batch(0).x.shape[0], rows);
    assert.equal(makeTask(an, name, { batch: 3 }).batch(0).x.shape[0], 3);
  }
});

/** A task's batch as [x, y, label]. */
function pointsOf(name, options) {
  const { x, target } = makeTask(an, name, { seed: 2, batch: 500, noise: 0, ...options }).batch(0);
  return Array.from(target, (label, i) => [x.data[2 * i], x.data[2 * i + 1], label]);
}

test('points in the plane lie where they should', () => {
  for (const [x, y, label] of pointsOf('xor')) assert.equal(label, Number(x * y < 0));
  for (const classes of [2, 5]) {
    for (const [x, y, label] of pointsOf('circles', { classes })) {
      assert.ok(Math.abs(Math.hypot(x, y) - (2 * (label + 1)) / classes) < 1e-6);
    }
    for (const [x, y, label] of pointsOf('gaussians', { classes })) {
      const angle = (2 * Math.PI * label) / classes;
      assert.ok(Math.hypot(x - 2 * Math.cos(angle), y - 2 * Math.sin(angle)) < 1e-6);
    }
    for (const [x, y, label] of pointsOf('spiral', { classes, turns: 2.25 })) {
      const radius = Math.hypot(x, y);
      const angle = 2 * Math.PI * ((2.25 * radius) / 2 + label / classes);
      assert.ok(Math.hypot(x - radius * Math.cos(angle), y - radius * Math.sin(angle)) < 1e-5);
    }
  }
  const noisy = makeTask(an, 'gaussians', { noise: 0.5, classes: 2, batch: 10_000 }).batch(0);
  const off = Array.from(noisy.target, (label, i) => noisy.x.data[2 * i] - (label ? -2 : 2));
  const mean = off.reduce((a, b) => a + b) / off.length;
  const std = Math.sqrt(off.reduce((sum, value) => sum + value ** 2, 0) / off.length);
  assert.ok(Math.abs(mean) < 0.02 && Math.abs(std - 0.5) < 0.02, `${mean}, ${std}`);
});

test('the teacher answers with numbers of about variance 1', () => {
  for (const options of [{}, { width: 32, d_ff: 512 }, { width: 64, d_ff: 8 }]) {
    const { target } = makeTask(an, 'teacher_student', { seed: 4, ...options }).test;
    const variance = target.data.reduce((sum, value) => sum + value ** 2, 0) / target.data.length;
    assert.ok(variance > 0.6 && variance < 1.6, `${variance}`);
  }
});

/** The rows of a sequence task as the numbers of their symbols, and their labels. */
function rowsOf({ x, target }) {
  const [rows, length, symbols] = x.shape;
  assert.equal(x.data.filter((value) => value === 1).length, rows * length, 'one-hot');
  assert.equal(x.data.filter((value) => value === 0).length, rows * length * (symbols - 1));
  const token = (row, at) =>
    x.data.subarray((row * length + at) * symbols, (row * length + at + 1) * symbols).indexOf(1);
  return Array.from({ length: rows }, (_, row) => ({
    tokens: Array.from({ length }, (_, at) => token(row, at)),
    labels: [...target.subarray(row * length, (row + 1) * length)],
  }));
}
const none = (n) => new Array(n).fill(-100);

test('sequences ask for what their help says', () => {
  const solutions = {
    copy: (question) => question,
    reverse: (question) => question.toReversed(),
    modular_addition: ([a, b]) => [(a + b) % 11],
    majority: (question) => [Number(question.filter((bit) => bit === 1).length > question.length / 2)],
  };
  for (const [name, solve] of Object.entries(solutions)) {
    const task = makeTask(an, name, { seed: 5 });
    const marker = task.config.d_in - 1;
    assert.equal(marker, task.config.d_out);
    const seen = new Set();
    for (const { tokens, labels } of [...rowsOf(task.batch(0)), ...rowsOf(task.batch(1)), ...rowsOf(task.test)]) {
      const asked = tokens.indexOf(marker);
      const question = tokens.slice(0, asked);
      for (const symbol of question) seen.add(symbol);
      assert.ok(tokens.slice(asked).every((token) => token === marker));
      assert.deepEqual(labels, [...none(asked), ...solve(question)], name);
    }
    assert.equal(seen.size, marker, 'every symbol comes');
  }
  // Three symbols: the most frequent, of several the first.
  for (const { tokens, labels } of rowsOf(makeTask(an, 'majority', { symbols: 3, length: 6 }).batch(0))) {
    const counts = [0, 1, 2].map((symbol) => tokens.filter((token) => token === symbol).length);
    assert.equal(labels[6], counts.indexOf(Math.max(...counts)));
  }
});

test('the held-out data is held out', () => {
  const pairs = (batch) => rowsOf(batch).map(({ tokens }) => tokens.slice(0, 2).join());
  const task = makeTask(an, 'modular_addition');
  const trained = new Set(Array.from({ length: 20 }, (_, step) => pairs(task.batch(step))).flat());
  const tested = pairs(task.test);
  const [twins, others] = [0, 1].map((kind) =>
    tested.filter((pair) => Number(new Set(pair.split(',')).size > 1) === kind),
  );
  assert.ok(others.length > 100 && twins.length < 50);
  assert.ok(others.every((pair) => !trained.has(pair) && trained.has(pair.split(',').reverse().join())));
  assert.ok(new Set(others).size > 45, 'most of 11 * 10 / 2');

  const cut = Math.floor(text.length * 0.9);
  const spell = ({ tokens, labels }) => [tokens, labels].map((list) => list.map((i) => alphabet[i]).join(''));
  const story = makeTask(an, 'text', { length: 20 });
  const places = Array.from({ length: 60 }, (_, step) => rowsOf(story.batch(step)).map(spell)).flat();
  for (const [window, next] of places) {
    const whole = window + next.at(-1);
    assert.equal(next, whole.slice(1));
    assert.ok(text.slice(0, cut).includes(whole), whole);
  }
  const spread = places.map(([window]) => text.indexOf(window));
  assert.ok(Math.min(...spread) < 20 && Math.max(...spread) > cut - 40, 'from the first to the last place');
  const held = rowsOf(story.test).map(spell);
  assert.equal(held.map(([window]) => window).join(''), text.slice(cut, cut + 20 * held.length));
  assert.ok(text.length - cut - 20 * held.length <= 20, 'nothing is left out');
});

test('the text', () => {
  assert.match(text, /^[a-z ,.?\n]+$/);
  assert.ok(text.length > 3000 && text.length < 5000);
  assert.deepEqual([...alphabet].sort(), [...new Set(text)].sort());
});

test('metrics', () => {
  const task = makeTask(an, 'copy', { length: 1, symbols: 2 });
  const target = Int32Array.of(-100, 1, -100, 0);
  const y = (...data) => ({ data: Float32Array.from(data), shape: [2, 2, 2] });
  assert.equal(task.metric(y(9, 0, 0, 1, 9, 9, 1, 0), target), 1);
  assert.equal(task.metric(y(9, 0, 0, 1, 9, 9, 0, 1), target), 0.5);
  assert.equal(task.metric(y(9, 0, NaN, NaN, 9, 9, 0, 1), target), 0);
  assert.throws(() => task.metric(new Float32Array(7), target), failure('SHAPE_MISMATCH', /prediction/));
  const student = makeTask(an, 'teacher_student', { width: 2 });
  const wanted = { data: Float32Array.of(0, 2, 4, 6), shape: [2, 2] };
  assert.equal(student.metric(wanted, wanted), 1);
  assert.equal(student.metric(Float32Array.of(3, 3, 3, 3), wanted), 0);
  assert.equal(student.metric(Float32Array.of(0, 2, 4, 8), wanted), 0.8);
  assert.throws(() => student.metric(new Float32Array(3), wanted), failure('SHAPE_MISMATCH'));
  const story = makeTask(an, 'text');
  const logits = { data: new Float32Array(2 * alphabet.length), shape: [2, alphabet.length] };
  assert.ok(Math.abs(story.metric(logits, Int32Array.of(3, -100)) - Math.log(alphabet.length)) < 1e-6);
  // A plain array, as forward gives it for plain data.
  assert.equal(story.metric(logits.data, Int32Array.of(3, -100)), story.metric(logits, Int32Array.of(3, -100)));
  assert.throws(
    () => story.metric(new Float32Array(7), Int32Array.of(3, -100)),
    failure('SHAPE_MISMATCH', /prediction/),
  );
  for (const none of [undefined, null, 3, {}]) {
    assert.throws(() => task.metric(y(9, 0, 0, 1, 9, 9, 1, 0), none), failure('INVALID_ARGUMENT', /^target: expected/));
    assert.throws(() => student.metric(wanted, none), failure('INVALID_ARGUMENT', /^target: expected/));
  }
  assert.throws(
    () => task.metric(y(9, 0, 0, 1, 9, 9, 1, 0), Int32Array.of(1)),
    failure('SHAPE_MISMATCH', /for 1 targets, got \[2, 2, 2\]/),
    'fewer labels than rows',
  );
});

test('the list, options and errors', () => {
  assert.throws(() => makeTask(an, 'spirale'), failure('UNKNOWN_NAME', /did you mean 'spiral'/));
  assert.throws(() => makeTask(an), failure('INVALID_ARGUMENT', /^task: expected a name/));
  assert.throws(() => makeTask(an, 'copy', { lenght: 3 }), failure('UNKNOWN_OPTION', /'length'/));
  assert.throws(() => makeTask(an, 'copy', { length: 0 }), failure('INVALID_ARGUMENT', /^length/));
  assert.throws(() => makeTask(an, 'copy', { length: 1.5 }), failure('INVALID_ARGUMENT', /^length/));
  assert.throws(() => makeTask(an, 'copy', { seed: -1 }), failure('INVALID_ARGUMENT', /^seed/));
  const task = makeTask(an, 'copy');
  for (const step of [-1, 0.5, 2 ** 30, '1'])
    assert.throws(() => task.batch(step), failure('INVALID_ARGUMENT', /^step/));
  assert.ok(Object.isFrozen(tasks) && tasks.every((t) => Object.isFrozen(t) && Object.isFrozen(t.good)));
  for (const { name, options, help, good } of tasks) {
    assert.ok(help.length > 20 && good.help.length > 20);
    assert.deepEqual(
      makeTask(an, name).options,
      Object.fromEntries([['seed', 0], ...options.map((option) => [option.name, option.default])]),
    );
    // The ends of every range make a batch.
    for (const { name: option, min, max } of options) {
      for (const value of option === 'batch' ? [min] : [min, max]) makeTask(an, name, { [option]: value }).batch(0);
    }
  }
});
