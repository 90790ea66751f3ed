// What the panel says of what is wrong with a file.
import { text } from '../../session.js';

/** The message of a FileError in the page's language; another error's own. */
export function errorText({ code, detail, message }) {
  const { errors, kinds, reasons } = text.value.weights;
  return errors[code]?.(detail ?? {}, kinds, reasons) ?? message;
}
