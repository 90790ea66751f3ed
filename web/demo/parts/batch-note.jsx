// Which statistics batch norm takes, where a configuration has one: single blocks are seen as trace.js has them.
import { usesBatch, valuesOf } from '../fields.js';
import { catalog, picks, text } from '../session.js';
import { LETTERS } from './look.js';

export function BatchNote() {
  const t = text.value;
  const { fields } = catalog.value;
  const letters = picks.configs.flatMap((config, index) => (usesBatch(valuesOf(config, fields)) ? LETTERS[index] : []));
  return letters.length > 0 && <p class="note">{t.forward.batchStatistics(letters.join(t.sign.list))}</p>;
}
