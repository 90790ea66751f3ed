// The page's workers. Vite finds each by this very form; the page in one file has shell/inline-workers.js in place of this.
const makers = {
  compute: () => new Worker(new URL('./worker.js', import.meta.url), { type: 'module', name: 'compute' }),
  training: () =>
    new Worker(new URL('./panels/training/worker.js', import.meta.url), { type: 'module', name: 'training' }),
};

/** A new worker: 'compute', or what else is listed here. */
export const makeWorker = (name) => makers[name]();
