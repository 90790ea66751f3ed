// Readers of files against damaged ones, a small part of `npm run fuzz`; and the states of case B49, one by one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FileError } from '../../web/demo/files/errors.js';
import { openWeights } from '../../web/demo/files/open.js';
import { readLayer } from '../../web/demo/files/read.js';
import { asWritten, known, property } from '../fuzz/readers.js';
import { failure } from './helpers.js';
import * as write from './weight-files.js';

const { readGguf, readSafetensors } = await import('../../dist/lib/formats.js');
const packaged = { safetensors: readSafetensors, gguf: readGguf };

test('whole files are read, by the package and by the page', async () => {
  assert.ok((await asWritten()) >= 8);
});

test('damaged files give a result or an error of ours', async () => {
  const seed = Number(process.env.ADDNORM_SEED ?? 20240607);
  await fc.assert(property, { seed, numRuns: 500 });
});

// ---- B49: hostile files, each with its one error

const [d, ff] = [32, 64];
const names = {
  safetensors: ['mlp.gate_proj', 'mlp.up_proj', 'mlp.down_proj'].map((name) => `m.layers.0.${name}.weight`),
  gguf: ['ffn_gate', 'ffn_up', 'ffn_down'].map((name) => `blk.0.${name}.weight`),
  onnx: ['gate', 'up', 'down'],
};
const shapes = [
  [ff, d],
  [ff, d],
  [d, ff],
];
const tensors = (format) =>
  shapes.map((shape, i) => ({
    name: names[format][i],
    dtype: 'F32',
    shape: format === 'onnx' ? [...shape].reverse() : shape,
    bytes: Buffer.from(new Float32Array(ff * d).fill(0.5 + i).buffer),
  }));
const nodes = [
  'MatMul x gate > g',
  'Sigmoid g > s',
  'Mul g s > a',
  'MatMul x up > u',
  'Mul a u > h',
  'MatMul h down > y',
];
const writers = {
  safetensors: (list) => write.safetensors(list),
  gguf: (list) => write.gguf(list),
  onnx: (list) =>
    write.onnx(
      list,
      nodes.map((line) => write.node(line)),
    ),
};
/** The file with something else in the place of its second tensor, or of other parts. */
const changed = (format, change) =>
  writers[format](tensors(format).map((tensor, i) => (i === 1 ? change(tensor) : tensor)));
/** A safetensors file whose header is this text for a text. */
const rewritten = (from, to) => {
  const file = writers.safetensors(tensors('safetensors'));
  const end = 8 + Number(file.readBigUInt64LE(0));
  const header = file.subarray(8, end).toString();
  assert.ok(header.includes(from), `${header} has ${from}`);
  return write.safetensorsOf(header.replace(from, to), file.subarray(end));
};
/** A GGUF file with eight other bytes where the second tensor's name, dimensions (2), type and offset end. */
const patched = (field, value) => {
  const file = writers.gguf(tensors('gguf'));
  const [, name] = names.gguf;
  const at = file.indexOf(name) + name.length + { rank: 0, first: 4, second: 12, type: 20, offset: 24 }[field];
  if (field === 'rank' || field === 'type') file.writeUInt32LE(value, at);
  else file.writeBigUInt64LE(BigInt(value), at);
  return file;
};
const half = (format) => {
  const file = writers[format](tensors(format));
  return file.subarray(0, file.length / 2);
};
const counted = (value) => {
  const file = writers.gguf(tensors('gguf'));
  file.writeBigUInt64LE(value, 8);
  return file;
};
const long = (value) => {
  const file = writers.safetensors(tensors('safetensors'));
  file.writeBigUInt64LE(value);
  return file;
};
/** The graph's length, a varint, is another. */
const graphOf = (value) => {
  const file = writers.onnx(tensors('onnx'));
  const at = file.indexOf(Buffer.of(0x3a), 2);
  return Buffer.concat([file.subarray(0, at + 1), write.varint(value), file.subarray(at + 4)]);
};

const states = {
  'cut in the middle': { safetensors: half('safetensors'), gguf: half('gguf'), onnx: half('onnx') },
  'a length of 2^63': { safetensors: long(2n ** 63n), gguf: counted(2n ** 63n), onnx: graphOf(2n ** 63n) },
  'a length of 2^40': { safetensors: long(2n ** 40n), gguf: counted(2n ** 40n), onnx: graphOf(2n ** 40n) },
  'tensors that overlap': {
    safetensors: rewritten('"data_offsets":[8192,16384]', '"data_offsets":[4096,12288]'),
    gguf: patched('offset', 4096),
  },
  'a place beyond the end': {
    safetensors: rewritten('"data_offsets":[8192,16384]', '"data_offsets":[1048576,1056768]'),
    gguf: patched('offset', 2 ** 20),
    onnx: changed('onnx', (tensor) => ({ ...tensor, bytes: tensor.bytes.subarray(4) })),
  },
  'a place at 2^60': {
    safetensors: rewritten('"data_offsets":[8192,16384]', `"data_offsets":[${2 ** 60},${2 ** 60 + 8192}]`),
    gguf: patched('offset', 2n ** 60n),
  },
  'a shape beyond 2^64': {
    safetensors: rewritten('[64,32],"data_offsets":[8192', `[${2 ** 40},${2 ** 40}],"data_offsets":[8192`),
    gguf: patched('second', 2n ** 60n),
    onnx: changed('onnx', (tensor) => ({ ...tensor, shape: [2n ** 40n, 2n ** 40n] })),
  },
  'a shape of 2^40 elements': {
    safetensors: rewritten('[64,32],"data_offsets":[8192', `[${2 ** 35},32],"data_offsets":[8192`),
    gguf: patched('second', 2 ** 35),
    onnx: changed('onnx', (tensor) => ({ ...tensor, shape: [32, 2 ** 35] })),
  },
  'no such type': {
    safetensors: rewritten('"F32","shape":[64,32],"data_offsets":[8192', '"Z32","shape":[64,32],"data_offsets":[8192'),
    gguf: patched('type', 99),
    onnx: changed('onnx', (tensor) => ({ ...tensor, dtype: 'U8' })),
  },
  'a name that comes twice': {
    safetensors: rewritten(`{"${names.safetensors[0]}"`, `{"${names.safetensors[1]}"`),
    gguf: changed('gguf', (tensor) => ({ ...tensor, name: names.gguf[0] })),
    onnx: changed('onnx', (tensor) => ({ ...tensor, name: 'gate' })),
  },
  'an entry that comes twice, the same': {
    safetensors: (() => {
      const entry = '"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}';
      return write.safetensorsOf(`{${entry},${entry}}`, Buffer.alloc(4));
    })(),
  },
};

for (const [state, files] of Object.entries(states)) {
  for (const [format, bytes] of Object.entries(files)) {
    test(`B49: ${format}, ${state}`, async () => {
      const before = process.memoryUsage().arrayBuffers;
      if (packaged[format]) {
        assert.throws(() => packaged[format](bytes), failure('INVALID_FORMAT', /^(safetensors|GGUF): ./));
      }
      const fault = await openWeights(write.sourceOf(bytes), `a.${format}`, known).then(
        ({ layers }) => layers[0]?.problem,
        (error) => {
          assert.ok(error instanceof FileError, error.stack);
          return error;
        },
      );
      assert.ok(fault, 'the page says what is wrong');
      assert.notEqual(fault.code, 'READ', 'found before it is read');
      assert.ok(process.memoryUsage().arrayBuffers - before < 2 ** 24, 'nothing large is allocated for it');
    });
  }
}

for (const format of Object.keys(names)) {
  test(`B49: ${format}, NaN among the weights is no damage`, async () => {
    const file = changed(format, (tensor) => {
      const bytes = Buffer.from(tensor.bytes);
      bytes.writeFloatLE(Number.NaN, 4);
      return { ...tensor, bytes };
    });
    const { source, layers } = await openWeights(write.sourceOf(file), `a.${format}`, known);
    const { data } = (await readLayer(source, layers[0])).find(({ name }) => name === 'up');
    assert.equal(data.filter(Number.isNaN).length, 1);
    if (packaged[format]) {
      const { data: direct } = packaged[format](file).tensors[names[format][1]];
      assert.deepEqual(direct.map(Number.isNaN), data.map(Number.isNaN));
    }
  });
}
