// In place of workers.js where the page is one file: classic workers from blobs, which have the module in themselves.
import TrainingWorker from '../panels/training/worker.js?worker&inline';
import ComputeWorker from '../worker.js?worker&inline';

export function makeWorker(name) {
  if (name === 'training') return new TrainingWorker({ name });
  const worker = new ComputeWorker({ name });
  worker.postMessage({ module: null });
  return worker;
}
