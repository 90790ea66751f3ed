// The page's workers. Vite finds each by this very form; the page in one file has shell/inline-workers.js in place of this.
//
// In the built page this is a script of its own, which runs long before the rest of the page has come. What takes longest
// begins here: the first compute worker, the module that it waits for, and Chinese texts where they are wanted.
import address from 'addnorm/wasm/addnorm.relaxed.wasm?url';

const makers = {
  compute() {
    const worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module', name: 'compute' });
    given.then((message) => worker.postMessage(message));
    return worker;
  },
  training: () =>
    new Worker(new URL('./panels/training/worker.js', import.meta.url), { type: 'module', name: 'training' }),
};

// The module with relaxed SIMD, which most browsers run; the worker finds another one itself. It meets with whatever goes
// wrong here once more, and says so.
const given = fetchModule().catch(() => ({ module: null }));

async function fetchModule() {
  if (!runsRelaxed()) return { module: null };
  const response = await fetch(address);
  return { variant: 'relaxed', module: await WebAssembly.compile(await response.arrayBuffer()) };
}

// (module (func (result v128) ... f32x4.relaxed_madd))
function runsRelaxed() {
  const head = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 5, 1, 0x60, 0, 1, 0x7b, 3, 2, 1, 0];
  const splat = [0x41, 0, 0xfd, 0x0f];
  const body = [0x11, 0, ...splat, ...splat, ...splat, 0xfd, 0x85, 2, 0x0b];
  return WebAssembly.validate(Uint8Array.of(...head, 10, body.length + 1, 1, ...body));
}

let first = makers.compute();
let failure = null;
first.onerror = (event) => {
  event.preventDefault();
  failure = event;
};

// texts/index.js, which asks for it and hears of a failure, comes with the other scripts.
const language = /[#&]lang=(en|zh)(&|$)/.exec(location.hash)?.[1] ?? navigator.language;
if (/^zh\b/i.test(language)) import('./texts/zh.js').catch(() => {});

/** A worker by its name in the list above: a new one, or the first one where nobody has it yet. */
export function makeWorker(name) {
  if (name !== 'compute' || !first) return makers[name]();
  const worker = first;
  first = null;
  if (failure) setTimeout(() => worker.onerror(failure)); // who takes it over has set a listener by then
  return worker;
}
