// What the Training panel adds to the state, as in state.js. Of the run itself nothing is in the link, only what it
// follows from.
import { flag, integer, number, oneOf } from '../../props.js';

/**
 * The tasks of addnorm/tasks, each with settings under which pre-norm of width 32 learns it within the steps; the choice
 * of a task sets them. In spiral post-norm is behind without warm-up (an accuracy of 0.50 to 0.98, median 0.73, over the
 * seeds 1 to 6, where pre-norm has at least 0.97) and less so with 40 steps of it (0.56 to 0.98, median 0.94).
 */
export const RECIPES = {
  spiral: { trainBatch: 64, trainRate: 0.002, trainSteps: 200, trainDepth: 20 },
  circles: { trainBatch: 64, trainRate: 0.003, trainSteps: 100, trainDepth: 16 },
  xor: { trainBatch: 64, trainRate: 0.003, trainSteps: 200, trainDepth: 16 },
  gaussians: { trainBatch: 64, trainRate: 0.003, trainSteps: 100, trainDepth: 16 },
  teacher_student: { trainBatch: 64, trainRate: 0.003, trainSteps: 300, trainDepth: 6 },
  copy: { trainBatch: 32, trainRate: 0.003, trainSteps: 200, trainDepth: 4 },
  reverse: { trainBatch: 32, trainRate: 0.003, trainSteps: 200, trainDepth: 4 },
  modular_addition: { trainBatch: 64, trainRate: 0.003, trainSteps: 200, trainDepth: 4 },
  majority: { trainBatch: 16, trainRate: 0.003, trainSteps: 100, trainDepth: 12 },
  text: { trainBatch: 16, trainRate: 0.003, trainSteps: 300, trainDepth: 8 },
};
export const TASKS = Object.keys(RECIPES);

/** sgd with a momentum of 0.9 is one of its own. */
export const OPTIMIZERS = ['sgd', 'momentum', 'adam', 'adamw'];
export const SCHEDULES = ['constant', 'cosine', 'inverse_sqrt'];
/** Steps per second; 0: as fast as it goes. */
export const SPEEDS = [0, 50, 20, 5, 1];

/** Which optimiser, how large its steps, and how the model is built: whose change begins the training anew. */
export const TRAINING_PROPS = [
  { name: 'trainTask', key: 'task', type: oneOf(...TASKS), initial: 'spiral' },
  { name: 'trainOptimizer', key: 'opt', type: oneOf(...OPTIMIZERS), initial: 'adamw' },
  { name: 'trainRate', key: 'lr', type: number(0, 100), initial: RECIPES.spiral.trainRate },
  { name: 'trainSchedule', key: 'sched', type: oneOf(...SCHEDULES), initial: 'constant' },
  { name: 'trainWarmup', key: 'warmup', type: integer(0, 20000), initial: 0 },
  /** 0: no clipping. */
  { name: 'trainClip', key: 'clip', type: number(0, 1e6), initial: 1 },
  { name: 'trainDecay', key: 'wd', type: number(0, 10), initial: 0.01 },
  { name: 'trainBatch', key: 'batch', type: integer(1, 512), initial: RECIPES.spiral.trainBatch },
  { name: 'trainDepth', key: 'tdepth', type: integer(1, 32), initial: RECIPES.spiral.trainDepth },
  { name: 'trainWidth', key: 'twidth', type: integer(4, 128), initial: 32 },
  { name: 'trainSteps', key: 'steps', type: integer(1, 20000), initial: RECIPES.spiral.trainSteps },
  { name: 'trainSpeed', key: 'speed', type: oneOf(...SPEEDS.map(String)), initial: '0', view: true },
  { name: 'trainLog', key: 'tlog', type: flag, initial: false, view: true },
];
