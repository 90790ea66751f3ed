// The page's workers. Vite finds each by this very form; the page in one file has shell/inline-workers.js in place of this.
//
// The first compute worker begins here, when this module runs: in the built page that is a script of its own, which has
// been fetched long before the rest of the page.
const makers = {
  compute: () => new Worker(new URL('./worker.js', import.meta.url), { type: 'module', name: 'compute' }),
  training: () =>
    new Worker(new URL('./panels/training/worker.js', import.meta.url), { type: 'module', name: 'training' }),
};

let first = makers.compute();
let failure = null;
first.onerror = (event) => {
  event.preventDefault();
  failure = event;
};

/** A worker by its name in the list above: a new one, or the first one where nobody has it yet. */
export function makeWorker(name) {
  if (name !== 'compute' || !first) return makers[name]();
  const worker = first;
  first = null;
  if (failure) setTimeout(() => worker.onerror(failure)); // who takes it over has set a listener by then
  return worker;
}
