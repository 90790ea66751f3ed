// The module's own malloc and free (src/heap.c): blocks that are apart, aligned and kept, and nothing lost.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { libURL } from './helpers.js';

const PAGE = 65536;
const bytes = readFileSync(new URL('addnorm.simd.wasm', libURL));

function heap(maximum = 65536) {
  const memory = new WebAssembly.Memory({ initial: 16, maximum });
  const env = { memory };
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { env });
  exports._initialize?.();
  return { memory, malloc: (size) => exports.malloc(size) >>> 0, free: exports.free };
}

test('blocks are aligned, apart and kept, in any order of malloc and free', () => {
  const { memory, malloc, free } = heap();
  let seed = 7;
  const random = (n) => {
    seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
    return Math.floor((seed / 2 ** 32) * n);
  };
  const blocks = new Map();
  const filled = (pointer, size) => new Uint8Array(memory.buffer, pointer, size);
  let next = 0;
  for (let step = 0; step < 20_000; step++) {
    if (blocks.size > 0 && random(100) < 48) {
      const [pointer, { size, value }] = [...blocks][random(blocks.size)];
      assert.ok(filled(pointer, size).every((byte) => byte === value));
      free(pointer);
      blocks.delete(pointer);
      continue;
    }
    const size = random(4) === 0 ? random(20_000) : random(200);
    const pointer = malloc(size);
    assert.ok(pointer > 0 && pointer % 16 === 0 && pointer + size <= memory.buffer.byteLength);
    assert.ok(!blocks.has(pointer));
    next = (next + 1) % 256;
    filled(pointer, size).fill(next);
    blocks.set(pointer, { size, value: next });
    if (step % 500 === 0) {
      const sorted = [...blocks].sort(([a], [b]) => a - b);
      for (let i = 1; i < sorted.length; i++) assert.ok(sorted[i - 1][0] + sorted[i - 1][1].size <= sorted[i][0]);
    }
  }
  for (const [pointer, { size, value }] of blocks) assert.ok(filled(pointer, size).every((byte) => byte === value));
  for (const pointer of blocks.keys()) free(pointer);
  // All that was free is one block again.
  const before = memory.buffer.byteLength;
  const all = malloc(before - 6 * PAGE);
  assert.ok(all > 0);
  assert.equal(memory.buffer.byteLength, before);
  free(all);
  free(0);
});

test('the memory grows by what is missing, and a block that cannot be is 0', () => {
  const { memory, malloc, free } = heap(64);
  assert.equal(malloc(65 * PAGE), 0);
  for (const size of [2 ** 31, 2 ** 32 - 16, 2 ** 32 - 1]) assert.equal(malloc(size), 0, `${size}`);
  assert.equal(memory.buffer.byteLength, 16 * PAGE);
  const a = malloc(20 * PAGE);
  assert.ok(a > 0 && memory.buffer.byteLength < 37 * PAGE);
  free(a);
  // The free block at the end counts.
  const b = malloc(40 * PAGE);
  assert.equal(b, a);
  assert.ok(memory.buffer.byteLength < 57 * PAGE);
  assert.equal(malloc(40 * PAGE), 0);
  free(b);
  assert.equal(malloc(40 * PAGE), b);
});

test('a block of more than 2 GiB', (t) => {
  const { memory, malloc, free } = heap();
  const size = 2 ** 31 + 3 * 2 ** 20;
  const pointer = malloc(size);
  if (pointer === 0) return t.skip('this machine does not give 2 GiB');
  assert.ok(pointer + size <= memory.buffer.byteLength);
  new Uint8Array(memory.buffer, pointer + size - 1, 1)[0] = 1;
  free(pointer);
  assert.equal(malloc(size - 32), pointer);
});

test('the memory grows by an eighth at a time, by less where that is refused, and to the last page', () => {
  const { memory, malloc } = heap(1000);
  const sizes = new Set();
  while (malloc(50_000) > 0) sizes.add(memory.buffer.byteLength / PAGE);
  const steps = [...sizes];
  assert.equal(steps[0], 16);
  assert.ok(steps.length < 45, `${steps.length} steps`);
  for (const [i, pages] of steps.entries()) {
    if (i > 0 && pages < 1000 - 1000 / 8) assert.equal(pages, steps[i - 1] + 1 + Math.floor(steps[i - 1] / 8));
  }
  assert.equal(steps.at(-1), 1000);
});
