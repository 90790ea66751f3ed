// The panels' halves in the worker: run(job, context), where job is what panels/jobs.js gave.
//
// context: { an: the instance of the chosen variant; instance(variant): another one; breathe(): lets messages in, and
// throws once the run has been replaced or cancelled: to be awaited at least every 50 ms or so; undisturbed(): the same,
// waits while the page is hidden and is false where that may have disturbed what was just timed;
// progress(done, total); send(patch): adds to the panel's result on the page, whose former value is dropped with the
// first patch of a run; loadTrained(name): parameters of a trained model that comes with the page; file: { data, shape }
// or null }.
import { activationsRun } from './activations/run.js';
import { depthRun } from './depth/run.js';
import { normsRun } from './norms/run.js';
import { speedRun } from './speed/run.js';
import { weightsRun } from './weights/run.js';
import { wiringRun } from './wiring/run.js';

export const panelRuns = {
  activations: activationsRun,
  depth: depthRun,
  forward: normsRun,
  speed: speedRun,
  weights: weightsRun,
  wiring: wiringRun,
};
