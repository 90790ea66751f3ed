// One configuration that learns: its model, its optimiser, and what is kept to go back to. No DOM; `an` is an instance of
// the package, so Node's tests run it too.
import { CHANNELS } from './channels.js';
import { optimizerOf, scheduleOf } from './plan.js';

// A snapshot is taken this often, where the loss is not far above the lowest that it has been.
const SNAPSHOT_EVERY = 25;
const FAR = 2;
/** The loss that snapshots go by is a mean over about ten steps. */
const MEMORY = 0.9;
// A larger model keeps one snapshot, not two.
const LARGE = 1e6;
// What diverges was already on its way some steps before.
const BEFORE = 10;

export class Learner {
  #an;
  #model;
  #optimizer;
  #rate;
  #layers;
  #snapshots = [];
  #mean = { sum: 0, weight: 0 };
  #lowest = Infinity;

  /** learning, diverged, rewound: until it is told to go on. */
  status = 'learning';
  /** { step, tensor, layer, value: 'NaN', '∞' or '' } of the step that was not taken. */
  divergence = null;

  /** @param an @param config of the stack @param plan as in plan.js */
  constructor(an, config, plan) {
    this.#an = an;
    this.#model = an.stack(config, { seed: plan.seed });
    try {
      this.#setOptimizer(plan);
      this.#layers = layersOf(this.#model, config.depth);
      this.#keep();
    } catch (error) {
      this.#model.dispose();
      throw error;
    }
  }

  get model() {
    return this.#model;
  }

  get steps() {
    return this.#optimizer.steps;
  }

  get parameters() {
    return this.#model.cost(1).parameters;
  }

  #setOptimizer(plan) {
    const former = this.#optimizer;
    const [name, options] = optimizerOf(plan);
    this.#rate = this.#an.schedule(...scheduleOf(plan));
    const optimizer = this.#an.optimizer(name, this.#model, { ...options, rate: this.#rate });
    if (former) {
      optimizer.loadState(former.state());
      former.dispose();
    }
    this.#optimizer = optimizer;
  }

  /** Other settings of the same optimiser, from here on. */
  change(plan) {
    this.#setOptimizer(plan);
  }

  /**
   * One step.
   * @returns {Float64Array | null} the step's number, from 1, then CHANNELS, then the layers' gradient norms, from the
   *   first; null where it diverged
   */
  step(task, { x, target }) {
    const an = this.#an;
    return an.scope(() => {
      const seed = this.steps;
      const prediction = this.#model.forward(an.tensor(x), { train: true, seed });
      const { value, gradient } = an.loss(task.loss, prediction, target, task.lossOptions);
      this.#model.zeroGrad();
      this.#model.backward(gradient, { dx: false });
      const row = new Float64Array(1 + CHANNELS.length + this.#layers.length);
      row[0] = seed + 1;
      row.set([value, an.clipGradNorm(this.#model, Infinity), this.#optimizer.rate], 1);
      row[CHANNELS.length] = task.metric(prediction, target);
      row.set(
        this.#layers.map((layer) => an.clipGradNorm(layer, Infinity)),
        1 + CHANNELS.length,
      );
      try {
        this.#optimizer.step();
      } catch (error) {
        if (error.code !== 'DIVERGED') throw error;
        this.#diverge(error, value);
        return null;
      }
      this.#follow(value);
      return row;
    });
  }

  #diverge({ step, tensor, layer }, loss) {
    const values = [loss, ...this.#model.gradients[tensor].toArray()];
    const value = values.some(Number.isNaN) ? 'NaN' : values.every(Number.isFinite) ? '' : '∞';
    this.divergence = { step, tensor, layer, value };
    this.status = 'diverged';
  }

  // Keeps the state every now and then, as long as it is a good one.
  #follow(loss) {
    const mean = this.#mean;
    mean.sum = MEMORY * mean.sum + (1 - MEMORY) * loss;
    mean.weight = MEMORY * mean.weight + (1 - MEMORY);
    const now = mean.sum / mean.weight;
    this.#lowest = Math.min(this.#lowest, now);
    if (this.steps % SNAPSHOT_EVERY === 0 && now <= FAR * this.#lowest) this.#keep();
  }

  #keep() {
    const state = { step: this.steps, model: this.#model.state(), optimizer: this.#optimizer.state() };
    const count = this.parameters > LARGE ? 1 : 2;
    this.#snapshots = [...this.#snapshots, state].slice(-count);
  }

  /** Where rewind() would go. */
  get good() {
    const limit = this.steps - BEFORE;
    return (this.#snapshots.findLast(({ step }) => step <= limit) ?? this.#snapshots[0]).step;
  }

  /** Back to the last good snapshot; it waits there. */
  rewind() {
    const { good } = this;
    const { model, optimizer } = this.#snapshots.find(({ step }) => step === good);
    this.#model.loadState(model);
    this.#optimizer.loadState(optimizer);
    this.#snapshots = this.#snapshots.filter(({ step }) => step <= good);
    this.#mean = { sum: 0, weight: 0 };
    this.divergence = null;
    this.status = 'rewound';
  }

  /** The metric of the task on its held-out data. */
  evaluate(task) {
    return this.#an.scope(() => task.metric(this.#model.forward(this.#an.tensor(task.test.x)), task.test.target));
  }

  dispose() {
    this.#optimizer?.dispose();
    this.#model.dispose();
  }
}

// What is learned in each layer, as clipGradNorm takes it.
function layersOf({ parameters, gradients }, depth) {
  const names = Object.keys(gradients);
  return Array.from({ length: depth }, (_, i) => {
    const own = names.filter((name) => name.startsWith(`layers.${i}.`));
    return Object.fromEntries(own.map((name) => [name, { value: parameters[name], gradient: gradients[name] }]));
  });
}
