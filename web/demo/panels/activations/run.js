// The Activations panel's half in the worker.

/** As in panels/runs.js. */
export async function activationsRun() {}
