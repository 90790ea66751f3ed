// @ts-check
// What the engine can do at most: what the speed of a kernel or a block is judged against.
import * as check from './check.js';

const SAMPLES = 4;
const STEPS = 20_000; // of multiply-adds
const MILLISECONDS = 4; // a sample; a browser's clock may tick every tenth of one

/**
 * The best rate of a few samples: whatever disturbs one makes it slower.
 * @param {number} amount of work that a call does
 * @param {() => unknown} call
 * @returns {number} a second
 */
function rate(amount, call) {
  let best = 0;
  for (let sample = 0; sample < SAMPLES; sample++) {
    const start = performance.now();
    let done = 0;
    let time = 0;
    do {
      call();
      done += amount;
      time = performance.now() - start;
    } while (time < MILLISECONDS);
    best = Math.max(best, done / time);
  }
  return best * 1000;
}

/**
 * @param {import('./engine.js').Engine} engine
 * @param {import('./types.js').LimitsOptions} [options]
 * @returns {import('./types.js').Limits}
 */
export function limits({ memory }, options) {
  const { bytes: wanted = 2 ** 24 } = check.options('options', options, {
    bytes: (what, value) => check.integer(what, value, 1, 2 ** 32),
  });
  const half = Math.ceil(wanted / 8) * 4;
  const bytes = 2 * half;
  const pointer = memory.alloc(bytes, 'limits');
  try {
    const view = new Uint8Array(memory.floats(pointer, bytes / 4).fill(0).buffer, pointer, bytes);
    return {
      flops: rate(memory.call('an_limit_multiply_add', STEPS), () => memory.call('an_limit_multiply_add', STEPS)),
      read: rate(bytes, () => memory.call('an_limit_read', pointer, bytes / 4)),
      copy: rate(bytes, () => view.copyWithin(half, 0, half)),
    };
  } finally {
    memory.free(pointer);
  }
}
