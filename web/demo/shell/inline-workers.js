// In place of workers.js where the page is one file: classic workers from blobs.
import ComputeWorker from '../worker.js?worker&inline';

const makers = { compute: ComputeWorker };

export const makeWorker = (name) => new makers[name]({ name });
