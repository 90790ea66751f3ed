// The configurations that learn in step: one step each in turn, the furthest behind first, all on the same batches. What
// has changed goes to the page in frames. No DOM, no time: the worker says when, Node's tests run it too.
import { makeTask } from 'addnorm/tasks';
import { Learner } from './learner.js';
import { dataOf, pictureOf } from './pictures.js';
import { changes, isDue, places, SETTINGS, samplesWithin, stackFor } from './plan.js';

let ids = 0;

export class Trainer {
  #plan = null;
  #runs = [];
  #batch = { step: -1 };

  /** @param an an instance of the package, for as long as the plan's variant is the same */
  constructor(an) {
    this.an = an;
  }

  get plan() {
    return this.#plan;
  }

  get runs() {
    return this.#runs;
  }

  /** Takes up a plan: what it changes begins anew, or goes on with other settings where a run has been rewound. */
  apply(plan) {
    const before = this.#plan;
    const common = before ? changes(before, plan).common : ['task'];
    const held = this.#runs.some(({ learner }) => learner?.status === 'rewound');
    this.#plan = plan;
    const sameData = before && ['task', 'seed', 'batch'].every((name) => before[name] === plan[name]);
    if (!sameData) this.task = makeTask(this.an, plan.task, { seed: plan.seed, batch: plan.batch });
    const stacks = plan.designs.map((design) => stackFor(design, this.task.config, plan));
    const fewer = this.#fit(plan, stacks);
    if (common.length > 0 && held && !fewer && common.every((name) => SETTINGS.includes(name))) this.#goOn(plan);
    else if (common.length > 0 || fewer) this.#drop(this.#runs.splice(0));
    const former = this.#runs;
    const from = former.length > 0 ? places(before.designs, plan.designs) : plan.designs.map(() => -1);
    this.#drop(former.filter((_, i) => !from.includes(i)));
    this.#runs = from.map((place, i) => former[place] ?? this.#make(stacks[i]));
    if (!sameData || fewer) this.data = dataOf(this.task);
    this.#batch = { step: -1 };
  }

  // As many samples as the largest stack allows. True if the batches are others than before.
  #fit(plan, stacks) {
    const { shape } = this.task.test.x;
    const length = shape.length > 2 ? shape[1] : 1;
    const batch = samplesWithin(plan.batch, stacks, length);
    if (batch === this.task.options.batch) return false;
    this.task = makeTask(this.an, plan.task, { seed: plan.seed, batch });
    return true;
  }

  #make(config) {
    const run = { id: ++ids, config, learner: null, error: null, rows: [], tests: [], marks: [], keep: null };
    try {
      run.learner = new Learner(this.an, config, this.#plan);
      run.parameters = run.learner.parameters;
    } catch (error) {
      run.error = plainError(error);
    }
    return run;
  }

  #drop(runs) {
    for (const { learner } of runs) learner?.dispose();
  }

  #goOn(plan) {
    for (const run of this.#runs) {
      if (!run.learner) continue;
      run.learner.change(plan);
      run.marks.push({ type: 'settings', step: run.learner.steps, rate: plan.rate });
      if (run.learner.status === 'rewound') run.learner.status = 'learning';
    }
  }

  /** All from the start. */
  reset() {
    this.#drop(this.#runs);
    this.#runs = this.#runs.map(({ config }) => this.#make(config));
  }

  /** One from the start, by its id. */
  restart(id) {
    this.#runs = this.#runs.map((run) => {
      if (run.id !== id) return run;
      this.#drop([run]);
      return this.#make(run.config);
    });
  }

  /** Takes one that has diverged back to its last good snapshot, where it waits. */
  rewind(id) {
    const run = this.#runs.find((one) => one.id === id);
    if (run?.learner?.status !== 'diverged') return;
    run.learner.rewind();
    run.keep = run.learner.steps;
    run.rows = run.rows.filter(([step]) => step <= run.keep);
    run.tests = run.tests.filter(([step]) => step <= run.keep);
  }

  /** Lets one that waits go on. */
  goOn(id) {
    const run = this.#runs.find((one) => one.id === id);
    if (run?.learner?.status === 'rewound') run.learner.status = 'learning';
  }

  /** The number of steps of the one furthest behind of those that learn; Infinity if none does. */
  get lowest() {
    return Math.min(
      ...this.#runs.flatMap(({ learner }) => (learner?.status === 'learning' ? [learner.steps] : [])),
      Infinity,
    );
  }

  /** One step of one configuration, up to a number of steps; false if none is left. */
  turn(limit) {
    const step = this.lowest;
    if (step >= Math.min(limit, this.#plan.steps)) return false;
    const run = this.#runs.find(({ learner }) => learner?.status === 'learning' && learner.steps === step);
    if (this.#batch.step !== step) this.#batch = { step, ...this.task.batch(step) };
    try {
      this.#step(run);
    } catch (error) {
      run.learner.dispose();
      run.learner = null;
      run.error = plainError(error);
    }
    return true;
  }

  #step(run) {
    const { learner } = run;
    const row = learner.step(this.task, this.#batch);
    if (!row) {
      const { divergence } = learner;
      run.marks.push({ type: 'diverged', ...divergence });
      return;
    }
    run.rows.push(row);
    const { steps } = learner;
    if (isDue(steps) || steps === this.#plan.steps) run.tests.push([steps, learner.evaluate(this.task)]);
  }

  /** The picture of a run: a generator, as pictureOf. */
  picture({ learner }) {
    return pictureOf(this.an, learner.model, this.task, this.data, this.#plan.seed);
  }

  /** What stays the same for all runs. */
  info() {
    const { name, kind, good, config, options } = this.task;
    return { name, kind, good: { ...good }, classes: config.d_out, batch: options.batch, ...this.data };
  }

  /** What is new since the last frame, as plain objects. */
  frame() {
    return this.#runs.map((run) => {
      const { id, config, learner, error, rows, tests, marks, keep, parameters } = run;
      Object.assign(run, { rows: [], tests: [], keep: null });
      const width = rows[0]?.length ?? 0;
      const points = new Float64Array(rows.length * width);
      for (const [i, row] of rows.entries()) points.set(row, i * width);
      return {
        id,
        depth: config.depth,
        mixing: config.mixing,
        status: error ? 'failed' : learner.status,
        steps: learner?.steps ?? 0,
        divergence: learner?.divergence ?? null,
        good: learner?.status === 'diverged' ? learner.good : null,
        error,
        parameters,
        points,
        tests,
        marks: [...marks],
        keep,
      };
    });
  }

  dispose() {
    this.#drop(this.#runs);
    this.#runs = [];
  }
}

const plainError = (error) => ({ code: error.code ?? error.name, message: error.message });
