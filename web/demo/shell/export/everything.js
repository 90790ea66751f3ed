// The whole page as one JSON file, and back: state, the input file's numbers, results with their units. No DOM.
import { decodeState, encodeState, initialState, MAX_CONFIGS, PROPS } from '../../state.js';

const FORMAT = 'block-lab';
const VERSION = 1;
/** More text than this is no file of this page. */
export const MAX_BYTES = 64 * 1024 * 1024;

/** The units of figures, by their names anywhere in the file; what is not listed is a plain number or a count. */
const UNITS = {
  median: 's (FLOP/s in peak, B/s in read)',
  low: 'as median',
  high: 'as median',
  half: 'as median; half the distance between the quartiles',
  flops: 'FLOP',
  bytes: 'B',
  memory: 'B',
  gradient: 'norm of the gradient',
  rms: 'root mean square',
  gradientByBlock: 'norm of the gradient, a list for each block from the first',
  loss: 'mean squared error in a regression, else cross-entropy in nats',
  lossSmoothed: 'as loss, over about ten steps',
  gradientSmoothed: 'as gradient, over about ten steps',
  rate: 'learning rate',
  accuracy: 'share, 0 to 1',
  r2: 'share of the variance, at most 1',
  step: 'number of the optimiser’s step, from 1',
  marks: 'what happened in which step; where it diverged layer is from 1, in the name of the tensor from 0',
};

/** Why a file cannot be read: a code, which the page has a text for, and details for that. */
export class ImportError extends Error {
  constructor(code, detail = {}) {
    super(code);
    this.code = code;
    this.detail = detail;
  }
}

// JSON has no other numbers than finite ones, and no typed arrays.
function plain(_, value) {
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  if (ArrayBuffer.isView(value)) return Array.from(value);
  return value;
}

/**
 * @param {object} page
 * @param page.state @param page.link @param page.date an ISO date
 * @param page.version of the package @param page.variant that ran
 * @param page.results by configuration @param page.panels by panel
 * @param page.input { name, shape, data } of the input file, or null
 */
export function toFile({ state, link, date, version, variant, results, panels, input }) {
  const { configs } = state;
  const file = {
    format: FORMAT,
    formatVersion: VERSION,
    date,
    addnorm: version,
    variant,
    link,
    state,
    input,
    units: UNITS,
    results: configs.map(({ name }, i) => {
      const { result = null, times = {}, error = null } = results[i] ?? {};
      return { name, ...result, times, error };
    }),
    panels,
  };
  return `${JSON.stringify(file, plain, 1)}\n`;
}

/** @returns {{ state: object, input: { name: string, shape: number[], data: Float32Array } | null }} */
export function fromFile(text) {
  let file;
  try {
    file = JSON.parse(text);
  } catch (error) {
    throw new ImportError('SYNTAX', { message: error.message });
  }
  if (!isExport(file)) throw new ImportError('FORMAT');
  if (!isCount(file.formatVersion) || file.formatVersion > VERSION)
    throw new ImportError('VERSION', { version: file.formatVersion, known: VERSION });
  return { state: stateOf(file.state), input: inputOf(file.input) };
}

/** Whether a parsed JSON text is one of this page's files. */
export const isExport = (file) => isObject(file) && file.format === FORMAT;

const isCount = (value) => Number.isInteger(value) && value > 0;
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

function stateOf(given) {
  if (!isObject(given)) throw new ImportError('MISSING', { name: 'state' });
  const state = { ...initialState(), configs: configsOf(given.configs) };
  for (const { name, type } of PROPS) {
    if (!(name in given)) continue; // of an older version of the page
    const value = attempt(() => type.read(type.write(given[name])));
    if (JSON.stringify(value) !== JSON.stringify(given[name]))
      throw new ImportError('PROPERTY', { name, value: JSON.stringify(given[name]) });
    state[name] = value;
  }
  return decodeState(encodeState(state));
}

function configsOf(configs) {
  if (!Array.isArray(configs) || configs.length === 0) throw new ImportError('MISSING', { name: 'state.configs' });
  if (configs.length > MAX_CONFIGS)
    throw new ImportError('PROPERTY', { name: 'state.configs.length', value: `${configs.length}` });
  configs.forEach((config, index) => {
    const isRight = isObject(config) && typeof config.name === 'string' && isObject(config.values);
    const scalar = (value) => value === null || ['number', 'boolean', 'string'].includes(typeof value);
    if (!isRight || !Object.values(config.values).every(scalar))
      throw new ImportError('PROPERTY', { name: `state.configs[${index}]`, value: JSON.stringify(config) });
  });
  return configs.map((config) => ({ preset: '', weights: '', ...config }));
}

function inputOf(input) {
  if (input === undefined || input === null) return null;
  const { name, shape, data } = input;
  const size = Array.isArray(shape) && shape.every(isCount) ? shape.reduce((a, b) => a * b, 1) : 0;
  if (typeof name !== 'string' || !Array.isArray(data) || size === 0 || data.length !== size)
    throw new ImportError('INPUT');
  return { name, shape, data: Float32Array.from(data, Number) };
}

function attempt(act) {
  try {
    return act();
  } catch {
    return undefined;
  }
}
