// load(): where the module comes from, which variant, and what is said when it is not what it should be.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createContext, runInContext } from 'node:vm';
import { failure, libURL, load, root, serve, trapping, variants, wasmBytes } from './helpers.js';

const works = (an) => assert.deepEqual(an.activation('relu', Float32Array.of(-1, 2)), Float32Array.of(0, 2));
const page = '<!DOCTYPE html><title>Not found</title>';

test('auto takes the best variant, each can be asked for by name, and each passes its self-test', async () => {
  const an = await load();
  assert.equal(an.variant, 'relaxed');
  assert.deepEqual(Object.keys(an.capabilities).sort(), [...variants].sort());
  for (const variant of variants) {
    const one = await load({ variant });
    assert.equal(one.variant, variant);
    assert.deepEqual(one.capabilities[variant], { available: true, reason: '' });
    assert.equal(one.version, an.version);
    works(one);
    const report = one.selfTest();
    assert.equal(report.variant, variant);
    assert.ok(report.checks.length >= 10);
    assert.deepEqual(one.stats().live, 0);
  }
});

test('B44 without relaxed SIMD auto takes simd, and asking for relaxed says why not', async () => {
  const script = `
    const validate = WebAssembly.validate;
    // An engine as Safari is: it refuses whatever has an instruction of relaxed SIMD, 0xfd 0x80-0xff 0x02.
    WebAssembly.validate = (bytes) => !bytes.some((b, i) => b === 0xfd && bytes[i + 1] >= 0x80 && bytes[i + 2] === 2) && validate(bytes);
    const { load } = await import(${JSON.stringify(new URL('index.js', libURL).href)});
    const an = await load();
    const error = await load({ variant: 'relaxed' }).catch((e) => e);
    WebAssembly.validate = () => false;
    const none = await load().catch((e) => e);
    console.log(JSON.stringify([an.variant, an.capabilities.relaxed, error.code, error.message, none.code]));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
  const [variant, relaxed, code, message, none] = JSON.parse(stdout);
  assert.equal(variant, 'simd');
  assert.equal(relaxed.available, false);
  assert.match(relaxed.reason, /relaxed SIMD/);
  assert.equal(code, 'UNSUPPORTED');
  assert.match(message, /variant 'relaxed'.*relaxed SIMD/);
  assert.equal(none, 'UNSUPPORTED');
});

test('B44 an engine that has no relaxed SIMD takes scalar and simd', async (t) => {
  const files = variants.map((variant) => fileURLToPath(new URL(`addnorm.${variant}.wasm`, libURL)));
  const script = `const { readFileSync } = require('node:fs');
    console.log(JSON.stringify(${JSON.stringify(files)}.map((file) => WebAssembly.validate(readFileSync(file)))));`;
  // This process has a flag that its child does not have.
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', script]);
  const accepted = Object.fromEntries(JSON.parse(stdout).map((valid, i) => [variants[i], valid]));
  if (accepted.relaxed) return t.skip('this Node has relaxed SIMD without a flag');
  assert.deepEqual(accepted, { scalar: true, simd: true, relaxed: false });
});

test('the module is taken from a URL, a string, a Response, bytes or a compiled module', async (t) => {
  const bytes = wasmBytes('simd');
  const types = {
    '/right': 'application/wasm',
    '/plain': 'text/plain',
    '/octets': 'application/octet-stream',
    '/none': '',
  };
  const { origin } = await serve(t, (path) => [200, types[path], bytes]);
  const file = new URL('addnorm.simd.wasm', libURL);
  const view = new Uint8Array(bytes.length + 3);
  view.set(bytes, 3);
  const sources = {
    'file: URL': file,
    'file: string': file.href,
    'http, right type': `${origin}/right`,
    'http, text/plain': `${origin}/plain`,
    'http, octet-stream': new URL(`${origin}/octets`),
    'http, no type': `${origin}/none`,
    Response: await fetch(`${origin}/right`),
    'Response made by hand': new Response(bytes),
    ArrayBuffer: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length),
    'view at an odd offset': view.subarray(3),
    DataView: new DataView(view.buffer, 3),
    Module: await WebAssembly.compile(bytes),
  };
  for (const [what, wasm] of Object.entries(sources)) {
    const an = await load({ variant: 'simd', wasm });
    assert.equal(an.variant, 'simd', what);
    works(an);
  }
  // Without a name the module says which it is; with another one it is refused.
  assert.equal((await load({ wasm: file })).variant, 'simd');
  await assert.rejects(
    load({ wasm: file, variant: 'scalar' }),
    failure('WASM_LOAD', /variant 'scalar': the module is '.* simd /),
  );
});

test('B37 what is not the module is named: status, content type, HTML, damage, URL', async (t) => {
  const bytes = wasmBytes('simd');
  const { origin } = await serve(
    t,
    (path) =>
      ({
        '/html': [200, 'text/html', page],
        '/html-as-wasm': [200, 'application/wasm', `\n  ${page}`],
        '/404': [404, 'text/html', page],
        '/500': [500, 'text/plain', 'oops'],
        '/empty': [200, 'application/wasm', ''],
        '/text': [200, 'text/plain', 'hello there'],
        '/truncated': [200, 'application/wasm', bytes.subarray(0, bytes.length >> 1)],
        '/damaged': [
          200,
          'application/wasm',
          Buffer.concat([bytes.subarray(0, 40), Buffer.alloc(20, 0xff), bytes.subarray(60)]),
        ],
      })[path],
  );
  const served = {
    '/html': /\/html \(status 200, content type text\/html\) is no WebAssembly: got HTML/,
    '/html-as-wasm': /status 200, content type application\/wasm.*got HTML/,
    '/404': /\/404 \(status 404, content type text\/html\): got HTML/,
    '/500': /\/500 \(status 500, content type text\/plain\): got 4 bytes that start with 6f 6f 70 73/,
    '/empty': /is no WebAssembly: got nothing/,
    '/text': /is no WebAssembly: got 11 bytes that start with 68 65 6c 6c/,
    '/truncated': /does not compile: truncated or damaged \(\d+ bytes\)\?/,
    '/damaged': /does not compile/,
  };
  for (const [path, message] of Object.entries(served)) {
    for (const wasm of [`${origin}${path}`, await fetch(`${origin}${path}`)]) {
      await assert.rejects(
        load({ wasm }),
        (error) => failure('WASM_LOAD', message)(error) && error.message.includes(origin + path),
      );
    }
  }
  const used = new Response(bytes);
  await used.arrayBuffer();
  // (module): valid, and another's.
  const empty = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);
  const elsewhere = [
    ['http://127.0.0.1:1/addnorm.wasm', /could not fetch http:\/\/127\.0\.0\.1:1\//],
    [new URL('missing.wasm', libURL), /could not read file:.*missing\.wasm.*ENOENT/],
    [used, /could not read the Response given/],
    [empty, /not one of this package/],
    [bytes.subarray(0, bytes.length - 100), /the given buffer does not compile: truncated/],
    [Buffer.from(page), /got HTML/],
  ];
  for (const [wasm, message] of elsewhere) await assert.rejects(load({ wasm }), failure('WASM_LOAD', message));
  works(await load());
});

test('a module of another version or interface is refused; each says how it was built', async () => {
  for (const variant of variants) {
    const { build, version } = await load({ variant });
    assert.match(build, new RegExp(`^addnorm ${version} [0-9a-f]{8} ${variant} emscripten-\\d+\\.\\d+\\.\\d+$`));
  }
  const { build } = await load({ variant: 'simd' });
  for (const [part, other] of [
    [/addnorm \d/, 'addnorm 9'],
    [/ [0-9a-f]{7}/, ' 0123456'],
    [/^addnorm/, 'another'],
  ]) {
    const bytes = Buffer.from(wasmBytes('simd'));
    const at = bytes.indexOf(`${build}\0`);
    assert.ok(at > 0);
    const wrong = build.replace(part, other);
    assert.notEqual(wrong, build);
    bytes.write(wrong, at);
    await assert.rejects(
      load({ wasm: bytes }),
      (error) => failure('WASM_LOAD', /take both from one package/)(error) && error.message.includes(`'${wrong}'`),
    );
  }
});

test('addnorm/inline needs no file: simd, and the same bits', async () => {
  const { load: loadInline, ...rest } = await import(new URL('inline.js', libURL).href);
  const { load: _, ...own } = await import(new URL('index.js', libURL).href);
  assert.deepEqual(rest, own);
  const many = await Promise.all([loadInline(), loadInline({ variant: 'simd' })]);
  const x = Float32Array.from({ length: 99 }, (_, i) => i / 7 - 7);
  const want = (await load({ variant: 'simd' })).activation('gelu_erf', x);
  for (const an of many) {
    assert.equal(an.variant, 'simd');
    assert.deepEqual(an.activation('gelu_erf', x), want);
    an.selfTest();
  }
  await assert.rejects(
    loadInline({ variant: 'relaxed' }),
    failure('UNSUPPORTED', /variant 'relaxed': addnorm\/inline has 'simd' alone; import 'addnorm'/),
  );
  await assert.rejects(loadInline({ variant: 'simt' }), failure('INVALID_ARGUMENT', /variant: expected one of/));
  assert.equal((await loadInline({ wasm: wasmBytes('scalar') })).variant, 'scalar');
});

test('B35 where the module has been left behind the error names addnorm/inline', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'addnorm-alone-'));
  t.after(() => rmSync(folder, { recursive: true }));
  cpSync(new URL('.', libURL), folder, { recursive: true });
  for (const variant of variants) rmSync(join(folder, `addnorm.${variant}.wasm`));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  const script = `import { load } from './index.js'; console.log(JSON.stringify(await load().catch(({ code, message }) => [code, message])));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    cwd: folder,
  });
  const [code, message] = JSON.parse(stdout);
  assert.equal(code, 'WASM_LOAD');
  assert.match(message, /import 'addnorm\/inline', or give load\(\{ wasm \}\): could not read file:.*ENOENT/);
});

test('where the runtime compiles no bytes the error asks for a module', async () => {
  // The engine's own words.
  const context = createContext({ bytes: wasmBytes('simd') }, { codeGeneration: { wasm: false } });
  const { message } = await runInContext('WebAssembly.compile(bytes).catch((error) => error)', context);
  assert.match(message, /embedder/);
  const script = `
    const module = await WebAssembly.compile(await readFile(new URL('addnorm.simd.wasm', ${JSON.stringify(libURL)})));
    await fetch('data:,'); // for which Node compiles a module of its own
    WebAssembly.compile = async () => { throw new WebAssembly.CompileError(${JSON.stringify(message)}); };
    const { load } = await import(${JSON.stringify(new URL('index.js', libURL).href)});
    const { load: inline } = await import(${JSON.stringify(new URL('inline.js', libURL).href)});
    const say = (made) => made.then(({ variant }) => variant, ({ code, message }) => [code, message]);
    console.log(JSON.stringify(await Promise.all([load(), inline(), load({ wasm: module })].map(say))));`;
  const from = `import { readFile } from 'node:fs/promises';${script}`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', from]);
  const [plain, inline, module] = JSON.parse(stdout);
  for (const [code, said] of [plain, inline]) {
    assert.equal(code, 'WASM_LOAD');
    assert.match(said, /^this runtime compiles no bytes: give load\(\{ wasm \}\) a WebAssembly\.Module: .*embedder/);
  }
  assert.equal(module, 'simd');
});

test('wrong options are refused', async () => {
  const detached = new Uint8Array(8);
  structuredClone(detached.buffer, { transfer: [detached.buffer] });
  const cases = [
    [{ wasm: detached }, 'INVALID_ARGUMENT', /wasm: its buffer is detached/],
    [{ wasm: detached.buffer }, 'INVALID_ARGUMENT', /wasm: its buffer is detached/],
    [
      { variant: 'simt' },
      'INVALID_ARGUMENT',
      /variant: expected one of 'auto', 'relaxed', 'simd', 'scalar', got 'simt'/,
    ],
    [{ variant: 3 }, 'INVALID_ARGUMENT', /variant/],
    [{ wams: 'x' }, 'UNKNOWN_OPTION', /unknown option 'wams'; did you mean 'wasm'\?/],
    [{ maxBytes: 0 }, 'INVALID_ARGUMENT', /maxBytes: expected an integer from 1048576 to 4294967296, got 0/],
    [{ maxBytes: 2 ** 33 }, 'INVALID_ARGUMENT', /maxBytes/],
    [{ maxBytes: '1e9' }, 'INVALID_ARGUMENT', /maxBytes/],
    [{ maxBytes: Number.NaN }, 'INVALID_ARGUMENT', /maxBytes/],
    [{ wasm: 'addnorm.wasm' }, 'INVALID_ARGUMENT', /'addnorm\.wasm' is no absolute URL/],
    [{ wasm: 7 }, 'INVALID_ARGUMENT', /wasm: expected a URL.*got 7/],
    [{ wasm: {} }, 'INVALID_ARGUMENT', /wasm/],
    [[], 'INVALID_ARGUMENT', /options: expected an object/],
    ['simd', 'INVALID_ARGUMENT', /options: expected an object, got 'simd'/],
  ];
  for (const [options, code, message] of cases) await assert.rejects(load(options), failure(code, message));
});

test('B33 ten loads at once compile once and give ten instances', async (t) => {
  const { origin, requests } = await serve(t, () => [200, 'application/wasm', wasmBytes('simd')]);
  const many = await Promise.all(Array.from({ length: 10 }, () => load({ variant: 'simd', wasm: `${origin}/once` })));
  assert.deepEqual(requests, ['/once']);
  const tensors = many.map((an, i) => an.tensor(Float32Array.of(i)));
  assert.equal(new Set(many).size, 10);
  for (const [i, tensor] of tensors.entries()) assert.deepEqual(tensor.toArray(), Float32Array.of(i));
  many[0].dispose();
  works(many[1]);
});

test('B33 after a failed load the next one tries again', async (t) => {
  let broken = true;
  const { origin, requests } = await serve(t, () =>
    broken ? [503, 'text/html', page] : [200, 'application/wasm', wasmBytes('scalar')],
  );
  const options = { variant: 'scalar', wasm: `${origin}/later` };
  const both = await Promise.allSettled([load(options), load(options)]);
  for (const { reason } of both) failure('WASM_LOAD', /status 503/)(reason);
  broken = false;
  works(await load(options));
  assert.deepEqual(requests, ['/later', '/later']);
});

test('a trap makes the instance unusable, and only that instance', async () => {
  const an = await load({ variant: 'simd', wasm: trapping(wasmBytes('simd'), 'an_softmax_fwd') });
  works(an);
  const tensor = an.tensor(Float32Array.of(1, 2));
  const block = an.block({ d_model: 2, d_ff: 2 });
  assert.throws(
    () => an.softmax(tensor),
    (error) => failure('TRAP', /an_softmax_fwd trapped/)(error) && error.cause instanceof WebAssembly.RuntimeError,
  );
  const uses = [
    () => an.activation('relu', Float32Array.of(1)),
    () => an.zeros([1]),
    () => tensor.data,
    () => block.forward(Float32Array.of(1, 2)),
    () => an.selfTest(),
  ];
  for (const use of uses) assert.throws(use, failure('TRAP', /unusable since an_softmax_fwd trapped/));
  tensor.dispose();
  block.dispose();
  an.dispose();
  works(await load({ variant: 'simd' }));
});

test('a self-test that fails says which operation', async () => {
  const an = await load({ variant: 'scalar' });
  const { selfTest } = await import(new URL('self-test.js', libURL).href);
  const wrong = { variant: 'scalar', activation: (name, x) => an.activation(name === 'silu' ? 'swish' : 'relu', x) };
  assert.throws(() => selfTest(wrong), failure('SELF_TEST', /gelu_erf is off by .* variant 'scalar'/));
  const missing = { variant: 'scalar', activation: () => new Float32Array(10).fill(Number.NaN) };
  assert.throws(() => selfTest(missing), failure('SELF_TEST', /gelu_erf is off by NaN/));
});

test('B41 it loads from any folder and from a path with blanks and other letters', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'addnorm ü 残差 %20 #1 '));
  t.after(() => rmSync(folder, { recursive: true }));
  cpSync(new URL('.', libURL), join(folder, 'lib'), { recursive: true });
  cpSync(join(root, 'package.json'), join(folder, 'package.json'));
  const script = `import { load } from './lib/index.js'; console.log((await load({ variant: 'simd' })).activation('relu', Float32Array.of(-3, 4)).join());`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    cwd: folder,
  });
  assert.equal(stdout.trim(), '0,4');
});
