// What the tests of training have in common.
import { instance } from './helpers.js';

export const an = await instance('simd');
export const seeds = [1, 2, 3, 4, 5, 6, 7, 8];
export const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
export const fixed = (values, digits = 3) => values.map((value) => value.toFixed(digits)).join(' ');

/** Losses of the steps from `from` to below `to`. `change` may put another target in a batch's place. */
export function train(
  model,
  optimizer,
  task,
  from,
  to,
  { change = (target) => target, before = () => {}, on = an } = {},
) {
  return Array.from({ length: to - from }, (_, i) =>
    on.scope(() => {
      const { x, target } = task.batch(from + i);
      const y = model.forward(on.tensor(x), { train: true, seed: from + i });
      const { value, gradient } = on.loss(task.loss, y, change(target, from + i), task.lossOptions);
      model.zeroGrad();
      model.backward(gradient, { dx: false });
      before(from + i);
      optimizer.step();
      return value;
    }),
  );
}

/** What probe tells of the model and data that it has not seen. */
export function probe(model, task, { x, target } = task.test) {
  return model.probe(x, (y) => {
    const prediction = { data: y, shape: [y.length / model.config.d_out, model.config.d_out] };
    return an.loss(task.loss, prediction, target, task.lossOptions).gradient;
  });
}

/** The gradient of the stream at the input by that at the end. */
export function gradientRatio(model, task) {
  const { sublayers, stream } = probe(model, task, task.batch(10_000));
  return sublayers[0].gradient / stream.gradient;
}
