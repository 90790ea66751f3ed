// The panels' halves in the worker: run(job, context), where job is what panels/jobs.js gave. That of the first visit's panel
// comes with the worker, the others when they are first asked for.
//
// context: { an: the instance of the chosen variant; instance(variant): another one; breathe(): lets messages in, and
// throws once the run has been replaced or cancelled: to be awaited at least every 50 ms or so; undisturbed(): the same,
// waits while the page is hidden and is false where that may have disturbed what was just timed;
// progress(done, total); send(patch): adds to the panel's result on the page, whose former value is dropped with the
// first patch of a run; loadTrained(name): parameters of a trained model that comes with the page; file: { data, shape }
// or null }.
import { depthRun } from './depth/run.js';

/** Promises of them. */
export const panelRuns = {
  activations: async () => (await import('./activations/run.js')).activationsRun,
  depth: async () => depthRun,
  forward: async () => (await import('./norms/run.js')).normsRun,
  speed: async () => (await import('./speed/run.js')).speedRun,
  weights: async () => (await import('./weights/run.js')).weightsRun,
  wiring: async () => (await import('./wiring/run.js')).wiringRun,
};
