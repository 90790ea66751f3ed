// Opening and closing files of weights: the worker reads, the page lists.
import { fileKey } from '../../files/reference.js';
import { inWorker, set, state, update } from '../../session.js';
import { MAX_FILES, opening, weightFiles, weightsError } from './opened.js';
import { withFirstLayer } from './subject.js';

let count = 0;

/** Reads a file's header, and adds its first layer where no configuration is of this file yet. */
export async function openWeights(blob) {
  const id = ++count;
  const { name, size } = blob;
  const key = fileKey(name);
  set({ panel: 'weights' });
  weightsError.value = null;
  opening.value = { name, size };
  const { summary, error } = await inWorker((worker) => worker.openWeights(key, id, blob));
  if (id !== count) return;
  opening.value = null;
  if (error) {
    weightsError.value = { name, ...error };
    return;
  }
  const others = weightFiles.value.filter((other) => other.key !== key);
  for (const { key: old } of others.slice(MAX_FILES - 1)) inWorker((worker) => worker.closeWeights(old));
  weightFiles.value = [{ id, key, name, blob, summary }, ...others.slice(0, MAX_FILES - 1)];
  const next = withFirstLayer(state.value, weightFiles.value[0]);
  if (next !== state.value) update(next, `weights ${id}`);
}

/** What is being opened is given up. */
export function stopOpening() {
  count++;
  opening.value = null;
}

/** Closes a file; its configurations say then that it is needed. */
export function closeWeights(key) {
  weightFiles.value = weightFiles.value.filter((other) => other.key !== key);
  inWorker((worker) => worker.closeWeights(key));
}
