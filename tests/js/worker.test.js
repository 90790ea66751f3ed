// The package in worker threads: it needs no window, document or main thread.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { instance, randoms, same, variants, wasmBytes } from './helpers.js';

for (const variant of variants) {
  test(`${variant}: two workers at once give the main thread's bits`, async (t) => {
    const an = await instance(variant);
    const x = randoms(80, 1);
    const compiled = await WebAssembly.compile(wasmBytes(variant));
    // One loads by itself, the other is sent the compiled module.
    const runs = [undefined, compiled].map(async (wasm, seed) => {
      const worker = new Worker(new URL('fixtures/worker.js', import.meta.url), { workerData: { seed } });
      t.after(() => worker.terminate());
      worker.postMessage({ variant, wasm, x });
      const [answer] = await once(worker, 'message');
      return answer;
    });
    for (const [seed, answer] of (await Promise.all(runs)).entries()) {
      const block = an.block({ d_model: 8, d_ff: 16, gated: true }, { seed });
      same(answer.y, block.forward({ data: x, shape: [10, 8] }));
      block.dispose();
      assert.equal(answer.variant, variant);
      assert.deepEqual(answer.names, an.activations.map(String));
      // Lists can be posted: a page gets them from its worker.
      assert.deepEqual(
        answer.fields,
        an.fields.map((field) => ({ ...field })),
      );
    }
  });
}
