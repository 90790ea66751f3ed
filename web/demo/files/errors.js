// What can be wrong with a file of weights. `code` is a key of texts.weights.errors, which says it in the page's language.
export class FileError extends Error {
  constructor(code, detail = {}, message = `${code} ${JSON.stringify(detail)}`) {
    super(message);
    this.name = 'FileError';
    this.code = code;
    this.detail = detail;
  }
}

/** As it stands in a message: one line, not too long. */
export const short = (text, length = 80) => {
  const line = String(text).replace(/[\p{C}\s]+/gu, ' ');
  return line.length > length ? `${line.slice(0, length)}…` : line;
};
