// Which files of weights are open, and what is wrong with the last one. They are not part of the link, which names them.
import { signal } from '@preact/signals';

/** The newest first: { id, key: as references name it, name, blob, summary: of files/open.js } */
export const weightFiles = signal([]);
export const MAX_FILES = 4;

/** The file whose header is being read, { name, size }, or null. */
export const opening = signal(null);

/** { name, code, detail } of the last one that could not be opened, or null. */
export const weightsError = signal(null);

export const openedAs = (key) => weightFiles.value.find((file) => file.key === key);

/** Whether these weights are of a file that is not open. */
export const isMissing = ({ source }) => source !== undefined && !openedAs(source.file);
