// What the worker has to compute for the Weights panel. No DOM.
import { openedAs } from './opened.js';
import { sharing, subjectOf } from './subject.js';

/** As in panels/jobs.js. Null while the file that the shown configuration names is not open. */
export function weightsJob(state, { catalog, configs, file }) {
  if (!catalog) return null;
  const { trained, original } = subjectOf(state);
  const open = trained.source ? openedAs(trained.source.file)?.id : 0;
  if (open === undefined) return null;
  const { rows, seed, inputMean, inputStd, variant } = state;
  const others = sharing(state, trained).map((index) => ({ index, fields: configs[index].fields }));
  return { weights: trained.file, open, original, others, rows, seed, inputMean, inputStd, variant, file };
}
