// Hands files to the visitor: pictures, tables and everything, and takes the last one back.
import { catalog, dropFile, file, giveFile, link, panelResults, results, state, text, update } from '../../session.js';
import { toCsv } from './csv.js';
import { fromFile, ImportError, MAX_BYTES, toFile } from './everything.js';
import { framed, toPng } from './picture.js';
import { providedResults } from './registry.js';

function save(name, blob) {
  const anchor = document.createElement('a');
  anchor.download = name;
  anchor.href = URL.createObjectURL(blob);
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 60_000); // the download may begin later
}

const fileName = (title, extension) => {
  const words =
    title
      .normalize('NFKD')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  return `block-lab-${words.join('-').slice(0, 60)}.${extension}`;
};

/** The variant that gave what is shown, as far as there is a result. */
function variantOf() {
  const { variant, selected } = state.value;
  return results.value[selected]?.result?.variant ?? (variant === 'auto' ? catalog.value?.variant : variant) ?? '';
}

const today = () => new Date().toISOString();

function frameOf({ title, note = '' }) {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(name).trim();
  const { version = '' } = catalog.value ?? {};
  const { seed } = state.value;
  const source = text.value.shell.source({ version, variant: variantOf(), seed, date: today().slice(0, 10) });
  const colors = { ink: read('--ink'), muted: read('--muted'), surface: read('--surface') };
  return { title, note, source, link: link(), colors };
}

/** @param {object} entry as in registry.js @param {'png' | 'svg'} format */
export async function savePicture(entry, format) {
  const drawn = framed(await entry.picture(), frameOf(entry));
  const blob = format === 'png' ? await toPng(drawn) : new Blob([drawn.svg], { type: 'image/svg+xml' });
  save(fileName(entry.title, format), blob);
}

export function saveTable(entry) {
  save(fileName(entry.title, 'csv'), new Blob([toCsv(entry.table())], { type: 'text/csv;charset=utf-8' }));
}

export function saveEverything() {
  const input = file.value && { name: file.value.name, shape: file.value.shape, data: file.value.data };
  const content = toFile({
    state: state.value,
    link: link(),
    date: today(),
    version: catalog.value?.version,
    variant: variantOf(),
    results: results.value,
    panels: { ...panelResults.value, ...providedResults() },
    input,
  });
  save(`block-lab-${today().slice(0, 10)}.json`, new Blob([content], { type: 'application/json' }));
}

/** Restores what saveEverything() saved. @returns {Promise<string>} why not, or '' */
export async function openEverything(chosen) {
  try {
    if (chosen.size > MAX_BYTES) throw new ImportError('TOO_LARGE', { limit: MAX_BYTES });
    const saved = fromFile(await chosen.text());
    dropFile();
    if (saved.input) giveFile(saved.input);
    update(saved.state, 'import');
    return '';
  } catch (error) {
    const say = text.value.shell.importErrors[error.code];
    return `${chosen.name}${text.value.sign.colon}${say ? say(error.detail) : error.message}`;
  }
}
