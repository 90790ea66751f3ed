// Files of weights. Expected bytes are put together here from the format's description and what the reference
// implementation writes; expected numbers come from the definitions of the types.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { failure, same } from './helpers.js';
import { randoms, readFloats, sharedPath, skipWithout } from './shared.js';
import { encoded, gguf } from './weight-files.js';

const { AddnormError, load } = await import('../../dist/lib/index.js');
const { readGguf, readSafetensors, writeSafetensors } = await import('../../dist/lib/formats.js');

fc.configureGlobal({ seed: Number(process.env.ADDNORM_SEED ?? 20240607) });

/** A file with this header, a text or what is made JSON, and these bytes behind it. */
function fileOf(header, data = []) {
  const text = Buffer.from(typeof header === 'string' ? header : JSON.stringify(header));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Uint8Array.from(Buffer.concat([length, text, Buffer.from(data)]));
}
const entry = (dtype, shape, begin, end) => ({ dtype, shape, data_offsets: [begin, end] });
/** A file with one tensor of this type. */
const single = (dtype, array, shape = [array.length]) =>
  fileOf({ t: entry(dtype, shape, 0, array.byteLength) }, Buffer.from(array.buffer));
const numbers = (dtype, array) => readSafetensors(single(dtype, array)).tensors.t.data;
const refused = (file, message, code = 'INVALID_FORMAT') =>
  assert.throws(() => readSafetensors(file), failure(code, message));

test('what is written is what the reference implementation writes', () => {
  const data = Float32Array.of(0, 1, 2, 3, 4, 5);
  const bytes = [...new Uint8Array(data.buffer)];
  const header = '{"attn.0":{"dtype":"F32","shape":[1,2,3],"data_offsets":[0,24]}}';
  assert.equal(header.length, 64);
  assert.deepEqual(writeSafetensors({ 'attn.0': { data, shape: [1, 2, 3] } }), fileOf(header, bytes));
  // Blanks bring the data to a multiple of 8 bytes.
  const shorter = '{"attn0":{"dtype":"F32","shape":[1,1,2,3],"data_offsets":[0,24]}}       ';
  assert.equal(shorter.length, 72);
  assert.deepEqual(writeSafetensors({ attn0: { data, shape: [1, 1, 2, 3] } }), fileOf(shorter, bytes));
  assert.deepEqual(writeSafetensors({}), fileOf('{}      '));
  assert.deepEqual(writeSafetensors({}, { framework: 'pt' }), fileOf('{"__metadata__":{"framework":"pt"}}     '));
});

test('tensors are sorted by name, byte by byte; a plain array has one axis', () => {
  const tensors = {
    b: Float32Array.of(1),
    10: Float32Array.of(2, 3),
    '\u{1f600}': new Float32Array(0),
    '\uffee': new Float32Array(0),
    B: { data: Float32Array.of(4), shape: [] },
  };
  const written = writeSafetensors(tensors);
  const header =
    '{"10":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"B":{"dtype":"F32","shape":[],"data_offsets":[8,12]},' +
    '"b":{"dtype":"F32","shape":[1],"data_offsets":[12,16]},"\uffee":{"dtype":"F32","shape":[0],"data_offsets":[16,16]},' +
    '"\u{1f600}":{"dtype":"F32","shape":[0],"data_offsets":[16,16]}}';
  const padded = header + ' '.repeat((8 - (Buffer.byteLength(header) % 8)) % 8);
  assert.deepEqual(written, fileOf(padded, new Uint8Array(Float32Array.of(2, 3, 4, 1).buffer)));
  assert.deepEqual(Object.keys(readSafetensors(written).tensors).sort(), Object.keys(tensors).sort());
});

test('F16: every number', () => {
  const halves = Uint16Array.from({ length: 65536 }, (_, i) => i);
  // IEEE 754-2008, 3.4: sign, 5 bits of exponent, 10 of fraction.
  const wanted = Float32Array.from(halves, (half) => {
    const [sign, exponent, fraction] = [half >> 15 ? -1 : 1, (half >> 10) & 31, half & 1023];
    if (exponent === 31) return fraction ? NaN : sign * Infinity;
    return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -24 * fraction);
  });
  const got = numbers('F16', halves);
  assert.ok(got.every((value, i) => Object.is(value, wanted[i])));
  assert.equal(got.length, 65536);
});

test('BF16: every number', () => {
  const halves = Uint16Array.from({ length: 65536 }, (_, i) => i);
  const view = new DataView(new ArrayBuffer(4));
  const wanted = Float32Array.from(halves, (half) => {
    view.setUint16(0, half);
    return view.getFloat32(0);
  });
  const got = numbers('BF16', halves);
  assert.ok(got.every((value, i) => Object.is(value, wanted[i])));
});

test('F32 keeps its bits, F64 is rounded', () => {
  const bits = new Float32Array(Uint32Array.of(0, 0x80000000, 1, 0x7f800000, 0x7fc12345, 0xff800001).buffer);
  same(numbers('F32', bits), bits);
  const doubles = Float64Array.of(0.1, -0, 1e300, -1e300, 1e-46, 1 + 2 ** -24, 1 + 2 ** -24 + 2 ** -50, NaN);
  same(numbers('F64', doubles), Float32Array.of(Math.fround(0.1), -0, Infinity, -Infinity, 0, 1, 1 + 2 ** -23, NaN));
});

test('integers and truth values come exactly or not at all', () => {
  const cases = {
    U8: Uint8Array.of(0, 255),
    I8: Int8Array.of(-128, 127),
    U16: Uint16Array.of(0, 65535),
    I16: Int16Array.of(-32768, 32767),
    U32: Uint32Array.of(0, 2 ** 24, 0xffffff00),
    I32: Int32Array.of(-(2 ** 31), -(2 ** 24), 2 ** 24 + 2),
    I64: BigInt64Array.of(-(2n ** 63n), -1n, 2n ** 40n),
    U64: BigUint64Array.of(0n, 2n ** 63n, 2n ** 64n - 2n ** 40n),
    BOOL: Uint8Array.of(0, 1),
  };
  for (const [dtype, array] of Object.entries(cases)) {
    assert.deepEqual(Array.from(numbers(dtype, array)), Array.from(array, Number), dtype);
  }
  refused(single('I32', Int32Array.of(1, 2 ** 24 + 1)), /'t': 16777217 is no float32/);
  refused(single('U32', Uint32Array.of(2 ** 32 - 1)), /'t': 4294967295/);
  refused(single('I64', BigInt64Array.of(2n ** 24n + 1n)), /'t': 16777217/);
  refused(single('U64', BigUint64Array.of(2n ** 64n - 1n)), /'t': 18446744073709551615/);
  refused(single('BOOL', Uint8Array.of(2)), /'t': expected 0 or 1, got 2/);
});

test('what cannot be read is named, and can be left out', () => {
  const header = { a: entry('F8_E4M3', [2], 0, 2), b: entry('F32', [1], 2, 6), c: entry('I64', [1], 6, 14) };
  const file = fileOf(header, [1, 2, 0, 0, 128, 63, 1, 0, 0, 1, 0, 0, 0, 0]);
  refused(file, /'a': F8_E4M3 cannot be read.*options\.filter/);
  const asked = [];
  const { tensors } = readSafetensors(file, {
    filter: (name, info) => {
      asked.push([name, info]);
      return name === 'b';
    },
  });
  assert.deepEqual({ ...tensors }, { b: { shape: [1], data: Float32Array.of(1) } });
  assert.deepEqual(asked[0], ['a', { dtype: 'F8_E4M3', shape: [2] }]);
  for (const dtype of ['F4', 'F6_E2M3', 'F6_E3M2', 'F8_E5M2', 'F8_E8M0', 'C64']) {
    refused(fileOf({ t: entry(dtype, [0], 0, 0) }), new RegExp(`'t': ${dtype} cannot be read`));
  }
  // It is checked all the same.
  assert.throws(
    () => readSafetensors(fileOf({ a: entry('F32', [1], 0, 2) }, [0, 0]), { filter: () => false }),
    failure('INVALID_FORMAT'),
  );
});

test('any place in memory will do, whatever its alignment', () => {
  const file = fileOf({ a: entry('U8', [3], 0, 3), b: entry('F32', [1], 3, 7) }, [7, 8, 9, 0, 0, 128, 63]);
  for (let shift = 0; shift < 9; shift++) {
    const room = new Uint8Array(file.length + 16);
    room.set(file, shift);
    const { tensors } = readSafetensors(room.subarray(shift, shift + file.length));
    assert.deepEqual(tensors.b.data, Float32Array.of(1));
    assert.deepEqual(tensors.a.data, Float32Array.of(7, 8, 9));
    tensors.b.data[0] = 5;
    assert.deepEqual(room.subarray(shift, shift + file.length), file, 'the result is a copy');
  }
  const shared = new Uint8Array(new SharedArrayBuffer(file.length));
  shared.set(file);
  for (const source of [file.buffer, Buffer.from(file), new DataView(file.buffer), shared, shared.buffer]) {
    assert.deepEqual(readSafetensors(source).tensors.b.data, Float32Array.of(1));
  }
});

test('the order is that of the data, and names are safe', () => {
  const header = `{"toString":${JSON.stringify(entry('F32', [1], 4, 8))},"constructor":${JSON.stringify(entry('F32', [0, 7], 4, 4))},"":${JSON.stringify(entry('F32', [], 0, 4))},"__metadata__":{"x":"é"}}`;
  const { tensors, metadata } = readSafetensors(fileOf(header, [0, 0, 128, 63, 0, 0, 0, 64]));
  assert.deepEqual(Object.keys(tensors), ['', 'constructor', 'toString']);
  assert.deepEqual(tensors.constructor, { shape: [0, 7], data: new Float32Array(0) });
  assert.deepEqual({ ...metadata }, { x: 'é' });
  const empty = readSafetensors(fileOf('{}'));
  assert.equal(empty.tensors.hasOwnProperty, undefined);
  assert.equal(empty.metadata.toString, undefined);
});

test('a damaged file is refused, and says where', () => {
  const t = entry('F32', [1], 0, 4);
  const cases = [
    [new Uint8Array(7), /at least 8 bytes, got 7/],
    [Uint8Array.of(1, 0, 0, 0, 0, 0, 0, 0), /end at 9, the file at 8/],
    [Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0), /no JSON/],
    [Uint8Array.of(255, 255, 255, 255, 255, 255, 255, 255), /at most 100000000/],
    [fileOf('{"a":}'), /no JSON/],
    [fileOf('{} x'), /no JSON/],
    [fileOf(' {}'), /does not start with \{/],
    [fileOf('[]'), /does not start with \{/],
    [fileOf('\ufeff{}'), /no JSON/],
    [fileOf('null'), /does not start with \{/],
    [fileOf({ t: null }), /'t': expected an object, got null/],
    [fileOf({ t: [] }), /'t': expected an object/],
    [fileOf({ t: { ...t, dtype: 'f32' } }, [0, 0, 0, 0]), /'t': unknown dtype 'f32'/],
    [fileOf({ t: { ...t, dtype: 'toString' } }, [0, 0, 0, 0]), /'t': unknown dtype/],
    [fileOf({ t: { shape: [1], data_offsets: [0, 4] } }, [0, 0, 0, 0]), /'t': unknown dtype undefined/],
    [fileOf({ t: { ...t, shape: 1 } }, [0, 0, 0, 0]), /'t': its shape/],
    [fileOf({ t: { ...t, shape: [-1] } }, [0, 0, 0, 0]), /'t': its shape/],
    [fileOf({ t: { ...t, shape: [1.5] } }, [0, 0, 0, 0]), /'t': its shape/],
    [fileOf({ t: { ...t, shape: ['1'] } }, [0, 0, 0, 0]), /'t': its shape/],
    [fileOf({ t: { ...t, shape: [2 ** 53] } }, [0, 0, 0, 0]), /'t': its shape/],
    [fileOf({ t: { ...t, shape: [2 ** 32, 2 ** 32, 2 ** 32] } }, [0, 0, 0, 0]), /'t': F32 .* takes/],
    [fileOf({ t: { ...t, shape: [2] } }, [0, 0, 0, 0]), /'t': F32 \[2\] takes 8 bytes, its data_offsets 4/],
    [fileOf({ t: entry('F64', [1], 0, 4) }, [0, 0, 0, 0]), /'t': F64 \[1\] takes 8 bytes/],
    [fileOf({ t: entry('F4', [1], 0, 1) }, [0]), /'t': F4 \[1\] takes 0.5 bytes/],
    [fileOf({ t: entry('F32', [0], 4, 0) }, [0, 0, 0, 0]), /'t': its data_offsets/],
    [fileOf({ t: entry('F32', [1], -4, 0) }), /'t': its data_offsets/],
    [fileOf({ t: { ...t, data_offsets: [0, 4, 4] } }, [0, 0, 0, 0]), /'t': its data_offsets/],
    [fileOf({ t: { ...t, data_offsets: [0] } }, [0, 0, 0, 0]), /'t': its data_offsets/],
    [fileOf({ t: { ...t, data_offsets: { 0: 0, 1: 4 } } }, [0, 0, 0, 0]), /'t': its data_offsets/],
    [fileOf({ t }), /take 4 bytes, and 0 follow/],
    [fileOf({ t }, [0, 0, 0]), /take 4 bytes, and 3 follow/],
    [fileOf({ t }, [0, 0, 0, 0, 0]), /take 4 bytes, and 5 follow/],
    [fileOf({}, [0]), /take 0 bytes, and 1 follow/],
    [fileOf({ t: entry('F32', [1], 4, 8) }, new Array(8)), /'t' leaves a gap .* begins at 4, not 0/],
    [fileOf({ t, u: entry('F32', [1], 8, 12) }, new Array(12)), /'u' leaves a gap/],
    [fileOf({ t, u: entry('F32', [1], 2, 6) }, new Array(6)), /'u' overlaps/],
    [fileOf({ t, u: entry('F32', [1], 0, 4) }, new Array(4)), /'u' overlaps/],
    [fileOf({ t: entry('F32', [2], 0, 8), u: entry('F32', [0], 4, 4) }, new Array(8)), /'u' overlaps/],
    [fileOf(`{"t":${JSON.stringify(t)},"t":${JSON.stringify(t)}}`, new Array(4)), /'t' comes twice/],
    [fileOf(`{"t":${JSON.stringify(t)},"\\u0074" :${JSON.stringify(t)}}`, new Array(4)), /'t' comes twice/],
    [
      fileOf('{"t":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}}', new Array(4)),
      /'dtype' comes twice/,
    ],
    [fileOf('{"__metadata__":{"a":"b","a":"c"}}'), /'a' comes twice/],
    [fileOf('{"__metadata__":{},"__metadata__":{}}'), /'__metadata__' comes twice/],
    [fileOf(`{"__proto__":${JSON.stringify(t)}}`, new Array(4)), /'__proto__' cannot be a name/],
    [fileOf('{"__metadata__":{"__proto__":"x"}}'), /'__proto__' cannot be a name/],
    [fileOf(`{"a\\ud800":${JSON.stringify(t)}}`, new Array(4)), /no valid Unicode/],
    [fileOf({ __metadata__: [] }), /__metadata__: expected an object/],
    [fileOf({ __metadata__: { a: 1 } }), /__metadata__\.a: expected a string, got 1/],
  ];
  for (const [file, message] of cases) refused(file, message);
  const latin = fileOf('{"x":1}');
  latin[10] = 0xe9;
  refused(latin, /no UTF-8/);
  // Not twice: the same name in different objects, and quotes, braces and colons within texts.
  const nested = '{"__metadata__":{"t":"{\\"t\\":","u":"\\\\"},"t":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}';
  assert.deepEqual({ ...readSafetensors(fileOf(nested)).metadata }, { t: '{"t":', u: '\\' });
});

test('texts of many MB, and blanks, take none of the stack', () => {
  const long = { plain: 'x'.repeat(2e7), escaped: '"\\'.repeat(4e6), short: '\\' };
  assert.deepEqual({ ...readSafetensors(writeSafetensors({}, long)).metadata }, long);
  const blanks = ' '.repeat(2e7);
  assert.deepEqual({ ...readSafetensors(fileOf(`{"__metadata__"${blanks}:{"a":"b"${blanks}}}`)).metadata }, { a: 'b' });
});

test('a page in place of a file is quoted', () => {
  const page = new TextEncoder().encode('\n<!DOCTYPE html><title>Not found</title>');
  assert.throws(
    () => readSafetensors(page),
    failure('INVALID_FORMAT', /its header would .*; it is a text: '<!DOCTYPE html>/),
  );
  assert.throws(
    () => readGguf(page),
    failure('INVALID_FORMAT', /does not begin with GGUF; it is a text: '<!DOCTYPE html>/),
  );
});

test('arguments', () => {
  const file = fileOf('{}');
  for (const wrong of [undefined, null, 'x', 5, [], new Map()]) {
    assert.throws(() => readSafetensors(wrong), failure('INVALID_ARGUMENT', /^bytes: expected an ArrayBuffer/));
    assert.throws(() => writeSafetensors(wrong), failure('INVALID_ARGUMENT', /^tensors: expected an object/));
  }
  assert.throws(() => readSafetensors(file, { only: 1 }), failure('UNKNOWN_OPTION'));
  assert.throws(() => readSafetensors(file, { filter: 'a' }), failure('INVALID_ARGUMENT', /^filter/));
  const gone = new ArrayBuffer(16);
  const view = new Uint8Array(gone);
  structuredClone(gone, { transfer: [gone] });
  for (const dead of [gone, view]) {
    assert.throws(() => readSafetensors(dead), failure('INVALID_ARGUMENT', /detached/));
  }
  const write = (tensors, metadata) => () => writeSafetensors(tensors, metadata);
  assert.throws(write({ a: [1, 2] }), failure('INVALID_ARGUMENT', /^tensors\.a/));
  assert.throws(write({ a: { data: new Float32Array(2), shape: [3] } }), failure('SHAPE_MISMATCH', /^tensors\.a/));
  assert.throws(write({ __metadata__: new Float32Array(1) }), failure('INVALID_ARGUMENT', /'__metadata__'/));
  assert.throws(write(JSON.parse('{"__proto__":1}')), failure('INVALID_ARGUMENT', /'__proto__'/));
  assert.throws(write({ '\udc00': new Float32Array(1) }), failure('INVALID_ARGUMENT', /Unicode/));
  assert.throws(write({}, { a: 1 }), failure('INVALID_ARGUMENT', /^metadata\.a/));
  assert.throws(write({}, { a: '\ud800' }), failure('INVALID_ARGUMENT', /^metadata\.a/));
  assert.throws(write({}, 'x'), failure('INVALID_ARGUMENT', /^metadata/));
});

const unicode = fc
  .string({ unit: 'binary', maxLength: 12 })
  .filter((name) => !['__proto__', '__metadata__'].includes(name));
const tensor = fc.array(fc.nat(4), { maxLength: 4 }).chain((shape) =>
  fc
    .array(fc.integer({ min: 0, max: 2 ** 32 - 1 }), {
      minLength: shape.reduce((a, b) => a * b, 1),
      maxLength: shape.reduce((a, b) => a * b, 1),
    })
    .map((bits) => ({ shape, data: new Float32Array(Uint32Array.from(bits).buffer) })),
);
const contents = [
  fc.dictionary(unicode, tensor, { maxKeys: 5 }),
  fc.dictionary(unicode, fc.string({ unit: 'binary' }), { maxKeys: 3 }),
];

test('what is written is read again, bit for bit', () => {
  fc.assert(
    fc.property(...contents, (tensors, metadata) => {
      const file = writeSafetensors(tensors, metadata);
      const read = readSafetensors(file);
      assert.deepEqual(Object.keys(read.tensors).sort(), Object.keys(tensors).sort());
      for (const [name, { shape, data }] of Object.entries(tensors)) {
        assert.deepEqual(read.tensors[name].shape, shape);
        same(read.tensors[name].data, data);
      }
      assert.deepEqual({ ...read.metadata }, { ...metadata });
      assert.deepEqual(writeSafetensors(read.tensors, read.metadata), writeSafetensors(tensors, read.metadata));
    }),
  );
});

/** A result or an AddnormError, and a result covers no more than the file. */
function readsOrRefuses(file) {
  let result;
  try {
    result = readSafetensors(file);
  } catch (error) {
    assert.ok(error instanceof AddnormError, `${error?.stack}`);
    assert.equal(error.code, 'INVALID_FORMAT', error.message);
    return;
  }
  for (const { shape, data } of Object.values(result.tensors)) {
    assert.equal(
      data.length,
      shape.reduce((a, b) => a * b, 1),
    );
    assert.ok(data.length <= file.length);
  }
}

test('damaged bytes give a result or an error of ours', () => {
  const byte = fc.nat(255);
  const damage = fc.oneof(
    fc.record({ kind: fc.constant('set'), at: fc.nat(), byte }),
    fc.record({
      kind: fc.constant('insert'),
      at: fc.nat(),
      byte: fc.constantFrom(...Buffer.from('{}[]",:0129-.eE\\u ')),
    }),
    fc.record({ kind: fc.constantFrom('remove', 'end', 'double'), at: fc.nat(), byte }),
  );
  fc.assert(
    fc.property(...contents, fc.array(damage, { minLength: 1, maxLength: 4 }), (tensors, metadata, damages) => {
      const bytes = [...writeSafetensors(tensors, metadata)];
      for (const { kind, at, byte } of damages) {
        const i = at % (bytes.length + 1);
        if (kind === 'set') bytes[i] = byte;
        else if (kind === 'insert') bytes.splice(i, 0, byte);
        else if (kind === 'remove') bytes.splice(i, 1);
        else if (kind === 'end') bytes.length = i;
        else bytes.splice(i, 0, ...bytes.slice(i, i + 20));
      }
      readsOrRefuses(Uint8Array.from(bytes));
    }),
    { numRuns: 1000 },
  );
});

test('any header at all gives a result or an error of ours', () => {
  const value = fc.oneof(
    fc.json({ maxDepth: 3 }).map((text) => JSON.parse(text)),
    fc.record(
      {
        dtype: fc.constantFrom('F32', 'F64', 'U8', 'BOOL', 'F4', 'x'),
        shape: fc.array(fc.oneof(fc.nat(3), fc.constantFrom(-1, 0.5, 1e300, 2 ** 53, '1', null)), { maxLength: 3 }),
        data_offsets: fc.array(fc.oneof(fc.nat(16), fc.constantFrom(-1, 1e300)), { maxLength: 3 }),
      },
      { requiredKeys: [] },
    ),
  );
  fc.assert(
    fc.property(fc.dictionary(fc.string(), value, { maxKeys: 4 }), fc.uint8Array({ maxLength: 32 }), (header, data) =>
      readsOrRefuses(fileOf(header, data)),
    ),
    { numRuns: 500 },
  );
  readsOrRefuses(fileOf('['.repeat(1e6)));
  readsOrRefuses(fileOf(`{"a":${'['.repeat(1e5)}${']'.repeat(1e5)}}`));
  readsOrRefuses(
    fileOf(`{${Array.from({ length: 1e4 }, (_, i) => `"${i}":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}`)}}`),
  );
});

test('a module is written and read again', async () => {
  const an = await load({ variant: 'simd' });
  const config = { d_model: 6, d_ff: 10, norm: 'batch_norm' };
  const block = an.block(config, { seed: 3 });
  const x = { data: Float32Array.from({ length: 24 }, (_, i) => i / 7 - 1), shape: [4, 6] };
  block.forward(x, { train: true });
  const { tensors, metadata } = readSafetensors(
    writeSafetensors(block.state(), { config: JSON.stringify(block.config) }),
  );
  const again = an.block(JSON.parse(metadata.config), { weights: tensors });
  same(again.forward(x), block.forward(x));
  same(readSafetensors(writeSafetensors(block.parameters)).tensors.up.data, block.parameters.up.toArray());
  // A getter may grow the memory, so that views of before are dead, or dispose a tensor.
  const up = block.parameters.up;
  const growing = {
    a: up,
    get b() {
      return an.zeros([an.stats().memory / 4]);
    },
  };
  same(readSafetensors(writeSafetensors(growing)).tensors.a.data, up.toArray());
  const a = an.zeros([6]);
  const disposing = {
    a,
    get b() {
      a.dispose();
      return an.zeros([6]);
    },
  };
  assert.throws(() => writeSafetensors(disposing), failure('DISPOSED'));
  an.dispose();
});

test('a run goes on where it was written, bit for bit', async () => {
  // The way that the manual of writeSafetensors shows.
  const prefixed = (prefix, state) => Object.fromEntries(Object.entries(state).map(([name, t]) => [prefix + name, t]));
  const part = (prefix, tensors) =>
    Object.fromEntries(
      Object.entries(tensors).flatMap(([name, t]) => (name.startsWith(prefix) ? [[name.slice(prefix.length), t]] : [])),
    );
  const an = await load({ variant: 'simd' });
  const rate = an.schedule('warmup', { rate: 0.01, warmup: 8 });
  const x = { data: Float32Array.from({ length: 24 }, (_, i) => Math.fround(i / 7 - 1)), shape: [4, 6] };
  const target = Int32Array.of(0, 1, 2, 1);
  const steps = (stack, optimizer, from, to) => {
    for (let step = from; step < to; step++) {
      const y = stack.forward(x, { train: true, seed: step });
      const { gradient } = an.loss('softmax_cross_entropy', { data: y, shape: [4, 3] }, target);
      stack.zeroGrad();
      stack.backward({ data: gradient, shape: [4, 3] }, { dx: false });
      optimizer.step();
    }
  };
  const config = { d_model: 8, depth: 2, d_in: 6, d_out: 3, norm: 'batch_norm', dropout: 0.2 };
  const stack = an.stack(config, { seed: 3 });
  const optimizer = an.optimizer('adamw', stack, { rate });
  steps(stack, optimizer, 0, 5);
  const bytes = writeSafetensors(
    { ...prefixed('model.', stack.state()), ...prefixed('optimizer.', optimizer.state()) },
    { config: JSON.stringify(stack.config), step: '5' },
  );
  steps(stack, optimizer, 5, 10);

  const { tensors, metadata } = readSafetensors(bytes);
  const again = an.stack(JSON.parse(metadata.config), { weights: part('model.', tensors) });
  const optimizerAgain = an.optimizer('adamw', again, { rate });
  optimizerAgain.loadState(part('optimizer.', tensors));
  steps(again, optimizerAgain, Number(metadata.step), 10);
  const [got, want] = [again, stack].map((module) => module.state());
  assert.deepEqual(Object.keys(got), Object.keys(want));
  for (const [name, { data }] of Object.entries(want)) same(got[name].data, data, name);
  an.dispose();
});

const skip = skipWithout('models/files', 'the reading of a model file');
test('a layer of a trained model', { skip }, () => {
  const { tensors, metadata } = readSafetensors(readFileSync(sharedPath('models/files/stories260K_l0.safetensors')));
  assert.equal(metadata.source, 'stories260K layer 0');
  assert.deepEqual(
    Object.entries(tensors).map(([name, { shape }]) => [name, ...shape]),
    [
      ['blk.0.ffn_norm.weight', 64],
      ['blk.0.ffn_gate.weight', 172, 64],
      ['blk.0.ffn_up.weight', 172, 64],
      ['blk.0.ffn_down.weight', 64, 172],
    ],
  );
  // The same weights as raw files.
  for (const [name, file] of Object.entries({ norm: 'rms_gamma', gate: 'w1_gate', up: 'w3_up', down: 'w2_down' })) {
    same(tensors[`blk.0.ffn_${name}.weight`].data, readFloats('models/stories260K_layer0_swiglu', `${file}.f32.bin`));
  }
});

// ---- GGUF: bytes from the specification, by hand

const u32 = (n) => [n & 255, (n >> 8) & 255, (n >> 16) & 255, n >>> 24];
const u64 = (n) => [...Buffer.from(BigUint64Array.of(BigInt(n)).buffer)];
const text = (string) => [...u64(Buffer.byteLength(string)), ...Buffer.from(string)];
/** Metadata: [name, type's number, bytes of the value]. Tensors: [name, dimensions, type's number, offset]. */
function ggufOf(pairs, infos, data = [], { version = 3, alignment = 32 } = {}) {
  const head = [
    ...Buffer.from('GGUF'),
    ...u32(version),
    ...u64(infos.length),
    ...u64(pairs.length),
    ...pairs.flatMap(([name, type, bytes]) => [...text(name), ...u32(type), ...bytes]),
    ...infos.flatMap(([name, dims, type, offset]) => [
      ...text(name),
      ...u32(dims.length),
      ...dims.flatMap(u64),
      ...u32(type),
      ...u64(offset),
    ]),
  ];
  while (head.length % alignment !== 0) head.push(0);
  return Uint8Array.from([...head, ...data]);
}
const floats = (...values) => [...new Uint8Array(Float32Array.from(values).buffer)];

test('GGUF: dimensions in reverse, data where the offsets say', () => {
  const data = [...floats(1, 2, 3, 4, 5, 6), ...Array(8).fill(9), ...floats(7)];
  const infos = [
    ['b', [], 0, 32],
    ['a.weight', [3, 2], 0, 0],
  ];
  for (const options of [{}, { version: 2 }]) {
    const { tensors, metadata } = readGguf(ggufOf([], infos, data, options));
    assert.deepEqual({ ...metadata }, {});
    assert.deepEqual(Object.entries(tensors), [
      ['a.weight', { shape: [2, 3], data: Float32Array.of(1, 2, 3, 4, 5, 6) }],
      ['b', { shape: [], data: Float32Array.of(7) }],
    ]);
  }
  // Another alignment, a tensor without elements, and bytes behind the last one.
  const pairs = [['general.alignment', 4, u32(8)]];
  const aligned = ggufOf(
    pairs,
    [
      ['e', [0, 5], 0, 8],
      ['t', [1], 0, 8],
    ],
    [...Array(8).fill(0), ...floats(3), 1, 2],
    { alignment: 8 },
  );
  assert.deepEqual(
    { ...readGguf(aligned).tensors },
    { e: { shape: [5, 0], data: new Float32Array(0) }, t: { shape: [1], data: Float32Array.of(3) } },
  );
});

test('GGUF: blocks of 32 numbers that share a scale', () => {
  // 0x3800 is 0.5 as float16. Q8_0: int8; Q4_0: lower halves first, 8 is zero.
  const q8 = [0x00, 0x38, ...Array.from({ length: 32 }, (_, i) => (i * 8 - 128) & 255)];
  const q4 = [0x00, 0x38, ...Array.from({ length: 16 }, (_, i) => i | ((15 - i) << 4))];
  const { tensors } = readGguf(
    ggufOf(
      [],
      [
        ['q8', [32], 8, 0],
        ['q4', [32], 2, 64],
      ],
      [...q8, ...Array(30).fill(0), ...q4],
    ),
  );
  assert.deepEqual(
    tensors.q8.data,
    Float32Array.from({ length: 32 }, (_, i) => i * 4 - 64),
  );
  assert.deepEqual(
    tensors.q4.data,
    Float32Array.from({ length: 32 }, (_, i) => (i < 16 ? i - 8 : 7 - (i - 16)) / 2),
  );
  // Many, of all types, as another writer makes them.
  const shape = [6, 64];
  const written = ['F32', 'F16', 'BF16', 'Q8_0', 'Q4_0'].map((dtype, i) => {
    return { name: dtype, dtype, shape, ...encoded(dtype, randoms(6 * 64, i, 3)) };
  });
  const read = readGguf(gguf(written)).tensors;
  for (const { name, numbers } of written) {
    assert.deepEqual(read[name].shape, shape);
    assert.deepEqual(read[name].data, Float32Array.from(numbers), name);
  }
});

test('GGUF: metadata of every type', () => {
  const of = (array) => [...new Uint8Array(array.buffer)];
  const array = (type, length, bytes) => [...u32(type), ...u64(length), ...bytes];
  const { metadata } = readGguf(
    ggufOf(
      [
        ['u8', 0, [255]],
        ['i8', 1, [255]],
        ['u16', 2, [255, 255]],
        ['i16', 3, [254, 255]],
        ['u32', 4, u32(0xffffffff)],
        ['i32', 5, u32(-2)],
        ['f32', 6, floats(0.1)],
        ['bool', 7, [1]],
        ['string', 8, text('é\ufeff')],
        ['cut letter', 8, [...u64(1), 0xc3]],
        ['u64', 10, u64(2n ** 53n - 1n)],
        ['large', 10, u64(2n ** 64n - 1n)],
        ['i64', 11, of(BigInt64Array.of(-5n))],
        ['f64', 12, of(Float64Array.of(0.1))],
        ['texts', 9, array(8, 2, [...text('a'), ...text('')])],
        ['bools', 9, array(7, 2, [1, 0])],
        ['numbers', 9, array(5, 2, [...u32(1), ...u32(-1)])],
        ['halves', 9, array(3, 1, [255, 255])],
        ['longs', 9, array(11, 1, of(BigInt64Array.of(-1n)))],
        ['nested', 9, array(9, 2, [...array(8, 1, text('x')), ...array(0, 0, [])])],
        ['toString', 8, text('safe')],
      ],
      [],
    ),
  );
  assert.deepEqual(
    { ...metadata },
    {
      u8: 255,
      i8: -1,
      u16: 65535,
      i16: -2,
      u32: 2 ** 32 - 1,
      i32: -2,
      f32: Math.fround(0.1),
      bool: true,
      string: 'é\ufeff',
      'cut letter': '\ufffd',
      u64: 2 ** 53 - 1,
      large: 2n ** 64n - 1n,
      i64: -5,
      f64: 0.1,
      texts: ['a', ''],
      bools: [true, false],
      numbers: Int32Array.of(1, -1),
      halves: Int16Array.of(-1),
      longs: BigInt64Array.of(-1n),
      nested: [['x'], new Uint8Array(0)],
      toString: 'safe',
    },
  );
  assert.equal(metadata.constructor, undefined);
});

test('GGUF: what cannot be read is named, and can be left out', () => {
  const file = ggufOf(
    [],
    [
      ['a', [256], 12, 0],
      ['b', [1], 0, 160],
      ['c', [3], 99, 32],
    ],
    [...Array(160).fill(0), ...floats(5)],
  );
  assert.throws(() => readGguf(file), failure('INVALID_FORMAT', /'a': Q4_K cannot be read.*options\.filter/));
  const asked = [];
  const { tensors } = readGguf(file, { filter: (name, info) => asked.push([name, info]) === 3 });
  assert.deepEqual({ ...tensors }, { b: { shape: [1], data: Float32Array.of(5) } });
  assert.deepEqual(asked, [
    ['a', { dtype: 'Q4_K', shape: [256] }],
    ['c', { dtype: 'type 99', shape: [3] }],
    ['b', { dtype: 'F32', shape: [1] }],
  ]);
  for (const [type, name] of [
    [4, 'type 4'],
    [39, 'MXFP4'],
    [24, 'I8'],
    [14, 'Q6_K'],
  ]) {
    const one = ggufOf([], [['t', [256], type, 0]], Array(1024));
    assert.throws(() => readGguf(one), failure('INVALID_FORMAT', new RegExp(`'t': ${name} cannot`)));
  }
});

test('GGUF: a damaged file is refused, and says where', () => {
  const t = ['t', [2], 0, 0];
  const data = floats(1, 2);
  const pair = (bytes, type = 9) => ggufOf([['k', type, bytes]], []);
  const good = ggufOf([['k', 4, u32(7)]], [t], data);
  readGguf(good);
  const patched = (at, bytes) => {
    const file = Uint8Array.from(good);
    file.set(bytes, at);
    return file;
  };
  let deep = [...u32(8), ...u64(0)];
  for (let i = 0; i < 20; i++) deep = [...u32(9), ...u64(1), ...deep];
  const cases = [
    [new Uint8Array(0), /begin with GGUF/],
    [Uint8Array.of(0x47, 0x47, 0x55), /begin with GGUF/],
    [patched(0, [0x67]), /begin with GGUF/],
    [good.subarray(0, 4), /reach 8 bytes at least, and the file has 4/],
    [patched(4, u32(1)), /version 1 is not read/],
    [patched(4, [0, 0, 0, 3]), /big-endian/],
    [patched(4, u32(4)), /version 4 is not read/],
    [patched(8, u64(2n ** 63n)), /number of tensors: 9223372036854775808 is beyond/],
    [patched(8, u64(2n ** 40n)), /GGUF: ./],
    [patched(16, u64(2n ** 63n)), /number of metadata: 9223372036854775808/],
    [patched(24, u64(2n ** 63n)), /length of a name in the metadata: 9223372036854775808/],
    [patched(24, u64(2n ** 40n)), /reach 1099511627808 bytes at least, and the file has/],
    [good.subarray(0, good.length - 1), /'t' would end at \d+, the file at/],
    [ggufOf([], [['t', [2 ** 40], 0, 0]], data), /'t' would end at/],
    [ggufOf([], [['t', [2 ** 31, 2 ** 31, 2 ** 31], 0, 0]], data), /'t' would end at/],
    [ggufOf([], [['t', [2 ** 31, 2 ** 31, 2 ** 31, 0], 0, 64]], data), /'t' would end at/],
    [ggufOf([], [['t', [2n ** 63n], 0, 0]], data), /'t': 9223372036854775808 is beyond/],
    [ggufOf([], [['t', Array(9).fill(1), 0, 0]], data), /'t': 9 dimensions; at most 8/],
    [ggufOf([], [['t', [2], 0, 4]], Array(64)), /'t': its offset 4 is no multiple of 32/],
    [ggufOf([], [['t', [2], 0, 2n ** 60n]], data), /'t': 1152921504606846976 is beyond/],
    [ggufOf([], [['t', [2], 0, 2 ** 50]], data), /'t' would end at/],
    [ggufOf([], [['t', [48], 8, 0]], Array(64)), /'t': Q8_0 comes in blocks of 32, which \[48\] is not/],
    [ggufOf([], [['t', [2, 32], 2, 0]], Array(64)), /'t': Q4_0 comes in blocks of 32, which \[32, 2\] is not/],
    [ggufOf([], [t, ['u', [2], 0, 0]], Array(64)), /'u' overlaps/],
    [
      ggufOf(
        [],
        [
          ['t', [20], 0, 0],
          ['u', [2], 0, 64],
        ],
        Array(128),
      ),
      /'u' overlaps/,
    ],
    [ggufOf([], [t, ['t', [2], 0, 32]], Array(64)), /the name 't' comes twice/],
    [ggufOf([], [['__proto__', [2], 0, 0]], data), /'__proto__' cannot be a name/],
    [ggufOf([['__proto__', 4, u32(1)]], []), /'__proto__' cannot be a name/],
    [
      ggufOf(
        [
          ['k', 4, u32(1)],
          ['k', 4, u32(1)],
        ],
        [],
      ),
      /the name 'k' comes twice/,
    ],
    [patched(32, [0xff]), /a name in the metadata is no UTF-8/],
    [pair(u32(1), 13), /'k': there are no values of type 13/],
    [pair([2], 7), /'k': expected 0 or 1, got 2/],
    [pair([...u32(13), ...u64(1)]), /'k': there are no values of type 13/],
    [pair([...u32(4), ...u64(2n ** 62n)]), /length of metadata 'k': 4611686018427387904/],
    [pair([...u32(4), ...u64(2n ** 40n)]), /header would reach/],
    [pair([...u32(8), ...u64(2n ** 40n)]), /more than 10000000 texts/],
    [pair(deep), /'k': arrays in more than 8 arrays/],
    [ggufOf([['general.alignment', 4, u32(0)]], [t], data), /general\.alignment: .* multiple of 8, got 0/],
    [ggufOf([['general.alignment', 4, u32(12)]], [t], data), /got 12/],
    [ggufOf([['general.alignment', 8, text('32')]], [t], data), /got '32'/],
    [ggufOf([['general.alignment', 6, floats(NaN)]], [t], data), /got NaN/],
    [ggufOf([['general.alignment', 6, floats(Infinity)]], [t], data), /got Infinity/],
  ];
  for (const [file, message] of cases) {
    assert.throws(() => readGguf(file), failure('INVALID_FORMAT', message), String(message));
  }
  // NaN among weights is no damage.
  const [nan] = readGguf(ggufOf([], [['t', [1], 1, 0]], [0x00, 0x7e])).tensors.t.data;
  assert.ok(Number.isNaN(nan));
});

test('GGUF: arguments, and any place in memory', () => {
  const file = ggufOf([], [['t', [1], 0, 0]], floats(7));
  for (const wrong of [undefined, null, 'x', 5, [], new Map()]) {
    assert.throws(() => readGguf(wrong), failure('INVALID_ARGUMENT', /^bytes: expected an ArrayBuffer/));
  }
  assert.throws(() => readGguf(file, { only: 1 }), failure('UNKNOWN_OPTION'));
  assert.throws(() => readGguf(file, { filter: 'a' }), failure('INVALID_ARGUMENT', /^filter/));
  const shared = new Uint8Array(new SharedArrayBuffer(file.length));
  shared.set(file);
  const shifted = Buffer.concat([Buffer.of(1), file]).subarray(1);
  for (const source of [file.buffer, shifted, new DataView(file.buffer), shared, shared.buffer]) {
    const { data } = readGguf(source).tensors.t;
    assert.deepEqual(data, Float32Array.of(7));
    data[0] = 5;
    assert.deepEqual(readGguf(source).tensors.t.data, Float32Array.of(7), 'the result is a copy');
  }
});

test('GGUF: a layer of a trained model', { skip }, async () => {
  const { tensors, metadata } = readGguf(readFileSync(sharedPath('models/files/stories260K_l0.gguf')));
  assert.deepEqual(
    { ...metadata },
    {
      'general.architecture': 'llama',
      'general.name': 'stories260K layer 0',
      'llama.embedding_length': 64,
      'llama.feed_forward_length': 172,
      'llama.block_count': 1,
      'llama.attention.layer_norm_rms_epsilon': Math.fround(1e-5),
      'general.alignment': 32,
    },
  );
  // The same weights in the other format.
  const other = readSafetensors(readFileSync(sharedPath('models/files/stories260K_l0.safetensors'))).tensors;
  assert.deepEqual(Object.keys(tensors).sort(), Object.keys(other).sort());
  for (const [name, { shape, data }] of Object.entries(other)) {
    assert.deepEqual(tensors[name].shape, shape);
    same(tensors[name].data, data, name);
  }
});
