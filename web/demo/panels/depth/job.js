// What the worker has to compute for the Depth panel. No DOM.

/** As in panels/jobs.js. */
export const depthJob = () => null;
