// The Wiring panel's half in the worker.
import { gradientsOf } from './gradients.js';

const KEPT = 24;
const kept = new Map(); // by configuration and input: the newest is last

function remember(key, value) {
  kept.delete(key);
  kept.set(key, value);
  if (kept.size > KEPT) kept.delete(kept.keys().next().value);
  return value;
}

/** As in panels/runs.js. Sends entries: by configuration what gradientsOf() gives, or { error }. */
export async function wiringRun(job, { an, breathe, progress, send, loadTrained, file }) {
  const entries = job.configs.map(() => null);
  for (const [index, config] of job.configs.entries()) {
    progress(index, job.configs.length);
    const key = JSON.stringify([config, job.input, job.variant]);
    if (!kept.has(key)) {
      await breathe();
      try {
        const trained = config.trained && (await loadTrained(config.trained));
        remember(key, gradientsOf(an, config.fields, { ...job.input, file }, trained || undefined));
      } catch (error) {
        if (!error.code) throw error; // a fault of ours
        remember(key, { error: { code: error.code, message: error.message, detail: error.detail } });
      }
    }
    entries[index] = remember(key, kept.get(key));
    send({ entries: [...entries] });
  }
}
