// Tables as text that spreadsheets open: RFC 4180, UTF-8 with its mark. No DOM.

// Figures as a spreadsheet reads them: the real minus sign and the thin space before a unit are for people.
function plain(text) {
  const cleaned = text
    .replaceAll('\u2212', '-')
    .replace(/[\u202f\u00a0]/g, ' ')
    .trim();
  if (cleaned === '–' || cleaned === '…') return '';
  if (/^-?[\d.]+(e-?\d+)? %$|^-?\d{1,3}( \d{3})+$/.test(cleaned)) return cleaned.replaceAll(' ', '');
  return cleaned;
}

// A text that begins like a formula would be one; a number may begin with its sign.
const isFormula = (text) => /^[=+@\t\r-]/.test(text) && !Number.isFinite(Number(text.replace(/%$/, '')));

function field(cell) {
  if (typeof cell === 'number') return String(cell);
  let text = plain(String(cell ?? ''));
  if (isFormula(text)) text = `'${text}`;
  return /[",\r\n]/.test(text) || text !== text.trim() ? `"${text.replaceAll('"', '""')}"` : text;
}

/** @param {(string | number)[][]} rows the head first */
export const toCsv = (rows) => `\ufeff${rows.map((row) => row.map(field).join(',')).join('\r\n')}\r\n`;
