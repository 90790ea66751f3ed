// How one property of the state is read from a link and written to it. Reading gives undefined for what cannot be one.

const clamp = (value, min, max) => Math.min(max, Math.max(min, value));

export const integer = (min, max) => ({
  read: (text) => (Number.isFinite(Number(text)) ? clamp(Math.round(Number(text)), min, max) : undefined),
  write: String,
  min,
  max,
  whole: true,
});
export const number = (min, max) => ({
  read: (text) => (text.trim() !== '' && Number.isFinite(Number(text)) ? clamp(Number(text), min, max) : undefined),
  write: String,
  min,
  max,
});
export const oneOf = (...options) => ({
  read: (text) => (options.includes(text) ? text : undefined),
  write: String,
  options,
});
export const flag = {
  read: (text) => (text === 'on' || text === 'off' ? text === 'on' : undefined),
  write: (value) => (value ? 'on' : 'off'),
};
/** Some of the options, in their order, without repetition: "relu gelu_erf"; none at all is "none". */
export const someOf = (...options) => ({
  read: (text) => {
    const wanted = text.split(' ');
    const found = options.filter((option) => wanted.includes(option));
    return found.length > 0 || text === 'none' ? found : undefined;
  },
  write: (chosen) => chosen.join(' ') || 'none',
  options,
  several: true,
});
