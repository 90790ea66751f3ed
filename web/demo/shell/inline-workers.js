// In place of workers.js where the page is one file: classic workers from blobs.
import TrainingWorker from '../panels/training/worker.js?worker&inline';
import ComputeWorker from '../worker.js?worker&inline';

const makers = { compute: ComputeWorker, training: TrainingWorker };

export const makeWorker = (name) => new makers[name]({ name });
