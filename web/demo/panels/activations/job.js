// What the worker has to compute for the Activations panel. No DOM.

/** As in panels/jobs.js. */
export const activationsJob = () => null;
