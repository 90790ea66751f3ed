// What the worker has to compute for the Weights panel. No DOM.

/** As in panels/jobs.js. */
export const weightsJob = () => null;
