// What the package says of an error is English. In another language a sentence goes before it, which names the field.
import { text } from '../session.js';

/** The sentence; '' where there is none and the error's own words have to do. */
function sentenceOf({ code, message }) {
  const { fields, moduleError } = text.value;
  const field = /\bconfig\.(\w+)/.exec(message)?.[1];
  return moduleError(code, fields[field]?.[0] ?? field);
}

/** As text alone, for what takes no element. */
export function errorWords(error) {
  const said = sentenceOf(error);
  return said ? `${said}（${error.message}）` : error.message;
}

/** The message of an error that the package has thrown; hint: what helps. */
export function ModuleError({ error, hint = '' }) {
  const said = sentenceOf(error);
  if (!said) return `${error.message.replace(/\.?$/, '.')} ${hint}`.trim();
  return (
    <>
      {said + hint} <small>{error.message}</small>
    </>
  );
}
