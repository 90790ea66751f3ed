// Programs of random calls on the JavaScript API: what any of them may do, as properties for fast-check. A program is a list
// of numbers that choices are taken from; a shorter list with smaller numbers is a simpler program, so it shrinks well.
import assert from 'node:assert/strict';
import { types } from 'node:util';
import fc from 'fast-check';
import { instance, variants } from '../js/shared.js';

const { Addnorm, AddnormError, Block, Ffn, load, Optimizer, Stack, Tensor } = await import('../../dist/lib/index.js');
const { makeTask, tasks } = await import('../../dist/lib/tasks.js');
const { readSafetensors, writeSafetensors } = await import('../../dist/lib/formats.js');

/** One instance a variant; little memory, so that sizes are bounded by it. */
const instances = await Promise.all(variants.map((variant) => load({ variant, maxBytes: 2 ** 23 })));
/** The one that the program runs on. */
let an = instances[0];
const foreign = (await instance('simd')).zeros([2, 2]);
const gone = an.zeros([2, 2]);
gone.dispose();

// ---- Choices

class Choices {
  #numbers;
  #at = 0;

  constructor(numbers) {
    this.#numbers = numbers;
  }

  get left() {
    return this.#at < this.#numbers.length;
  }

  below(n) {
    return (this.#numbers[this.#at++] ?? 0) % n;
  }

  /** True once in n times; false where the numbers have come to their end. */
  rarely(n) {
    return this.below(n) === n - 1;
  }

  pick(list) {
    return list[this.below(list.length)];
  }

  /** Finite floats of moderate size. */
  floats(n) {
    let state = this.below(65536);
    return Float32Array.from({ length: n }, () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return state / 2 ** 29 - 4;
    });
  }

  shape() {
    return Array.from({ length: this.pick([2, 1, 3, 0, 4]) }, () => this.pick([2, 3, 1, 4, 5, 7, 8, 16, 17, 0]));
  }
}

const product = (shape) => shape.reduce((a, b) => a * b, 1);

// ---- What is none of ours

/** Thrown by what callers give; it may come through. */
class Own extends Error {}
/** So is what the engine throws of a Proxy that the caller has revoked, and of a class that is called. */
const isOwn = (error) =>
  error instanceof Own || (error instanceof TypeError && /been revoked|Class constructor/.test(error.message));
const throwing = () => {
  throw new Own('the caller’s own');
};
const revoked = () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
};
const detached = () => {
  const array = new Float32Array(4);
  structuredClone(array.buffer, { transfer: [array.buffer] });
  return array;
};

/** Anything at all in the place of an argument. `state`: the program's, for what meddles with it while it is read. */
function junk(choices, state) {
  const floats = () => choices.floats(choices.below(9));
  /** Detaches, disposes, allocates, touches: while the library reads an argument. */
  const meddle = () => {
    const victim = choices.pick([...state.tensors, ...state.modules, ...state.optimizers, null]);
    const array = choices.pick(state.arrays);
    const deeds = [
      () => array?.buffer.byteLength > 0 && structuredClone(array.buffer, { transfer: [array.buffer] }),
      () => victim?.dispose(),
      () => an.zeros([1 + choices.below(2 ** 16)]),
      () => an.scope(() => an.softmax(an.random([3, 5]))),
      () => choices.pick(state.modules)?.touch(),
    ];
    try {
      choices.pick(deeds)();
    } catch (error) {
      if (!(error instanceof AddnormError)) throw error;
    }
  };
  const makers = [
    () => choices.pick([undefined, null, true, false, 0, -1, 1, 0.5, -0, 2, 7]),
    () =>
      choices.pick([Number.NaN, Infinity, -Infinity, 2 ** 31, 2 ** 32, 2 ** 53, 1e300, -1e300, 5e-324, 1e-46, 3.5e38]),
    () =>
      choices.pick(['', 'x', 'gelu_tan', 'layer_nrm', 'pre', '__proto__', 'constructor', 'toString', '2', '\ud800']),
    () => choices.pick([10n, Symbol('s'), Symbol.iterator, () => 1, async () => 1, class {}, Date, /x/]),
    () =>
      choices.pick([
        {},
        [],
        [[]],
        [1, [2]],
        new Map(),
        new Set([1]),
        new Date(0),
        Promise.resolve(1),
        Object.create(null),
      ]),
    () => Array(choices.pick([3, 9, 1000])),
    () => 'x'.repeat(choices.pick([100, 10_000])),
    () => [choices.pick([2 ** 16, 2 ** 31, 2 ** 53, -1, Number.NaN]), choices.below(5)],
    floats,
    () => ({ data: floats(), shape: choices.shape() }),
    () => ({ data: floats(), shape: junk(choices, state) }),
    () => ({ data: junk(choices, state), shape: choices.shape() }),
    () => choices.pick([Int32Array, Float64Array, Uint8Array, BigInt64Array, Uint8ClampedArray, DataView]).name,
    () => new (choices.pick([Int32Array, Float64Array, Uint8Array, BigInt64Array]))(choices.below(9)),
    () => new Float32Array(new SharedArrayBuffer(16)),
    () => new Float32Array(new ArrayBuffer(16, { maxByteLength: 64 })),
    detached,
    revoked,
    () => new Proxy({}, { get: throwing, ownKeys: throwing, has: throwing, getPrototypeOf: throwing }),
    () => new Proxy(choices.pick([foreign, floats(), [1, 2]]), {}),
    () => choices.pick([gone, foreign, an, Tensor, Tensor.prototype, Object.create(Tensor.prototype)]),
    () => choices.pick([...state.tensors, ...state.modules, ...state.optimizers]),
    () => ({ toString: throwing, valueOf: throwing, [Symbol.toPrimitive]: throwing }),
    () => Object.defineProperty({ shape: [2, 2] }, 'data', { get: throwing, enumerable: true }),
    () => ({
      get data() {
        meddle();
        return floats();
      },
      get shape() {
        meddle();
        return choices.shape();
      },
    }),
    () => ({
      get [choices.pick(keys)]() {
        meddle();
        return junk(choices, state);
      },
    }),
    () => () => {
      meddle();
      return junk(choices, state);
    },
  ];
  return choices.pick(makers)();
}

// ---- What is right, or nearly

/** Numbers of this shape: a Tensor, an array, or an array with a shape. */
function numbers(choices, state, shape) {
  const data = choices.floats(product(shape));
  switch (choices.below(3)) {
    case 0: {
      state.arrays.push(data);
      return data;
    }
    case 1:
      state.arrays.push(data);
      return { data, shape };
    default: {
      const known = state.tensors.filter((tensor) => String(tensor.shape) === String(shape));
      if (known.length > 0 && choices.below(2)) return choices.pick(known);
      const tensor = an.tensor(data, shape);
      state.tensors.push(tensor);
      return tensor;
    }
  }
}

const small = [4, 2, 6, 8, 3, 12, 1, 16];
const fieldNames = an.fields.map(({ name }) => name);

/** A configuration with sizes that fit in little memory. */
function config(choices, of) {
  const given = { d_model: choices.pick(small), d_ff: choices.pick([8, 3, 16, 1, 20]) };
  for (let changes = choices.below(6); changes > 0; changes--) {
    const { name, type, options, min, max } = choices.pick(an.fields);
    if (of === 'ffn' && !/^(d_|activation|gated|bias|dropout|init)/.test(name)) continue;
    if (name === 'layer' ? of === 'stack' : /^(d_in|d_out|positions|final_norm)$/.test(name) && of !== 'stack')
      continue;
    if (name === 'd_in' || (name === 'd_out' && of === 'ffn')) continue;
    if (type === 'bool') given[name] = Boolean(choices.below(2));
    else if (options) given[name] = choices.pick(options);
    else if (type === 'int') given[name] = Math.min(max, min + choices.below(4));
    else given[name] = choices.pick([0.5, 0, 1, 0.1, 0.25, null]);
  }
  return given;
}

const activationName = (choices) => {
  const { name, params } = choices.pick(an.activations);
  return [name, Object.fromEntries(params.map((param) => [param.name, choices.pick([param.default, 1, 2])]))];
};
const normOptions = (choices, state, name, shape, fused) => {
  const { kind } = an.norms.find((norm) => norm.name === name);
  const last = shape.at(-1) ?? 1;
  const options = {};
  if (choices.below(2)) options.weight = numbers(choices, state, [last]);
  if (choices.below(2)) options.bias = numbers(choices, state, [last]);
  if (choices.below(2)) options.eps = choices.pick([1e-5, 1e-3, 1]);
  if (choices.below(2)) options.stats = true;
  if (kind === 'row' && choices.below(4) === 0) options.axes = [...shape.keys()].filter(() => choices.below(2));
  if (kind === 'batch' && choices.below(2)) {
    options.runningMean = choices.floats(last);
    options.runningVar = choices.floats(last).map(Math.abs);
    options.training = Boolean(choices.below(2));
  }
  if (fused && choices.below(2)) options.alpha = 0.5;
  return options;
};
const init = (choices, state) => {
  const module = choices.pick(state.modules);
  return choices.pick([{ seed: choices.below(9) }, undefined, module ? { weights: module.state() } : {}]);
};
const widthOf = ({ config: { d_model, d_in } }) => d_in || d_model;
const outOf = ({ config: { d_model, d_out } }) => d_out || d_model;

/**
 * By class and method: the arguments of a call, as they should be.
 * @type {Record<string, Record<string, (choices: Choices, state: any, self: any) => unknown[]>>}
 */
const calls = {
  Addnorm: {
    tensor: (c, s) => {
      const shape = c.shape();
      return [numbers(c, s, shape), ...(c.below(2) ? [shape] : [])];
    },
    zeros: (c) => [c.shape()],
    random: (c) => [c.shape(), c.pick([undefined, { distribution: 'uniform', low: -1, high: 2, seed: 3 }, { std: 2 }])],
    scope: (c, s) => [
      () => {
        const t = an.zeros([2]);
        return c.pick([t, [t, new Set([t])], null, { deep: { t } }, s.tensors, new Map([[1, t]])]);
      },
    ],
    stats: () => [],
    activation: (c, s) => {
      const [name, params] = activationName(c);
      return [name, numbers(c, s, c.shape()), params];
    },
    activationBackward: (c, s) => {
      const [[name, params], shape] = [activationName(c), c.shape()];
      return [name, numbers(c, s, shape), numbers(c, s, shape), params];
    },
    glu: (c, s) => {
      const [[name, params], shape] = [activationName(c), c.shape()];
      return [name, numbers(c, s, shape), numbers(c, s, shape), params];
    },
    gluBackward: (c, s) => {
      const [[name, params], shape] = [activationName(c), c.shape()];
      return [name, numbers(c, s, shape), numbers(c, s, shape), numbers(c, s, shape), params];
    },
    softmax: (c, s) => [
      numbers(c, s, c.shape()),
      { axis: c.pick([-1, 0]), log: Boolean(c.below(2)), maskedRow: 'zero' },
    ],
    softmaxBackward: (c, s) => {
      const shape = c.shape();
      return [numbers(c, s, shape), numbers(c, s, shape), { axis: c.pick([-1, 0]), log: Boolean(c.below(2)) }];
    },
    norm: (c, s) => {
      const [{ name }, shape] = [c.pick(an.norms), c.shape()];
      return [name, numbers(c, s, shape), normOptions(c, s, name, shape, false)];
    },
    normBackward: (c, s) => {
      const [{ name }, shape] = [c.pick(an.norms), c.shape()];
      return [name, numbers(c, s, shape), numbers(c, s, shape), normOptions(c, s, name, shape, false)];
    },
    add: (c, s) => {
      const shape = c.shape();
      return [numbers(c, s, shape), numbers(c, s, shape), c.pick([undefined, { alpha: 2 }])];
    },
    addBackward: (c, s) => [numbers(c, s, c.shape()), c.pick([undefined, { alpha: 2 }])],
    addNorm: (c, s) => {
      const [{ name }, shape] = [c.pick(an.norms), c.shape()];
      return [name, numbers(c, s, shape), numbers(c, s, shape), normOptions(c, s, name, shape, true)];
    },
    addNormBackward: (c, s) => {
      const [{ name }, shape] = [c.pick(an.norms), c.shape()];
      const options = normOptions(c, s, name, shape, true);
      if (c.below(2)) options.dSum = numbers(c, s, shape);
      return [name, numbers(c, s, shape), numbers(c, s, shape), options];
    },
    linear: (c, s) => {
      const [rows, n, m] = [c.pick(small), c.pick(small), c.pick(small)];
      const options = { bias: numbers(c, s, [m]), activation: c.pick(['gelu', 'relu', undefined]) };
      return [numbers(c, s, [rows, n]), { data: c.floats(n * m), shape: [m, n] }, options];
    },
    linearBackward: (c, s) => {
      const [rows, n, m] = [c.pick(small), c.pick(small), c.pick(small)];
      const options = { activation: c.pick(['gelu', 'relu', undefined]) };
      return [numbers(c, s, [rows, n]), { data: c.floats(n * m), shape: [m, n] }, numbers(c, s, [rows, m]), options];
    },
    dropout: (c, s) => [numbers(c, s, c.shape()), c.pick([0.5, 0, 0.9]), c.pick([undefined, { seed: 3, stream: 4 }])],
    loss: (c, s) => {
      const [rows, classes] = [c.pick(small), c.pick(small)];
      const labels = Array.from({ length: rows }, () => c.below(classes));
      const options = { reduction: c.pick(['mean', 'sum', 'none']) };
      const x = numbers(c, s, [rows, classes]);
      if (c.below(3) === 0) return ['mse', x, numbers(c, s, [rows, classes]), options];
      if (c.below(2)) options.labelSmoothing = 0.1;
      if (c.below(2)) options.classWeights = c.floats(classes).map((value) => Math.abs(value) + 1);
      return [c.pick(['softmax_cross_entropy', 'nll']), x, c.pick([labels, Int32Array.from(labels)]), options];
    },
    ffn: (c, s) => [config(c, 'ffn'), init(c, s)],
    block: (c, s) => [config(c, 'block'), init(c, s)],
    stack: (c, s) => [config(c, 'stack'), init(c, s)],
    optimizer: (c, s) => {
      const { name } = c.pick(an.optimizers);
      const t = s.tensors.filter(({ size }) => size === 4);
      const pairs = t.length > 1 ? { w: { value: t[0], gradient: t[1] } } : {};
      const options = { rate: c.pick([0.01, 1e-3, () => 0.1, 10]), clip: c.pick([undefined, 1]), weightDecay: 0.1 };
      if (c.below(4) === 0) options.groups = [{ match: (_, shape) => shape.length > 1, weightDecay: 0 }];
      return [name, c.pick([...s.modules, pairs]), options];
    },
    clipGradNorm: (c, s) => [c.pick([...s.modules, {}]), c.pick([1, 0.1, Infinity])],
    schedule: (c) => [
      c.pick(an.schedules).name,
      { rate: 0.1, ...(c.below(2) && { warmup: 3 }), ...(c.below(2) && { total: 9, min: 0.01 }) },
    ],
    theory: (c) => [{ ...config(c, 'stack'), d_model: 8 }],
    limits: () => [{ bytes: -1 }], // it takes 50 ms; what is measured is no matter here
    selfTest: () => [],
  },
  Tensor: {
    shape: () => [],
    size: () => [],
    data: () => [],
    toArray: () => [],
    set: (c, s, self) => [numbers(c, s, [...self.shape])],
    dispose: () => [],
  },
  Module: {
    config: () => [],
    parameters: () => [],
    buffers: () => [],
    gradients: () => [],
    zeroGrad: () => [],
    touch: () => [],
    forward: (c, s, self) => {
      const lead = c.pick([[2], [1, 3], [2, 3], [0], [17], [2, 1, 2]]);
      s.leads.set(self, lead);
      const options = { train: Boolean(c.below(2)), seed: c.below(9) };
      if (c.below(3) === 0) options.mask = Float32Array.from({ length: product(lead) }, () => c.below(2));
      return [numbers(c, s, [...lead, widthOf(self)]), c.pick([options, undefined, { train: true }])];
    },
    backward: (c, s, self) => {
      const lead = s.leads.get(self) ?? [2];
      return [numbers(c, s, [...lead, outOf(self)]), c.pick([undefined, { dx: false }, { dx: true }])];
    },
    probe: (c, s, self) => {
      const lead = c.pick([[2], [1, 3], [2, 3]]);
      const dy = numbers(c, s, [...lead, outOf(self)]);
      return [
        numbers(c, s, [...lead, widthOf(self)]),
        c.pick([dy, (y) => ({ data: y, shape: [...lead, outOf(self)] })]),
      ];
    },
    state: () => [],
    loadState: (c, s, self) => [c.pick([self, ...s.modules]).state()],
    cost: (c) => [c.below(9), c.below(4)],
    dispose: () => [],
  },
  Optimizer: {
    steps: () => [],
    rate: () => [],
    step: () => [],
    state: () => [],
    loadState: (c, s, self) => [c.pick([self, ...s.optimizers]).state()],
    dispose: () => [],
  },
  // Functions of the other entries, and what an.schedule gives.
  functions: {
    schedule: (c) => [1 + c.below(20)],
    makeTask: (c) => [an, c.pick(tasks).name, { seed: c.below(5) }],
    writeSafetensors: (_, s) => [Object.fromEntries(s.tensors.map((t, i) => [`t${i}`, t])), { a: 'b' }],
    readSafetensors: (c) => [writeSafetensors({ t: c.floats(3) })],
  },
};

/** All names of options, for what is put in their place. */
const keys = [
  ...['data', 'shape', 'weight', 'bias', 'axes', 'axis', 'seed', 'weights', 'eps', 'stats', 'mask', 'alpha', 'groups'],
  ...[
    'train',
    'dx',
    'rate',
    'match',
    'clip',
    'betas',
    'layout',
    'activation',
    'params',
    'up',
    'value',
    'gradient',
    'length',
  ],
  ...fieldNames,
];

/** The methods and getters of the public classes that are called nowhere here. */
export function uncalled() {
  const own = (of) => Object.getOwnPropertyNames(of.prototype).filter((name) => name !== 'constructor');
  const missing = (of, table, except = []) =>
    own(of)
      .filter((name) => !(name in table) && !except.includes(name))
      .map((name) => `${of.name}.${name}`);
  return [
    ...missing(Addnorm, calls.Addnorm, ['dispose']),
    ...missing(Tensor, calls.Tensor),
    ...missing(Object.getPrototypeOf(Ffn), calls.Module),
    ...[Ffn, Block, Stack].flatMap((of) => missing(of, calls.Module)),
    ...missing(Optimizer, calls.Optimizer),
  ];
}

// ---- A program

/** The call's arguments with something else in some places. */
function spoilt(choices, state, args) {
  const changed = [...args];
  for (let times = choices.pick([0, 0, 1, 1, 2]); times > 0; times--) {
    const at = choices.below(changed.length + 1);
    const arg = changed[at];
    if (!isRecord(arg) || choices.rarely(3)) changed[at] = junk(choices, state);
    else {
      const key = choices.pick([...Object.keys(arg), choices.pick(keys)]);
      const value = junk(choices, state);
      changed[at] = { ...arg };
      // As an accessor now and then, which is read when the library reads it.
      if (choices.rarely(3))
        Object.defineProperty(changed[at], key, { enumerable: true, get: () => junk(choices, state) });
      else Object.defineProperty(changed[at], key, { enumerable: true, value });
    }
  }
  return changed;
}

/** True for an object literal; not for a Proxy that throws. */
function isRecord(value) {
  try {
    return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
  } catch {
    return false;
  }
}

function isList(value) {
  try {
    return Array.isArray(value) && value.length < 100;
  } catch {
    return false;
  }
}

/** Typed arrays within arguments, by their bytes; accessors are left alone. */
function arraysIn(value, found = new Map()) {
  if (ArrayBuffer.isView(value)) {
    const bytes =
      value.byteLength > 0 ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : Buffer.alloc(0);
    found.set(value, Buffer.from(bytes));
    return found;
  }
  const own = isRecord(value) || isList(value) ? Object.getOwnPropertyDescriptors(value) : {};
  // Statistics are updated where they are, as it is documented.
  for (const key of Object.keys(own)) if (!/^running/.test(key)) arraysIn(own[key].value, found);
  return found;
}

const known = new Set([
  'INVALID_ARGUMENT',
  'SHAPE_MISMATCH',
  'UNKNOWN_NAME',
  'UNKNOWN_OPTION',
  'OUT_OF_MEMORY',
  'DISPOSED',
]);
for (const code of ['WRONG_INSTANCE', 'NO_FORWARD', 'DIVERGED', 'INVALID_FORMAT']) known.add(code);

/** A call may take this long, in ms of the processor: some hundred times what any of them takes. */
const LONG = 3000;
const spent = (since) => {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1000;
};

/** In the place of a result. */
const refused = Symbol('refused');

function invoke(what, call, args, changes) {
  const before = changes ? new Map() : arraysIn(args);
  const start = process.cpuUsage();
  let result = refused;
  try {
    result = call(...args);
  } catch (error) {
    if (!(error instanceof AddnormError)) {
      if (isOwn(error)) return refused;
      throw new Error(`${what}: a bare ${error?.name ?? typeof error}`, { cause: error });
    }
    assert.ok(known.has(error.code), `${what}: ${error.code} ${error.message}`);
    assert.ok(error.message.length < 4000, `${what}: a message of ${error.message.length} characters`);
  }
  done.calls++;
  if (result !== refused) done.results.set(what, (done.results.get(what) ?? 0) + 1);
  const took = spent(start);
  assert.ok(took < LONG, `${what} took ${took.toFixed(0)} ms`);
  for (const [array, bytes] of before) {
    if (array.byteLength === 0) continue; // detached meanwhile, by what was given
    const now = Buffer.from(array.buffer, array.byteOffset, array.byteLength);
    assert.ok(now.equals(bytes), `${what} changed an input`);
  }
  return result;
}

/** A real one: what has its prototype alone comes back from a scope too. */
function isTensor(value) {
  try {
    return value instanceof Tensor && value.shape.length >= 0;
  } catch {
    return false;
  }
}

/** Puts what a call gave among what other calls take. */
function keep(state, result) {
  const list = Array.isArray(result) ? [...result] : [result, ...(isPlain(result) ? Object.values(result) : [])];
  for (const one of list) {
    if (types.isProxy(one)) continue;
    if (isTensor(one)) state.tensors.push(one);
    else if (one instanceof Ffn || one instanceof Block || one instanceof Stack) state.modules.push(one);
    else if (one instanceof Optimizer) state.optimizers.push(one);
  }
}
const isPlain = (value) => Object.prototype.toString.call(value) === '[object Object]' && !ArrayBuffer.isView(value);

/** One step: an object, one of its methods, arguments; nothing where there is no such object yet. */
function step(choices, state) {
  const kind = choices.pick(['Addnorm', 'Addnorm', 'Module', 'Module', 'Tensor', 'Optimizer', 'functions', 'Addnorm']);
  const self = choices.pick(
    { Addnorm: [an], Module: state.modules, Tensor: state.tensors, Optimizer: state.optimizers }[kind] ?? [null],
  );
  if (self === undefined) return;
  const methods = Object.keys(calls[kind]).filter((name) => name !== 'dispose' || choices.rarely(3));
  // Backward wants a forward before it.
  const method = choices.pick(kind === 'Module' ? [...methods, 'forward', 'forward', 'backward', 'backward'] : methods);
  let args;
  try {
    args = calls[kind][method](choices, state, self);
  } catch (error) {
    // What the arguments are made of is gone, or there is no memory for it.
    if (error instanceof AddnormError && ['DISPOSED', 'OUT_OF_MEMORY'].includes(error.code)) return;
    throw error;
  }
  if (state.hostile) args = spoilt(choices, state, args);
  const what = `${kind}.${method}`;
  if (kind === 'functions') {
    const others = { makeTask, writeSafetensors, readSafetensors };
    const rate = (...given) => an.schedule(...given);
    const make = others[method] ?? invoke('Addnorm.schedule', rate, calls.Addnorm.schedule(choices), false);
    if (make !== refused) invoke(what, make, args, false);
    return;
  }
  const changes = ['set', 'step', 'loadState', 'data'].includes(method);
  const call = (...given) => {
    const value = Reflect.get(self, method, self);
    return typeof value === 'function' ? value.apply(self, given) : value;
  };
  const result = invoke(what, call, args, changes);
  if (result === refused) return;
  keep(state, result);
  if (!state.hostile) moderate(what, args, result);
}

const inUse = () => {
  const { bytes, live } = an.stats();
  return { bytes, live };
};
const atRest = inUse();

/** What was done: programs by variant, calls, and by method how many gave a result. */
export const done = { programs: new Map(variants.map((variant) => [variant, 0])), calls: 0, results: new Map() };

function run(tape, hostile) {
  const choices = new Choices(tape);
  an = choices.pick(instances);
  const state = { tensors: [], modules: [], optimizers: [], arrays: [], leads: new Map(), hostile };
  try {
    an.scope(() => {
      while (choices.left) step(choices, state);
    });
  } catch (error) {
    if (!isOwn(error)) throw error; // an accessor may throw while the program itself reads it
  }
  done.programs.set(an.variant, done.programs.get(an.variant) + 1);
  assert.deepEqual(inUse(), atRest, 'everything is given back');
  an.selfTest();
}

const tape = fc.array(fc.nat(65535), { minLength: 8, maxLength: 250, size: 'max' });

/** Any arguments to any method: a result or an AddnormError, nothing changed, nothing left behind. */
export const anything = fc.property(tape, (numbers_) => run(numbers_, true));

// ---- Finite in, finite out

/** What is asked of a call without anything wrong in it, on numbers of moderate size. */
function moderate(what, args, result) {
  if (!/^Addnorm\.(activation|glu|softmax|norm|add|linear|dropout|loss)|^Module\.(forward|backward|probe)/.test(what))
    return;
  if (!finite(args)) return;
  // The mean of no rows is NaN, and so are the statistics of nothing.
  if (args.some((arg) => sizeOf(arg) === 0)) return;
  assert.ok(finite(result, Number.isFinite), `${what}: finite arguments, and ${describe(result)}`);
}

const sizeOf = (value) => (value instanceof Tensor ? (usable(value)?.length ?? 0) : (value?.data ?? value)?.length);
const usable = (tensor) => {
  try {
    return tensor.data;
  } catch {
    return null;
  }
};
const isModerate = (x) => Math.abs(x) < 1e6;
function finite(value, test = isModerate) {
  const each = (one) => finite(one, test);
  if (typeof value === 'number') return test(value);
  if (value instanceof Tensor) return usable(value)?.every(test) ?? true;
  if (ArrayBuffer.isView(value) || Array.isArray(value)) return [...value].every(each);
  return isPlain(value) ? Object.values(value).every(each) : true;
}
const describe = (value) =>
  JSON.stringify(value, (_, v) =>
    v instanceof Tensor ? [...v.toArray()] : ArrayBuffer.isView(v) ? [...v].map(String) : v,
  );

/** Right calls on numbers of moderate size: what they give is finite too. */
export const finiteness = fc.property(tape, (numbers_) => run(numbers_, false));
