// What a piece of an ONNX graph computes element by element, found out by computing it: however an exporter spells GELU,
// its values are GELU's.

/** Operators that act on each element alone, on numbers. `erf` is given, as JavaScript has none. */
const operators = {
  Add: (a, b) => a + b,
  Sub: (a, b) => a - b,
  Mul: (a, b) => a * b,
  Div: (a, b) => a / b,
  Pow: (a, b) => a ** b,
  Max: (...all) => Math.max(...all),
  Min: (...all) => Math.min(...all),
  Sum: (...all) => all.reduce((a, b) => a + b, 0),
  Neg: (x) => -x,
  Abs: Math.abs,
  Sqrt: Math.sqrt,
  Reciprocal: (x) => 1 / x,
  Exp: Math.exp,
  Log: Math.log,
  Tanh: Math.tanh,
  Sigmoid: (x) => 1 / (1 + Math.exp(-x)),
  Relu: (x) => Math.max(x, 0),
  Softplus: (x) => Math.log1p(Math.exp(-Math.abs(x))) + Math.max(x, 0),
  Softsign: (x) => x / (1 + Math.abs(x)),
  Mish: (x) => x * Math.tanh(Math.log1p(Math.exp(-Math.abs(x))) + Math.max(x, 0)),
  HardSwish: (x) => (x * Math.min(6, Math.max(0, x + 3))) / 6,
};

const withAttributes = {
  Clip: ({ min, max }, x, low = min ?? -Infinity, high = max ?? Infinity) => Math.min(high, Math.max(low, x)),
  LeakyRelu: ({ alpha = 0.01 }, x) => (x < 0 ? alpha * x : x),
  Elu: ({ alpha = 1 }, x) => (x < 0 ? alpha * Math.expm1(x) : x),
  Celu: ({ alpha = 1 }, x) => Math.max(0, x) + Math.min(0, alpha * Math.expm1(x / alpha)),
  Selu: ({ alpha = 1.6732632423543772, gamma = 1.0507009873554805 }, x) => gamma * (x < 0 ? alpha * Math.expm1(x) : x),
  HardSigmoid: ({ alpha = 0.2, beta = 0.5 }, x) => Math.min(1, Math.max(0, alpha * x + beta)),
  QuickGelu: ({ alpha = 1.702 }, x) => x / (1 + Math.exp(-alpha * x)),
  Swish: ({ alpha = 1 }, x) => x / (1 + Math.exp(-alpha * x)),
};

/** Operators that hand their first input on. */
export const PASSING = ['Identity', 'Cast', 'Dropout', 'Reshape', 'Flatten', 'Squeeze', 'Unsqueeze'];
const GELUS = ['Gelu', 'BiasGelu', 'FastGelu'];

export const isElementwise = (op) =>
  Object.hasOwn(operators, op) ||
  Object.hasOwn(withAttributes, op) ||
  PASSING.includes(op) ||
  GELUS.includes(op) ||
  op === 'Erf';

/** The value of a node for numbers; a function of the module gives GELU and, by it, erf. */
export function resultOf({ op, attributes }, inputs, activation) {
  if (PASSING.includes(op)) return inputs[0];
  if (op === 'Erf')
    return inputs[0] === 0 ? 0 : (2 * activation('gelu_erf', inputs[0] * Math.SQRT2)) / (inputs[0] * Math.SQRT2) - 1;
  if (op === 'Gelu') return activation(attributes.approximate === 'tanh' ? 'gelu_tanh' : 'gelu_erf', inputs[0]);
  if (op === 'BiasGelu') return activation('gelu_erf', inputs[0]); // the bias is the product's
  if (op === 'FastGelu') return activation('gelu_tanh', inputs[0]);
  if (Object.hasOwn(withAttributes, op)) return withAttributes[op](attributes, ...inputs);
  return operators[op](...inputs);
}

const POINTS = [-6, -4, -3, -2.7, -2.2, -1.7, -1, -0.5, -0.1, 0, 0.1, 0.5, 1, 1.7, 2.2, 2.7, 3, 4, 6];
// Constants of a float16 graph are off by as much.
const SAME = 2e-3;

// Of a module's activations, their values at these points.
const tables = new WeakMap();

function tableOf(names, activation) {
  if (!tables.has(activation)) {
    tables.set(activation, new Map(names.map((name) => [name, POINTS.map((x) => activation(name, x))])));
  }
  return tables.get(activation);
}

/**
 * Which activation a function is.
 * @param f (x) => number
 * @param names those to compare with @param activation (name, x, first parameter?) => number
 * @returns {{ activation: string, activation_p0?: number } | null} the nearest, if it is near enough
 */
export function recognise(f, names, activation) {
  const values = POINTS.map(f);
  const distance = (others) =>
    Math.max(...values.map((value, i) => Math.abs(value - others[i]) / Math.max(1, Math.abs(value))));
  let best = { error: SAME };
  for (const [name, others] of tableOf(names, activation)) {
    const error = distance(others);
    if (error < best.error) best = { error, activation: name };
  }
  if (best.activation) return { activation: best.activation };
  // With a parameter of its own, which one value gives.
  const at = (x) => values[POINTS.indexOf(x)];
  const parameters = {
    leaky_relu: -at(-1),
    elu: at(-1) / Math.expm1(-1),
    swish: Math.log(at(1) / (1 - at(1))),
  };
  for (const [name, value] of Object.entries(parameters)) {
    const parameter = Number(value.toPrecision(4));
    if (!names.includes(name) || !(Math.abs(parameter) < 1e6)) continue;
    const same = distance(POINTS.map((x) => activation(name, x, parameter))) < SAME;
    if (same) return { activation: name, activation_p0: parameter };
  }
  return null;
}
