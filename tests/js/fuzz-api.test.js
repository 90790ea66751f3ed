// The JavaScript API against random programs, a small part of `npm run fuzz`, and what these have found.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { anything, done, finiteness, uncalled } from '../fuzz/api.js';
import { failure, instance, shaped, Tensor } from './helpers.js';

const { makeTask } = await import('../../dist/lib/tasks.js');
const { writeSafetensors } = await import('../../dist/lib/formats.js');
const seed = Number(process.env.ADDNORM_SEED ?? 20240607);

test('programs call every method and getter of the public classes', () => {
  assert.deepEqual(uncalled(), []);
});

test('any arguments to any method give a result or an AddnormError, change nothing and leave nothing behind', () => {
  fc.assert(anything, { seed, numRuns: 300 });
});

test('finite numbers of moderate size give finite results', () => {
  fc.assert(finiteness, { seed, numRuns: 200 });
});

test('both are about something: on every variant, every method has given results', (t) => {
  t.diagnostic(`programs: ${[...done.programs].map(([variant, count]) => `${variant} ${count}`).join(', ')}`);
  assert.ok([...done.programs.values()].every((count) => count >= 100));
  const least = Math.min(...done.results.values());
  assert.ok(done.results.size >= 57 && least >= 1, `${done.results.size} methods`);
  const total = [...done.results.values()].reduce((a, b) => a + b);
  assert.ok(total > done.calls / 4, `${total} results of ${done.calls} calls`);
});

const detach = ({ buffer }) => structuredClone(buffer, { transfer: [buffer] });
const an = await instance('simd');

test('an array that a later argument detaches or resizes while it is read is named', () => {
  const x = Float32Array.of(1, 2, 3);
  const y = {
    shape: [3],
    get data() {
      if (x.length > 0) detach(x);
      return Float32Array.of(4, 5, 6);
    },
  };
  assert.throws(() => an.add(x, y), failure('INVALID_ARGUMENT', /^x: its buffer/));
  // Often, so that it is optimised too: V8 11 then keeps an array's length though its buffer is gone.
  for (let i = 0; i < 20_000; i++) an.add(Float32Array.of(1), Float32Array.of(2));
  for (const method of ['add', 'activationBackward', 'softmaxBackward']) {
    const given = Float32Array.of(1, 2, 3);
    const other = {
      shape: [3],
      get data() {
        detach(given);
        return Float32Array.of(4, 5, 6);
      },
    };
    const args = method === 'activationBackward' ? ['relu', given, other] : [given, other];
    assert.throws(() => an[method](...args), failure('INVALID_ARGUMENT', /^[xy]: its buffer/));
  }
  const buffer = new ArrayBuffer(12, { maxByteLength: 24 });
  const growing = new Float32Array(buffer);
  const grow = {
    shape: [3],
    get data() {
      buffer.resize(24);
      return Float32Array.of(4, 5, 6);
    },
  };
  assert.throws(() => an.add(growing, grow), failure('INVALID_ARGUMENT', /^x: its buffer/));
});

test('a file is not written of an array that was resized meanwhile', () => {
  const buffer = new ArrayBuffer(12, { maxByteLength: 24 });
  const tensors = {
    a: new Float32Array(buffer),
    get b() {
      buffer.resize(24);
      return Float32Array.of(1);
    },
  };
  assert.throws(() => writeSafetensors(tensors), failure('INVALID_ARGUMENT', /^tensors\.a: its buffer was resized/));
});

test('a task wants an instance and a name', () => {
  for (const wrong of [undefined, null, {}, 5, 'an']) {
    assert.throws(() => makeTask(wrong, 'xor'), failure('INVALID_ARGUMENT', /^an: expected an instance of addnorm/));
  }
  for (const wrong of [undefined, Symbol('s'), { toString: () => 'xor' }, ['xor']]) {
    assert.throws(() => makeTask(an, wrong), failure('INVALID_ARGUMENT', /^task: expected a name/));
  }
  assert.throws(() => makeTask(an, 'xr'), failure('UNKNOWN_NAME', /^task: unknown name 'xr'; did you mean 'xor'\?/));
});

test('what only has a Tensor’s prototype is none', () => {
  for (const fake of [Tensor.prototype, Object.create(Tensor.prototype)]) {
    assert.throws(() => an.add(fake, shaped([1], [1])), failure('INVALID_ARGUMENT', /^x: expected a Tensor/));
  }
});
