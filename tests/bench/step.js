// One training step, forward, backward and AdamW, of an FFN with d_model 256, d_ff 1024 and 512 rows, in Chromium: against
// the forward pass alone, and against the same step of tfjs on its wasm backend. Interleaved; results are compared first.
// Prints ratios of one run; figures of different runs are not to be compared.
import { fileURLToPath } from 'node:url';
import { launch, openPage, serve } from '../browser/harness.js';

const modules = fileURLToPath(new URL('node_modules/@tensorflow/', import.meta.url));
const lib = fileURLToPath(new URL('../../dist/lib/', import.meta.url));
const rounds = Number(process.argv[2] ?? 30);

const server = await serve(
  { '/lib/': lib, '/tf/': modules },
  {
    '/': `<!doctype html><title>bench</title><link rel="icon" href="data:,">
      <script src="/tf/tfjs/dist/tf.min.js"></script>
      <script src="/tf/tfjs-backend-wasm/dist/tf-backend-wasm.min.js"></script>`,
  },
);
const browser = await launch();
const { page } = await openPage(browser, server.origin);
await page.goto(`${server.origin}/`);

const report = await page.evaluate(async (rounds) => {
  const { load } = await import('/lib/index.js');
  const [d, h, rows] = [256, 1024, 512];
  const rate = 1e-3;
  const weightDecay = 0.01;

  const addnorm = async (variant) => {
    const an = await load({ variant });
    const ffn = an.ffn({ d_model: d, d_ff: h, activation: 'gelu_erf' }, { seed: 1 });
    const x = an.random([rows, d], { seed: 2 });
    const target = an.random([rows, d], { seed: 3 });
    const optimizer = an.optimizer('adamw', ffn, { rate, weightDecay });
    return {
      an,
      ffn,
      x,
      target,
      forward: () => ffn.forward(x).dispose(),
      step() {
        ffn.zeroGrad();
        const y = ffn.forward(x, { train: true });
        const { value, gradient } = an.loss('mse', y, target);
        ffn.backward(gradient, { dx: false });
        optimizer.step();
        y.dispose();
        gradient.dispose();
        return value;
      },
    };
  };

  // tfjs has no AdamW; its Adam and the decay are the same work but for one pass over the weights, which is left out.
  const tf = globalThis.tf;
  tf.wasm.setWasmPaths('/tf/tfjs-backend-wasm/dist/');
  await tf.setBackend('wasm');
  await tf.ready();
  if (!(await tf.env().getAsync('WASM_HAS_SIMD_SUPPORT'))) throw new Error('tfjs runs without SIMD');
  const peer = (mine) => {
    const state = mine.ffn.state();
    // Matrices as [in, out], which its product takes without turning them.
    const variable = (name) => {
      const value = tf.tensor(state[name].data, state[name].shape);
      return tf.variable(value.rank === 2 ? tf.transpose(value) : value);
    };
    const [up, upBias, down, downBias] = ['up', 'up_bias', 'down', 'down_bias'].map(variable);
    const x = tf.tensor(mine.x.toArray(), [rows, d]);
    const target = tf.tensor(mine.target.toArray(), [rows, d]);
    const gelu = (z) => tf.mul(tf.mul(z, 0.5), tf.add(tf.erf(tf.mul(z, Math.SQRT1_2)), 1));
    const forward = () => {
      const hidden = gelu(tf.add(tf.matMul(x, up), upBias));
      return tf.add(tf.matMul(hidden, down), downBias);
    };
    const optimizer = tf.train.adam(rate, 0.9, 0.999, 1e-8);
    return {
      forward: () => tf.tidy(() => void forward().dataSync()),
      step: () =>
        tf.tidy(() => {
          const loss = optimizer.minimize(() => tf.losses.meanSquaredError(target, forward()), true);
          return loss.dataSync()[0];
        }),
    };
  };

  const relaxed = await addnorm('relaxed');
  const simd = await addnorm('simd');
  const other = peer(relaxed);
  const losses = [relaxed, simd, other].map((one) => [one.step(), one.step(), one.step()]);
  const apart = Math.max(...losses[2].map((value, i) => Math.abs(value / losses[0][i] - 1)));
  if (!(apart < 1e-3)) throw new Error(`the losses differ: ${JSON.stringify(losses)}`);

  const jobs = {
    'relaxed forward': relaxed.forward,
    'relaxed step': relaxed.step,
    'simd forward': simd.forward,
    'simd step': simd.step,
    'tfjs forward': other.forward,
    'tfjs step': other.step,
  };
  const times = Object.fromEntries(Object.keys(jobs).map((name) => [name, []]));
  for (let round = 0; round < rounds + 5; round++) {
    for (const [name, job] of Object.entries(jobs)) {
      const start = performance.now();
      job();
      if (round >= 5) times[name].push(performance.now() - start); // before that the engine still compiles
    }
  }
  const summary = Object.entries(times).map(([name, list]) => {
    list.sort((a, b) => a - b);
    return [name, { min: list[0], median: list[list.length >> 1] }];
  });
  return { losses, apart, times: Object.fromEntries(summary) };
}, rounds);

const { times } = report;
console.log(`losses of the first steps agree within ${report.apart.toExponential(1)}`);
for (const [name, { min, median }] of Object.entries(times)) {
  console.log(`${name.padEnd(16)} min ${min.toFixed(1)} ms, median ${median.toFixed(1)} ms`);
}
const ratio = (a, b) =>
  `${(times[a].min / times[b].min).toFixed(2)} of the minima, ${(times[a].median / times[b].median).toFixed(2)} of the medians`;
console.log(`step : forward, relaxed   ${ratio('relaxed step', 'relaxed forward')}`);
console.log(`step : forward, simd      ${ratio('simd step', 'simd forward')}`);
console.log(`tfjs : relaxed, step      ${ratio('tfjs step', 'relaxed step')}`);
console.log(`tfjs : simd, step         ${ratio('tfjs step', 'simd step')}`);
await browser.close();
await server.close();
