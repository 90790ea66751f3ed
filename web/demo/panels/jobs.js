// What a panel wants of the worker beside the forward pass that all have in common. No DOM.
//
// A job is (state, context) => null, or a plain object that goes to the panel's run in panels/runs.js and starts one
// whenever its text as JSON changes. context: { catalog: what the module lists, or null until it is known;
// configs: [{ key, fields, trained }] as the common run has them; file: the input file's id or 0 }.
import { activationsJob } from './activations/job.js';
import { depthJob } from './depth/job.js';
import { normsJob } from './norms/job.js';
import { speedJob } from './speed/job.js';
import { weightsJob } from './weights/job.js';
import { wiringJob } from './wiring/job.js';

export const panelJobs = {
  activations: activationsJob,
  depth: depthJob,
  forward: normsJob,
  speed: speedJob,
  weights: weightsJob,
  wiring: wiringJob,
};
