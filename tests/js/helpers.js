// What the tests of the binding have in common, beside shared.js: errors by code, a local web server, a module that
// traps.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';

export { instance, random, randoms, variants } from './shared.js';

// After shared.js, which switches relaxed SIMD on where Node needs a flag for it.
export const { Addnorm, AddnormError, Block, Ffn, load, Optimizer, Stack, Tensor } = await import(
  '../../dist/lib/index.js'
);

export const root = fileURLToPath(new URL('../..', import.meta.url));
export const libURL = new URL('../../dist/lib/', import.meta.url);
export const wasmBytes = (variant) => readFileSync(new URL(`addnorm.${variant}.wasm`, libURL));

/** Numbers with a shape. */
export const shaped = (values, shape) => ({ data: Float32Array.from(values), shape });

/** The rule for assert.throws and assert.rejects: an AddnormError with this code whose message matches. */
export const failure =
  (code, message = /./) =>
  (error) => {
    assert.ok(error instanceof AddnormError, `not an AddnormError: ${error?.stack ?? error}`);
    assert.equal(error.name, 'AddnormError');
    assert.equal(error.code, code, error.message);
    assert.match(error.message, message);
    return true;
  };

/** What must be as before after an error or a finished operation. */
export const inUse = (an) => {
  const { bytes, live } = an.stats();
  return { bytes, live };
};

/** |got - want| <= tolerance for every element. */
export function close(got, want, tolerance, what = '') {
  assert.equal(got.length, want.length, what);
  for (let i = 0; i < got.length; i++) {
    assert.ok(Math.abs(got[i] - want[i]) <= tolerance, `${what}[${i}]: got ${got[i]}, expected ${want[i]}`);
  }
}

/** The same bits. */
export function same(got, want, what = '') {
  const bits = (array) => Array.from(new Uint32Array(array.buffer, array.byteOffset, array.length));
  assert.deepEqual(bits(got), bits(want), what);
}

/** A web server on this machine until the test ends. `answer(path)` gives [status, content type, body]. */
export async function serve(t, answer) {
  const requests = [];
  const server = createServer((request, response) => {
    requests.push(request.url);
    const [status, type, body] = answer(request.url);
    response.writeHead(status, type ? { 'content-type': type } : {});
    response.end(body);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { origin: `http://127.0.0.1:${server.address().port}`, requests };
}

/** LEB128, unsigned. */
function encode(value) {
  const bytes = [];
  do {
    bytes.push((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
    value >>>= 7;
  } while (value > 0);
  return bytes;
}

/** The module's bytes with the body of one exported function replaced by `unreachable`. */
export function trapping(bytes, name) {
  let at = 8;
  const read = () => {
    let [value, shift, byte] = [0, 0, 0];
    do {
      byte = bytes[at++];
      value |= (byte & 0x7f) << shift;
      shift += 7;
    } while (byte & 0x80);
    return value >>> 0;
  };
  const sections = [];
  while (at < bytes.length) {
    const id = bytes[at++];
    const size = read();
    sections.push({ id, start: at, end: at + size });
    at += size;
  }
  const text = () => {
    const length = read();
    at += length;
    return String.fromCharCode(...bytes.slice(at - length, at));
  };

  at = sections.find((section) => section.id === 2).start;
  let imported = 0;
  for (let count = read(); count > 0; count--) {
    text();
    text();
    const kind = bytes[at++];
    if (kind === 0) imported++;
    if (kind === 2) {
      const limits = read();
      read();
      if (limits & 1) read();
    } else read();
  }
  at = sections.find((section) => section.id === 7).start;
  let index = -1;
  for (let count = read(); count > 0; count--) {
    const found = text() === name && bytes[at] === 0;
    at++;
    const item = read();
    if (found) index = item - imported;
  }
  assert.ok(index >= 0, `the module exports no function ${name}`);

  const code = sections.find((section) => section.id === 10);
  at = code.start;
  let count = read();
  const bodies = encode(count);
  for (let i = 0; count > 0; count--, i++) {
    const size = read();
    const body = i === index ? [0, 0x00, 0x0b] : bytes.slice(at, at + size);
    for (const byte of [...encode(body.length), ...body]) bodies.push(byte);
    at += size;
  }
  return Uint8Array.from([
    ...bytes.slice(0, code.start - sizeLength(code)),
    ...encode(bodies.length),
    ...bodies,
    ...bytes.slice(code.end),
  ]);

  function sizeLength({ start, end }) {
    // The section's own size, however many bytes its encoder gave it.
    let length = 1;
    while (bytes[start - length - 1] !== code.id || decode(start - length) !== end - start) length++;
    return length;
  }
  function decode(from) {
    at = from;
    return read();
  }
}
