// What training has given, as it is saved with everything else. No DOM.

/**
 * @param {object} training
 * @param {object} training.plan that the runs are of, as in plan.js
 * @param {object} training.task as the worker tells of it @param {string} training.phase
 * @param {object[]} training.runs by configuration @param training.curves of these runs @param {string[]} training.names
 * @returns {object} of each run the curves, each a list with a value for every point, and what happened in which step. A
 *   point is the mean of stepsPerPoint steps, of which step is the last; what is smoothed is as it was in that one
 */
export function resultsOf({ plan, task, phase, runs, curves, names }) {
  const { name, kind, classes, batch, good } = task;
  return {
    plan,
    task: { name, kind, classes, batch, metric: good.metric },
    phase,
    stepsPerPoint: curves.stride,
    runs: runs.map((run, index) => ({
      name: names[index],
      status: run.status,
      steps: run.steps,
      depth: run.depth,
      mixing: run.mixing,
      parameters: run.parameters,
      error: run.error,
      divergence: run.divergence,
      marks: run.marks,
      tests: run.tests.map(([step, value]) => ({ step, [good.metric]: value })),
      curves: curvesOf(run, curves, good.metric),
    })),
  };
}

// The metric under its own name: where that is the loss, both are the same.
function curvesOf({ id, steps, depth }, curves, metric) {
  const { length, at } = curves.layers(id);
  const points = Array.from({ length }, (_, i) => i);
  return {
    step: points.map((i) => Math.min((i + 1) * curves.stride, steps)),
    [metric]: curves.values(id, 'metric'),
    loss: curves.values(id, 'loss'),
    lossSmoothed: curves.smooth(id, 'loss'),
    gradient: curves.values(id, 'gradient'),
    gradientSmoothed: curves.smooth(id, 'gradient'),
    rate: curves.values(id, 'rate'),
    gradientByBlock: Array.from({ length: depth }, (_, layer) => points.map((i) => at(layer, i))),
  };
}
