// What the panel says of what is wrong with a file.
import { errorWords } from '../../parts/module-error.jsx';
import { text } from '../../session.js';

/** The message of a FileError, or of another error, in the page's language. */
export function errorText(error) {
  const { errors, kinds, reasons } = text.value.weights;
  return errors[error.code]?.(error.detail ?? {}, kinds, reasons) ?? errorWords(error);
}
