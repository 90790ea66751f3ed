// Bad input: a clear error with a code, the instance usable afterwards, nothing leaked.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import fc from 'fast-check';
import {
  Addnorm,
  AddnormError,
  Block,
  Ffn,
  failure,
  instance,
  inUse,
  load,
  shaped,
  Tensor,
  variants,
} from './helpers.js';

const isPlain = (value) => Object.getPrototypeOf(Object(value)) === Object.prototype;

const wrongData = {
  nothing: undefined,
  null: null,
  number: 3,
  string: 'abc',
  bigint: 5n,
  boolean: true,
  symbol: Symbol('x'),
  function: () => 1,
  array: [1, 2, 3, 4],
  'array with holes': Object.assign(Array(3), { 0: 1, 2: 3 }),
  'sparse object': { 0: 1, 3: 2, length: 4 },
  Float64Array: new Float64Array(4),
  Int32Array: new Int32Array(4),
  Uint8ClampedArray: new Uint8ClampedArray(4),
  BigInt64Array: new BigInt64Array(4),
  ArrayBuffer: new ArrayBuffer(16),
  DataView: new DataView(new ArrayBuffer(16)),
  Date: new Date(0),
  Map: new Map([['data', new Float32Array(4)]]),
  'data alone': { data: new Float32Array(4) },
  'shape alone': { shape: [4] },
  'data as array': { data: [1, 2, 3, 4], shape: [4] },
  'data as Float64Array': { data: new Float64Array(4), shape: [4] },
  'shape as number': { data: new Float32Array(4), shape: 4 },
  'shape as typed array': { data: new Float32Array(4), shape: Uint32Array.of(4) },
  'disguised array': Object.assign(new Float64Array(4), { shape: [4] }),
};

const wrongSizes = {
  string: '4',
  NaN: Number.NaN,
  infinite: Infinity,
  negative: -4,
  fraction: 1.5,
  bigint: 4n,
  null: null,
  nothing: undefined,
  boolean: true,
  nested: [4],
  object: {},
  'too large': 2 ** 32,
  'far too large': 1e300,
  'not exact': 2 ** 53,
};

for (const variant of variants) {
  const an = await instance(variant);
  const x = an.tensor(Float32Array.of(1, 2, 3, 4), [2, 2]);
  const gone = an.tensor(Float32Array.of(1, 2, 3, 4), [2, 2]);
  gone.dispose();
  const other = await load({ variant });
  const foreign = other.tensor(Float32Array.of(1, 2, 3, 4), [2, 2]);
  const block = an.block({ d_model: 2, d_ff: 3 }, { seed: 1 });
  const state = block.state();
  // Makes the tensors of the parameters and the workspace, which stay.
  assert.equal(block.parameters.up.size, 6);
  block.forward(x).dispose();
  const weight = shaped([1, 2, 3, 4, 5, 6], [3, 2]);
  const shrunk = new Float32Array(new ArrayBuffer(16, { maxByteLength: 16 }), 0, 4);
  shrunk.buffer.resize(8);

  const probe = () => [
    ...an.activation('silu', Float32Array.of(1, -2)),
    ...x.toArray(),
    ...block.forward(Float32Array.of(0.5, 2)),
    ...Object.values(block.state()).flatMap(({ data }) => [...data]),
  ];
  const known = probe();
  const before = inUse(an);
  after(() => {
    x.dispose();
    block.dispose();
    assert.deepEqual(inUse(an), { bytes: 0, live: 0 });
  });

  /** Runs what must fail, and sees that everything is as it was. */
  function refuses(what, code, message, run) {
    assert.throws(run, failure(code, message), what);
    assert.deepEqual(inUse(an), before, `${what}: something was left behind`);
    assert.deepEqual(probe(), known, `${what}: something was changed`);
  }
  const cases = (name, list) =>
    test(`${variant}: ${name}`, () => {
      for (const [what, [code, message, run]] of Object.entries(list())) refuses(what, code, message, run);
    });

  test(`${variant}: what is no tensor is refused, wherever a tensor is taken`, () => {
    const places = {
      data: (value) => an.tensor(value),
      'set data': (value) => x.set(value),
      activation: (value) => an.activation('relu', value),
      gate: (value) => an.glu('glu', value, x),
      up: (value) => an.glu('glu', x, value),
      softmax: (value) => an.softmax(value),
      norm: (value) => an.norm('layer_norm', value),
      weight: (value) => an.norm('layer_norm', x, { weight: value }),
      bias: (value) => an.norm('batch_norm', x, { bias: value }),
      alpha: (value) => an.norm('dyt', x, { alpha: value }),
      runningVar: (value) => an.norm('batch_norm', x, { runningMean: Float32Array.of(0, 0), runningVar: value }),
      x: (value) => an.add(value, x),
      y: (value) => an.add(x, value),
      residual: (value) => an.addNorm('rms_norm', x, value),
      linear: (value) => an.linear(value, weight),
      'linear weight': (value) => an.linear(x, value),
      'linear bias': (value) => an.linear(x, weight, { bias: value }),
      mask: (value) => an.norm('batch_norm', x, { channelAxis: 0, mask: value }),
      'activation backward': (value) => an.activationBackward('relu', value, x),
      'activation dy': (value) => an.activationBackward('relu', x, value),
      'gate backward': (value) => an.gluBackward('glu', value, x, x),
      'up backward': (value) => an.gluBackward('glu', x, value, x),
      'glu dy': (value) => an.gluBackward('glu', x, x, value),
      'softmax y': (value) => an.softmaxBackward(value, x),
      'softmax dy': (value) => an.softmaxBackward(x, value),
      'norm backward': (value) => an.normBackward('layer_norm', value, x),
      'norm dy': (value) => an.normBackward('group_norm', x, value),
      'norm backward weight': (value) => an.normBackward('batch_norm', x, x, { weight: value }),
      dOut: (value) => an.addBackward(value),
      sum: (value) => an.addNormBackward('rms_norm', value, x),
      'addNorm dy': (value) => an.addNormBackward('batch_norm', x, value),
      dSum: (value) => an.addNormBackward('rms_norm', x, x, { dSum: value }),
      'linear backward': (value) => an.linearBackward(value, weight, x),
      'linear backward weight': (value) => an.linearBackward(x, value, x),
      'linear dy': (value) => an.linearBackward(x, shaped([1, 2, 3, 4], [2, 2]), value),
      dropout: (value) => an.dropout(value, 0.5),
      prediction: (value) => an.loss('mse', value, x),
      'mse target': (value) => an.loss('mse', x, value),
      classWeights: (value) => an.loss('nll', x, [0, 1], { classWeights: value }),
      forward: (value) => block.forward(value),
      weights: (value) => an.block({ d_model: 2, d_ff: 3 }, { weights: { ...state, up: value } }),
      loadState: (value) => block.loadState({ ...state, up: value }),
    };
    // Where undefined and null mean the default, and dyt's alpha may be a number.
    const optional = ['weight', 'bias', 'alpha', 'linear bias', 'mask', 'norm backward weight', 'dSum', 'classWeights'];
    for (const [place, run] of Object.entries(places)) {
      for (const [what, value] of Object.entries(wrongData)) {
        if (optional.includes(place) && (value === undefined || value === null)) continue;
        if (place === 'alpha' && typeof value === 'number') continue;
        refuses(`${place}: ${what}`, 'INVALID_ARGUMENT', /expected/, () => run(value));
      }
      refuses(`${place}: disposed`, 'DISPOSED', /has been disposed/, () => run(gone));
      if (place !== 'set data') refuses(`${place}: foreign`, 'WRONG_INSTANCE', /another instance/, () => run(foreign));
      refuses(`${place}: Proxy`, 'INVALID_ARGUMENT', /expected a Tensor, got a Proxy/, () => run(new Proxy(x, {})));
      refuses(`${place}: heir`, 'INVALID_ARGUMENT', /expected/, () => run(Object.create(Tensor.prototype)));
      refuses(`${place}: shrunk`, 'INVALID_ARGUMENT', /detached or has shrunk/, () => run(shrunk));
      const five = { data: new Float32Array(5), shape: [2, 2] };
      refuses(`${place}: 5 for [2, 2]`, 'SHAPE_MISMATCH', /shape \[2, 2\] has 4 elements, data has 5/, () => run(five));
    }
  });

  test(`${variant}: getters run once, and an argument that one of them disposes is seen`, () => {
    const values = [Float32Array.of(1, -2), null, 'x'];
    const data = { shape: [2] };
    Object.defineProperty(data, 'data', { get: () => values.shift() });
    assert.deepEqual(an.activation('relu', data), Float32Array.of(1, 0));
    assert.deepEqual(values, [null, 'x']);

    const first = an.tensor(new Float32Array(4));
    const disposing = {
      get data() {
        first.dispose();
        return new Float32Array(4);
      },
      shape: [4],
    };
    refuses('x, disposed by y', 'DISPOSED', /x: this tensor has been disposed/, () => an.add(first, disposing));
  });

  test(`${variant}: what a getter or a rate disposes or replaces is not used`, () => {
    const row = new Float32Array(4).fill(1);
    const whole = { data: row, shape: [1, 4] };
    const wide = { data: new Float32Array(4000), shape: [1000, 4] };
    /** @param {() => void} act @param {number[]} [shape] */
    const acting = (act, shape = [1, 4]) => ({
      get data() {
        act();
        return new Float32Array(shape.reduce((a, b) => a * b)).fill(2);
      },
      shape,
    });
    // After the end of one, others take its memory: they must keep their numbers.
    const others = [];
    /** @param {{ dispose(): void }} one */
    const end = (one) => () => {
      one.dispose();
      for (let size = 1; size < 400; size++) others.push(an.tensor(new Float32Array(size).fill(7)));
    };
    const layers = { d_model: 4, d_ff: 8 };
    /** @type {Record<string, [string, (module: Ffn) => unknown]>} */
    const refused = {
      'forward, x': ['DISPOSED', (module) => module.forward(acting(end(module)))],
      'forward, mask': ['DISPOSED', (module) => module.forward(whole, { mask: acting(end(module), [1]) })],
      'forward, options': [
        'DISPOSED',
        (module) =>
          module.forward(whole, {
            get seed() {
              end(module)();
              return 1;
            },
          }),
      ],
      'backward, dy': ['DISPOSED', (module) => module.backward(acting(end(module)))],
      'backward, another forward': [
        'NO_FORWARD',
        (module) => module.backward(acting(() => void module.forward(wide, { train: true }))),
      ],
      'backward, another backward': [
        'NO_FORWARD',
        (module) => module.backward(acting(() => void module.backward(whole))),
      ],
      'backward, set': [
        'NO_FORWARD',
        (module) => module.backward(acting(() => void module.parameters.up_bias.set(new Float32Array(8)))),
      ],
      'probe, dy': ['DISPOSED', (module) => module.probe(whole, acting(end(module)))],
      'probe, of a function': ['DISPOSED', (module) => module.probe(whole, () => acting(end(module)))],
      loadState: ['DISPOSED', (module) => module.loadState({ ...module.state(), down_bias: acting(end(module), [4]) })],
      set: ['DISPOSED', (module) => module.parameters.up_bias.set(acting(end(module), [8]))],
      rate: [
        'DISPOSED',
        (module) => {
          const optimizer = an.optimizer('adam', module, { rate: () => end(optimizer)() ?? 1 });
          optimizer.step();
        },
      ],
      'optimizer.loadState': [
        'DISPOSED',
        (module) => {
          const optimizer = an.optimizer('adam', module);
          optimizer.loadState({ ...optimizer.state(), 'v.down_bias': acting(end(optimizer), [4]) });
        },
      ],
    };
    for (const [what, [code, run]] of Object.entries(refused)) {
      const module = an.ffn(layers);
      module.forward(whole, { train: true });
      module.zeroGrad();
      assert.throws(() => run(module), failure(code), what);
      for (const other of others.splice(0)) {
        assert.ok(
          other.data.every((value) => value === 7),
          `${what}: another tensor's numbers`,
        );
        other.dispose();
      }
      module.dispose();
    }
    const target = an.zeros([4]);
    const growing = acting(() => an.zeros([an.stats().memory / 4]).dispose(), [4]);
    assert.deepEqual(target.set(growing).toArray(), new Float32Array(4).fill(2));
    target.dispose();
  });

  test(`${variant}: what is no size is refused, wherever a size is taken`, () => {
    const places = {
      zeros: (size) => an.zeros([2, size]),
      tensor: (size) => an.tensor(Float32Array.of(1, 2, 3, 4), [size]),
      shaped: (size) => an.activation('relu', { data: Float32Array.of(1, 2, 3, 4), shape: [size, 1] }),
      axis: (size) => an.softmax(x, { axis: size }),
      axes: (size) => an.norm('layer_norm', x, { axes: [0, size] }),
      channelAxis: (size) => an.norm('batch_norm', x, { channelAxis: size }),
      groups: (size) => an.norm('group_norm', x, { groups: size }),
      d_model: (size) => an.block({ d_model: size }),
      depth: (size) => an.block({ depth: size }),
      seed: (size) => an.block({ d_model: 2 }, { seed: size }),
      cost: (size) => block.cost(size),
      random: (size) => an.random([size, 2]),
      'random seed': (size) => an.random([2], { seed: size }),
      'dropout seed': (size) => an.dropout(x, 0.5, { seed: size }),
      'dropout stream': (size) => an.dropout(x, 0.5, { stream: size }),
      'axis backward': (size) => an.softmaxBackward(x, x, { axis: size }),
      'axes backward': (size) => an.normBackward('layer_norm', x, x, { axes: [0, size] }),
      'loss axis': (size) => an.loss('nll', x, [0, 1], { axis: size }),
    };
    const optional = ['axis', 'channelAxis', 'groups', 'd_model', 'depth', 'seed', 'random seed', 'dropout seed'];
    optional.push('dropout stream', 'axis backward', 'loss axis');
    for (const [place, run] of Object.entries(places)) {
      for (const [what, value] of Object.entries(wrongSizes)) {
        if (optional.includes(place) && (value === undefined || value === null)) continue;
        refuses(`${place}: ${what}`, 'INVALID_ARGUMENT', /expected an integer|at least/, () => run(value));
      }
    }
    for (const shape of [
      '2,2',
      4,
      {},
      { length: 2 },
      new Set([2, 2]),
      Array(9).fill(1),
      Object.assign(Array(3), { 0: 2, 2: 2 }),
      null,
      undefined,
    ]) {
      refuses(`shape ${String(shape)}`, 'INVALID_ARGUMENT', /shape/, () => an.zeros(shape));
    }
    // A hole that is long, and a getter.
    refuses('a sparse shape', 'INVALID_ARGUMENT', /at most 8 sizes/, () => an.zeros(Array(2 ** 32 - 1)));
  });

  test(`${variant}: what is no number is refused, wherever a number is taken`, () => {
    const places = {
      'params.beta': (value) => an.activation('swish', x, { beta: value }),
      'params.alpha': (value) => an.linear(x, weight, { activation: 'elu', params: { alpha: value } }),
      eps: (value) => an.norm('layer_norm', x, { eps: value }),
      weightOffset: (value) => an.norm('rms_norm', x, { weightOffset: value }),
      momentum: (value) => an.norm('batch_norm', x, { momentum: value }),
      alpha: (value) => an.add(x, x, { alpha: value }),
      normAlpha: (value) => an.addNorm('dyt', x, x, { normAlpha: value }),
      p: (value) => an.dropout(x, value),
      mean: (value) => an.random([2], { mean: value }),
      std: (value) => an.random([2], { std: value }),
      low: (value) => an.random([2], { distribution: 'uniform', low: value }),
      high: (value) => an.random([2], { distribution: 'uniform', high: value }),
      labelSmoothing: (value) => an.loss('nll', x, [0, 1], { labelSmoothing: value }),
      ignoreIndex: (value) => an.loss('nll', x, [0, 1], { ignoreIndex: value }),
      'backward alpha': (value) => an.addNormBackward('dyt', x, x, { alpha: value }),
      'backward normAlpha': (value) => an.addNormBackward('dyt', x, x, { normAlpha: value }),
      'config.eps': (value) => an.block({ eps: value }),
      'config.alpha': (value) => an.block({ alpha: value }),
    };
    for (const [place, run] of Object.entries(places)) {
      for (const value of ['1', Number.NaN, Infinity, -Infinity, 1n, true, {}, [1], () => 1, Symbol('1')]) {
        refuses(`${place}: ${String(value)}`, 'INVALID_ARGUMENT', /expected/, () => run(value));
      }
    }
    for (const [place, value] of [
      ['eps', -1e-9],
      ['momentum', 1.5],
      ['momentum', -0.1],
      ['p', 1.5],
      ['p', -0.5],
      ['std', -1],
      ['high', -1],
      ['low', 1.5],
      ['labelSmoothing', 1.01],
      ['config.eps', -1],
      ['config.eps', 2],
    ]) {
      refuses(`${place}: ${value}`, 'INVALID_ARGUMENT', /expected a finite number/, () => places[place](value));
    }
    for (const place of ['params.beta', 'params.alpha', 'weightOffset', 'alpha', 'normAlpha']) {
      const message = new RegExp(`${place}: expected a finite number from -3.4e\\+38 to 3.4e\\+38, got 1e\\+39`);
      refuses(`${place}: beyond float32`, 'INVALID_ARGUMENT', message, () => places[place](1e39));
    }
    for (const value of [1, 0, 'true', {}, 'false']) {
      const truths = {
        log: () => an.softmax(x, { log: value }),
        stats: () => an.norm('layer_norm', x, { stats: value }),
        training: () => an.norm('batch_norm', x, { training: value }),
        train: () => block.forward(x, { train: value }),
        'config.bias': () => an.block({ bias: value }),
      };
      for (const [place, run] of Object.entries(truths)) {
        refuses(`${place}: ${value}`, 'INVALID_ARGUMENT', new RegExp(`${place}: expected true or false`), run);
      }
    }
  });

  cases('unknown names, with the nearest known one', () => ({
    activation: [
      'UNKNOWN_NAME',
      /activation: unknown name 'gelu_erv'; did you mean 'gelu_erf'\?/,
      () => an.activation('gelu_erv', x),
    ],
    alias: ['UNKNOWN_NAME', /did you mean 'gelu_new'\?/, () => an.activation('gelu_nwe', x)],
    capitals: ['UNKNOWN_NAME', /did you mean 'silu'\?/, () => an.activation('SiLU', x)],
    'glu only': ['UNKNOWN_NAME', /'swiglu'; .*an\.glu\('swiglu', gate, up\)/, () => an.activation('swiglu', x)],
    'gated by its name': [
      'UNKNOWN_NAME',
      /config\.activation: unknown name 'GEGLU'; a gated FFN has activation: 'gelu_erf', gated: true/,
      () => an.ffn({ activation: 'GEGLU' }),
    ],
    'glu in capitals': ['UNKNOWN_NAME', /^glu: .*did you mean 'swiglu'\?/, () => an.glu('SwiGLU', x, x)],
    'no gate of a norm': ['UNKNOWN_NAME', /^norm: unknown name 'glu'; known: /, () => an.norm('glu', x)],
    'one word': ['UNKNOWN_NAME', /did you mean 'leaky_relu'\?/, () => an.activation('leakyrelu', x)],
    glu: ['UNKNOWN_NAME', /did you mean 'swiglu'\?/, () => an.glu('swigl', x, x)],
    far: [
      'UNKNOWN_NAME',
      /unknown name 'convolution'; known: 'relu', 'leaky_relu'/,
      () => an.activation('convolution', x),
    ],
    long: ['UNKNOWN_NAME', /unknown name 'x{40}\.\.\.'; known/, () => an.activation('x'.repeat(1e6), x)],
    inherited: ['UNKNOWN_NAME', /unknown name 'toString'/, () => an.activation('toString', x)],
    'inherited in glu': ['UNKNOWN_NAME', /unknown name 'constructor'/, () => an.glu('constructor', x, x)],
    number: ['INVALID_ARGUMENT', /activation: expected a name, got 3/, () => an.activation(3, x)],
    object: ['INVALID_ARGUMENT', /expected a name, got an object/, () => an.activation({ name: 'relu' }, x)],
    'list item': ['INVALID_ARGUMENT', /expected a name/, () => an.activation(an.activations[0], x)],
    norm: [
      'UNKNOWN_NAME',
      /norm: unknown name 'layernorm'; did you mean 'layer_norm'\?/,
      () => an.norm('layernorm', x),
    ],
    'in addNorm': ['UNKNOWN_NAME', /did you mean 'rms_norm'\?/, () => an.addNorm('rmsnorm', x, x)],
    parameter: [
      'UNKNOWN_OPTION',
      /params: unknown parameter 'slope'; known: 'alpha'/,
      () => an.activation('elu', x, { slope: 1 }),
    ],
    'no parameters': [
      'UNKNOWN_OPTION',
      /unknown parameter 'alpha'; there are none here/,
      () => an.activation('relu', x, { alpha: 1 }),
    ],
    option: [
      'UNKNOWN_OPTION',
      /options: unknown option 'axes'; did you mean 'axis'\?/,
      () => an.softmax(x, { axes: [1] }),
    ],
    'another norm': [
      'UNKNOWN_OPTION',
      /layer_norm: unknown option 'groups'/,
      () => an.norm('layer_norm', x, { groups: 2 }),
    ],
    proto: ['UNKNOWN_OPTION', /unknown option '__proto__'/, () => an.softmax(x, JSON.parse('{ "__proto__": 1 }'))],
    'mask of another norm': [
      'UNKNOWN_OPTION',
      /group_norm: unknown option 'mask'/,
      () => an.norm('group_norm', x, { mask: x }),
    ],
    'dSum without a residual': [
      'UNKNOWN_OPTION',
      /rms_norm: unknown option 'dSum'/,
      () => an.normBackward('rms_norm', x, x, { dSum: x }),
    ],
    backward: [
      'UNKNOWN_NAME',
      /activation: .*did you mean 'gelu_erf'\?/,
      () => an.activationBackward('gelu_erv', x, x),
    ],
    loss: [
      'UNKNOWN_NAME',
      /loss: unknown name 'cross_entrop'; did you mean 'cross_entropy'\?/,
      () => an.loss('cross_entrop', x, x),
    ],
    'loss, far': ['UNKNOWN_NAME', /known: 'mse', 'softmax_cross_entropy', 'nll'/, () => an.loss('hinge', x, x)],
    reduction: [
      'INVALID_ARGUMENT',
      /reduction: unknown name 'avg'; known: 'mean'/,
      () => an.loss('mse', x, x, { reduction: 'avg' }),
    ],
    'labels of mse': [
      'UNKNOWN_OPTION',
      /mse: unknown option 'ignoreIndex'/,
      () => an.loss('mse', x, x, { ignoreIndex: 1 }),
    ],
    distribution: [
      'INVALID_ARGUMENT',
      /distribution: unknown name 'norma'; did you mean 'normal'\?/,
      () => an.random([2], { distribution: 'norma' }),
    ],
    'mean of a uniform': [
      'UNKNOWN_OPTION',
      /uniform: unknown option 'mean'/,
      () => an.random([2], { distribution: 'uniform', mean: 1 }),
    ],
    maskedRow: [
      'INVALID_ARGUMENT',
      /maskedRow: unknown name 'zeros'; did you mean 'zero'\?/,
      () => an.softmax(x, { maskedRow: 'zeros' }),
    ],
    layout: [
      'INVALID_ARGUMENT',
      /layout: unknown name 'inout'; did you mean 'in_out'\?/,
      () => an.linear(x, weight, { layout: 'inout' }),
    ],
    field: [
      'UNKNOWN_OPTION',
      /config: unknown field 'dmodel'; did you mean 'd_model'\?/,
      () => an.block({ dmodel: 4 }),
    ],
    'a block field in an ffn': [
      'UNKNOWN_OPTION',
      /config: unknown field 'placement'/,
      () => an.ffn({ placement: 'pre' }),
    ],
    placement: ['UNKNOWN_NAME', /config\.placement: unknown name 'prenorm'/, () => an.block({ placement: 'prenorm' })],
    'config.activation': [
      'UNKNOWN_NAME',
      /config\.activation: .*did you mean 'gelu'\?/,
      () => an.block({ activation: 'gelue' }),
    ],
    init: ['UNKNOWN_NAME', /config\.init: .*did you mean 'xavier_normal'\?/, () => an.block({ init: 'xavier_norm' })],
    weight: [
      'UNKNOWN_NAME',
      /weights: unknown name 'up_weight'/,
      () => an.block({ d_model: 2, d_ff: 3 }, { weights: { ...state, up_weight: state.up } }),
    ],
    'missing weights': [
      'INVALID_ARGUMENT',
      /weights: 'down', 'norm_bias' missing; expected 'up', 'up_bias', 'down', 'down_bias', 'norm_weight', 'norm_bias'/,
      () => an.block({ d_model: 2, d_ff: 3 }, { weights: without(state, 'down', 'norm_bias') }),
    ],
    'missing in a state': ['INVALID_ARGUMENT', /state: 'up' missing/, () => block.loadState(without(state, 'up'))],
    'a state with too much': [
      'UNKNOWN_NAME',
      /state: unknown name 'gate'/,
      () => block.loadState({ ...state, gate: state.up }),
    ],
  }));

  cases('shapes that do not fit', () => ({
    'too few for a shape': [
      'SHAPE_MISMATCH',
      /shape: \[3, 2\] has 6 elements, data has 4/,
      () => an.tensor(new Float32Array(4), [3, 2]),
    ],
    set: ['SHAPE_MISMATCH', /data: expected \[2, 2\], got \[3\]/, () => x.set(new Float32Array(3))],
    'set with another shape': [
      'SHAPE_MISMATCH',
      /data: expected \[2, 2\], got \[4\]/,
      () => x.set(shaped([1, 2, 3, 4], [4])),
    ],
    up: ['SHAPE_MISMATCH', /up: expected \[2, 2\], got \[4, 1\]/, () => an.glu('glu', x, shaped([1, 2, 3, 4], [4, 1]))],
    'up, flat': ['SHAPE_MISMATCH', /up: expected \[2, 2\], got \[5\]/, () => an.glu('glu', x, new Float32Array(5))],
    add: ['SHAPE_MISMATCH', /y: expected \[2, 2\], got \[2\]/, () => an.add(x, new Float32Array(2))],
    residual: [
      'SHAPE_MISMATCH',
      /residual: expected \[2, 2\], got \[3\]/,
      () => an.addNorm('rms_norm', x, new Float32Array(3)),
    ],
    axis: ['INVALID_ARGUMENT', /axis: expected an integer from -2 to 1, got 2/, () => an.softmax(x, { axis: 2 })],
    'softmax of a single number': [
      'SHAPE_MISMATCH',
      /axis: x is a single number and has no axis/,
      () => an.softmax(shaped([1], [])),
    ],
    'softmax of nothing': ['SHAPE_MISMATCH', /x: \[2, 0\] has no element along/, () => an.softmax(shaped([], [2, 0]))],
    'axes twice': [
      'INVALID_ARGUMENT',
      /axes: expected different axes of x \[2, 2\], got \[1, -1\]/,
      () => an.norm('layer_norm', x, { axes: [1, -1] }),
    ],
    'axes as a number': [
      'INVALID_ARGUMENT',
      /axes: expected an array of axes of x \[2, 2\], got 1/,
      () => an.norm('layer_norm', x, { axes: 1 }),
    ],
    'too many axes': [
      'INVALID_ARGUMENT',
      /got an array of 4294967295/,
      () => an.norm('layer_norm', x, { axes: Array(2 ** 32 - 1) }),
    ],
    'norm over nothing': [
      'SHAPE_MISMATCH',
      /x: \[2, 0\] has no element along/,
      () => an.norm('rms_norm', shaped([], [2, 0])),
    ],
    'batch norm without channels': [
      'SHAPE_MISMATCH',
      /no element along/,
      () => an.norm('batch_norm', shaped([], [2, 0])),
    ],
    weight: [
      'SHAPE_MISMATCH',
      /weight: expected \[2\], got \[3\]/,
      () => an.norm('layer_norm', x, { weight: new Float32Array(3) }),
    ],
    'weight for two axes': [
      'SHAPE_MISMATCH',
      /weight: expected \[1, 2\], got \[2, 1\]/,
      () => an.norm('layer_norm', shaped([1, 2], [1, 2]), { axes: [0, 1], weight: shaped([1, 2], [2, 1]) }),
    ],
    bias: ['SHAPE_MISMATCH', /bias: expected \[2\], got \[2, 2\]/, () => an.norm('layer_norm', x, { bias: x })],
    alpha: [
      'SHAPE_MISMATCH',
      /alpha: expected \[1\], got \[2\]/,
      () => an.norm('dyt', x, { alpha: new Float32Array(2) }),
    ],
    groups: [
      'SHAPE_MISMATCH',
      /groups: 3 does not divide the 2 channels of x \[2, 2\]/,
      () => an.norm('group_norm', x, { groups: 3 }),
    ],
    'batch axis': [
      'INVALID_ARGUMENT',
      /channelAxis: axis 0 of x is the batch/,
      () => an.norm('instance_norm', x, { channelAxis: 0 }),
    ],
    'one axis': [
      'INVALID_ARGUMENT',
      /group_norm takes x with at least 2 axes/,
      () => an.norm('group_norm', Float32Array.of(1, 2)),
    ],
    'mean without variance': [
      'INVALID_ARGUMENT',
      /runningMean, runningVar: expected both, got runningMean alone/,
      () => an.norm('batch_norm', x, { runningMean: Float32Array.of(0, 0) }),
    ],
    'no statistics': [
      'INVALID_ARGUMENT',
      /expected both, got none and training: false/,
      () => an.norm('batch_norm', x, { training: false }),
    ],
    'one array for both': [
      'INVALID_ARGUMENT',
      /must not share memory/,
      () => {
        const both = Float32Array.of(1, 1, 1);
        an.norm('batch_norm', x, { training: true, runningMean: both.subarray(0, 2), runningVar: both.subarray(1) });
      },
    ],
    'running statistics in x': [
      'INVALID_ARGUMENT',
      /must not share memory/,
      () => {
        const runningMean = x.data.subarray(1, 3);
        an.norm('batch_norm', x, { training: true, runningMean, runningVar: Float32Array.of(1, 1) });
      },
    ],
    'weight the other way round': [
      'SHAPE_MISMATCH',
      /weight: expected \[out, 2\], got \[2, 3\]; for that order pass layout: 'in_out'/,
      () => an.linear(x, shaped([1, 2, 3, 4, 5, 6], [2, 3])),
    ],
    'and in in_out': [
      'SHAPE_MISMATCH',
      /weight: expected \[2, out\], got \[3, 2\]; for that order pass layout: 'out_in'/,
      () => an.linear(x, weight, { layout: 'in_out' }),
    ],
    'weight of neither order': [
      'SHAPE_MISMATCH',
      /weight: expected \[out, 2\], got \[3, 3\]$/,
      () => an.linear(x, shaped(Array(9).fill(0), [3, 3])),
    ],
    'flat weight': [
      'SHAPE_MISMATCH',
      /weight: expected \[out, 2\], got \[6\]$/,
      () => an.linear(x, new Float32Array(6)),
    ],
    'linear bias': [
      'SHAPE_MISMATCH',
      /bias: expected \[3\], got \[2\]/,
      () => an.linear(x, weight, { bias: new Float32Array(2) }),
    ],
    'linear of a single number': [
      'SHAPE_MISMATCH',
      /x: expected \[\.\.\., in\], got \[\]/,
      () => an.linear(shaped([1], []), weight),
    ],
    'linear too wide': [
      'OUT_OF_MEMORY',
      /the result: \[65536, 65537\] is/,
      () => an.linear(shaped(new Float32Array(65536), [65536, 1]), shaped(new Float32Array(65537), [65537, 1])),
    ],
    dy: [
      'SHAPE_MISMATCH',
      /dy: expected \[2, 2\], got \[4, 1\]/,
      () => an.activationBackward('relu', x, shaped([1, 2, 3, 4], [4, 1])),
    ],
    'glu dy': [
      'SHAPE_MISMATCH',
      /dy: expected \[2, 2\], got \[3\]/,
      () => an.gluBackward('glu', x, x, new Float32Array(3)),
    ],
    'softmax dy': [
      'SHAPE_MISMATCH',
      /dy: expected \[2, 2\], got \[3\]/,
      () => an.softmaxBackward(x, new Float32Array(3)),
    ],
    'softmax backward of a single number': [
      'SHAPE_MISMATCH',
      /axis: y is a single number and has no axis/,
      () => an.softmaxBackward(shaped([1], []), Float32Array.of(1)),
    ],
    'norm dy': [
      'SHAPE_MISMATCH',
      /dy: expected \[2, 2\], got \[3\]/,
      () => an.normBackward('batch_norm', x, new Float32Array(3)),
    ],
    'norm backward weight': [
      'SHAPE_MISMATCH',
      /weight: expected \[2\], got \[3\]/,
      () => an.normBackward('layer_norm', x, x, { weight: new Float32Array(3) }),
    ],
    'axes of a sum': [
      'INVALID_ARGUMENT',
      /axes: expected different axes of sum \[2, 2\], got \[0, 0\]/,
      () => an.addNormBackward('layer_norm', x, x, { axes: [0, 0] }),
    ],
    'backward without statistics': [
      'INVALID_ARGUMENT',
      /expected both, got none and training: false/,
      () => an.normBackward('batch_norm', x, x, { training: false }),
    ],
    dSum: [
      'SHAPE_MISMATCH',
      /dSum: expected \[2, 2\], got \[2\]/,
      () => an.addNormBackward('group_norm', x, x, { dSum: new Float32Array(2) }),
    ],
    mask: ['SHAPE_MISMATCH', /mask: expected \[2\], got \[2, 2\]/, () => an.norm('batch_norm', x, { mask: x })],
    'mask along the other axis': [
      'SHAPE_MISMATCH',
      /mask: expected \[3\], got \[2\]/,
      () => an.norm('batch_norm', weight, { channelAxis: 1, mask: new Float32Array(2) }),
    ],
    'linear dy': ['SHAPE_MISMATCH', /dy: expected \[2, 3\], got \[2, 2\]/, () => an.linearBackward(x, weight, x)],
    'linear backward weight': [
      'SHAPE_MISMATCH',
      /weight: expected \[2, out\], got \[3, 2\]; for that order pass layout: 'out_in'/,
      () => an.linearBackward(x, weight, shaped([1, 2, 3, 4, 5, 6], [2, 3]), { layout: 'in_out' }),
    ],
    'mse target': [
      'SHAPE_MISMATCH',
      /target: expected \[2, 2\], got \[3\]/,
      () => an.loss('mse', x, new Float32Array(3)),
    ],
    labels: [
      'SHAPE_MISMATCH',
      /target: expected \[2\] for labels or \[2, 2\] for probabilities, got \[3\]/,
      () => an.loss('nll', x, [0, 1, 0]),
    ],
    'no labels': [
      'INVALID_ARGUMENT',
      /^target: expected a Tensor, got a Proxy of one/,
      () => an.loss('cross_entropy', x, Object.create(Tensor.prototype)),
    ],
    'labels along another axis': [
      'SHAPE_MISMATCH',
      /target: expected \[3\] for labels or \[3, 2\] for probabilities, got \[2\]/,
      () => an.loss('nll', weight, Int32Array.of(0, 1)),
    ],
    'labels in a column': [
      'SHAPE_MISMATCH',
      /target: expected \[2\] for labels .*, got \[2, 1\]/,
      () => an.loss('cross_entropy', x, { data: Int32Array.of(0, 1), shape: [2, 1] }),
    ],
    'labels that do not fill their shape': [
      'SHAPE_MISMATCH',
      /target: shape \[2\] has 2 elements, data has 3/,
      () => an.loss('cross_entropy', x, { data: Int32Array.of(0, 1, 1), shape: [2] }),
    ],
    'probabilities in another order': [
      'SHAPE_MISMATCH',
      /target: expected \[3\] for labels or \[3, 2\] for probabilities, got \[2, 3\]/,
      () => an.loss('soft_cross_entropy', weight, shaped(new Float32Array(6), [2, 3])),
    ],
    classWeights: [
      'SHAPE_MISMATCH',
      /classWeights: expected \[2\], got \[3\]/,
      () => an.loss('nll', x, [0, 1], { classWeights: new Float32Array(3) }),
    ],
    'loss of a single number': [
      'SHAPE_MISMATCH',
      /axis: prediction is a single number and has no axis/,
      () => an.loss('nll', shaped([1], []), [0]),
    ],
    'loss without classes': [
      'SHAPE_MISMATCH',
      /prediction: \[2, 0\] has no element along/,
      () => an.loss('nll', shaped([], [2, 0]), [0, 0]),
    ],
    forward: ['SHAPE_MISMATCH', /x: expected \[\.\.\., 2\], got \[3\]/, () => block.forward(new Float32Array(3))],
    'forward of a single number': [
      'SHAPE_MISMATCH',
      /x: expected \[\.\.\., 2\], got \[\]/,
      () => block.forward(shaped([1], [])),
    ],
    'module weight': [
      'SHAPE_MISMATCH',
      /weights\.up: expected \[3, 2\], got \[2, 3\]; for \[in, out\] pass layout: 'in_out'/,
      () => an.block({ d_model: 2, d_ff: 3 }, { weights: { ...state, up: shaped(state.up.data, [2, 3]) } }),
    ],
    'flat module weight': [
      'SHAPE_MISMATCH',
      /weights\.up: expected \[3, 2\], got \[7\]/,
      () => an.block({ d_model: 2, d_ff: 3 }, { weights: { ...state, up: new Float32Array(7) } }),
    ],
    'module weights in in_out': [
      'SHAPE_MISMATCH',
      /weights\.up: expected \[2, 3\], got \[3, 2\]$/,
      () => an.block({ d_model: 2, d_ff: 3 }, { weights: state, layout: 'in_out' }),
    ],
    state: [
      'SHAPE_MISMATCH',
      /state\.up: expected \[3, 2\], got \[2, 3\]/,
      () => block.loadState({ ...state, up: shaped(state.up.data, [2, 3]) }),
    ],
    parameter: [
      'SHAPE_MISMATCH',
      /data: expected \[3, 2\], got \[5\]/,
      () => block.parameters.up.set(new Float32Array(5)),
    ],
  }));

  cases('values that do not go together', () => ({
    'seed and weights': [
      'INVALID_ARGUMENT',
      /init: expected seed or weights, got both/,
      () => an.block({ d_model: 2, d_ff: 3 }, { seed: 1, weights: state }),
    ],
    'weights as an array': [
      'INVALID_ARGUMENT',
      /weights: expected an object of named weights, got \[1\]/,
      () => an.block({ d_model: 2 }, { weights: [1] }),
    ],
    'weights as false': [
      'INVALID_ARGUMENT',
      /weights: expected an object of named weights, got false/,
      () => an.block({ d_model: 2 }, { weights: false }),
    ],
    'no state': [
      'INVALID_ARGUMENT',
      /state: expected an object of named weights, got undefined/,
      () => block.loadState(),
    ],
    groups: [
      'INVALID_ARGUMENT',
      /config\.groups: 3 does not go with the other fields\. .*divides d_model/,
      () => an.block({ d_model: 4, norm: 'group_norm', groups: 3 }),
    ],
    'domain of a parameter': [
      'INVALID_ARGUMENT',
      /params\.beta: expected a positive number, at least 2\^-126, got 0/,
      () => an.activation('softplus', x, { beta: 0 }),
    ],
    'domain of a parameter of both signs': [
      'INVALID_ARGUMENT',
      /params\.alpha: expected a number other than 0, of at least 2\^-126 in size, got 1e-40/,
      () => an.glu('celu', x, x, { alpha: 1e-40 }),
    ],
    'domain of a field': [
      'INVALID_ARGUMENT',
      /config\.activation_p0: expected a positive number, at least 2\^-126, for softcap, got -1/,
      () => an.block({ activation: 'softcap', activation_p0: -1 }),
    ],
    'config as a string': ['INVALID_ARGUMENT', /config: expected an object, got 'gpt2'/, () => an.block('gpt2')],
    'options as a tensor': ['INVALID_ARGUMENT', /options: expected an object, got a Tensor/, () => an.softmax(x, x)],
    'options as a Map': [
      'INVALID_ARGUMENT',
      /params: expected an object, got a Map/,
      () => an.activation('elu', x, new Map()),
    ],
    'init as a number': ['INVALID_ARGUMENT', /init: expected an object, got 7/, () => an.block({ d_model: 2 }, 7)],
    'null where auto is no value': ['INVALID_ARGUMENT', /fn: expected a function, got 3/, () => an.scope(3)],
    'async scope': ['INVALID_ARGUMENT', /must not be asynchronous/, () => an.scope(async () => an.zeros([3]))],
    'Tensor by hand': ['INVALID_ARGUMENT', /Tensor: made by an\.tensor/, () => new Tensor()],
    'Addnorm by hand': ['INVALID_ARGUMENT', /Addnorm: made by load/, () => new Addnorm({}, 'simd')],
    'Ffn by hand': ['INVALID_ARGUMENT', /made by an\.ffn, an\.block or an\.stack/, () => new Ffn()],
    'Block by hand': ['INVALID_ARGUMENT', /made by an\.ffn, an\.block or an\.stack/, () => new Block(an, {})],
  }));

  test(`${variant}: what is no label is refused, with its place`, () => {
    const wrong = {
      fraction: 0.5,
      NaN: Number.NaN,
      infinite: Infinity,
      negative: -1,
      'too large': 2,
      'wraps around': 2 ** 32,
      string: '1',
      boolean: true,
      null: null,
      nothing: undefined,
      bigint: 2n,
      nested: [1],
      object: {},
    };
    for (const [what, label] of Object.entries(wrong)) {
      const text = /target\[1\]: expected a label from 0 to 1, or ignoreIndex -100, got /;
      refuses(what, 'INVALID_ARGUMENT', text, () => an.loss('cross_entropy', x, [1, label]));
      if (typeof label !== 'number') continue;
      refuses(`${what}, float`, 'INVALID_ARGUMENT', text, () => an.loss('nll', x, Float32Array.of(1, label)));
      const tensor = shaped([1, label], [2]);
      refuses(`${what}, shaped`, 'INVALID_ARGUMENT', text, () => an.loss('nll', x, tensor, { axis: 0 }));
    }
    refuses('a hole', 'INVALID_ARGUMENT', /target\[0\]: .*, got undefined/, () => an.loss('nll', x, Array(2)));
    refuses('ignored elsewhere', 'INVALID_ARGUMENT', /target\[0\]: .* or ignoreIndex 5, got -100/, () =>
      an.loss('nll', x, [-100, 5], { ignoreIndex: 5 }),
    );
    const integers = ['Int32Array', 'Uint8ClampedArray', 'BigInt64Array'];
    const lists = ['array', 'array with holes', 'data as array', ...integers];
    for (const [what, target] of Object.entries(wrongData)) {
      if (lists.includes(what)) continue;
      refuses(`target: ${what}`, 'INVALID_ARGUMENT', /target.*expected/, () => an.loss('nll', x, target));
    }
    refuses('target: disposed', 'DISPOSED', /target: .*has been disposed/, () => an.loss('nll', x, gone));
    refuses('target: foreign', 'WRONG_INSTANCE', /target: .*another instance/, () => an.loss('nll', x, foreign));
    refuses('target: Proxy', 'INVALID_ARGUMENT', /got a Proxy/, () => an.loss('nll', x, new Proxy(x, {})));
    refuses('p of 1', 'INVALID_ARGUMENT', /p: expected a probability below 1, got 1/, () => an.dropout(x, 1));
  });

  test(`${variant}: any arguments give a result or an AddnormError`, () => {
    const y = shaped([5, 6, 7, 8], [2, 2]);
    const calls = {
      tensor: [y.data, [4, 1]],
      zeros: [[2, 3]],
      activation: ['elu', x, { alpha: 2 }],
      glu: ['swish', y, x, { beta: 2 }],
      softmax: [y, { axis: 0, log: true, maskedRow: 'zero' }],
      norm: ['layer_norm', x, { weight: y, axes: [1, 0], eps: 1e-5, weightOffset: 1, stats: true }],
      add: [x, y, { alpha: 2 }],
      addNorm: ['dyt', y, x, { bias: y.data.subarray(2), alpha: 0.5, normAlpha: 2 }],
      linear: [x, weight, { bias: weight.data.subarray(3), activation: 'silu', params: {}, layout: 'out_in' }],
      activationBackward: ['celu', x, y, { alpha: 2 }],
      gluBackward: ['swiglu', y, x, y.data],
      softmaxBackward: [y, x, { axis: 0, log: true, maskedRow: 'zero' }],
      normBackward: ['batch_norm', x, y, { channelAxis: 0, mask: y.data.subarray(2), weight: y.data.subarray(1, 3) }],
      addBackward: [x, { alpha: 3 }],
      addNormBackward: ['dyt', x, y, { dSum: y, axes: [1, 0], normAlpha: 2 }],
      linearBackward: [x, weight, weight.data, { bias: weight.data.subarray(3), activation: 'silu' }],
      dropout: [x, 0.5, { seed: 3, stream: 1 }],
      random: [[2, 2], { distribution: 'uniform', low: -1, high: 2, seed: 4 }],
      loss: ['softmax_cross_entropy', x, [1, 0], { labelSmoothing: 0.1, ignoreIndex: 7, axis: 1, reduction: 'none' }],
      ffn: [{ d_model: 2, d_ff: 3, activation: 'celu', activation_p0: 2, gated: true }, { seed: 3 }],
      block: [
        { d_model: 2, d_ff: 3, norm: 'layer_norm', placement: 'pre' },
        { weights: state, layout: 'out_in' },
      ],
    };
    const batch = [
      'batch_norm',
      y,
      { channelAxis: 1, training: true, runningMean: y.data.subarray(2), runningVar: weight.data.subarray(4) },
    ];
    const group = ['group_norm', x, { groups: 2, channelAxis: 1 }];
    const all = [...Object.entries(calls), ['norm', batch], ['norm', group], ['addNorm', group]];
    const names = [...an.activations, ...an.norms, ...an.placements, ...an.fields].map(String);
    const keys = [...new Set(all.flatMap(([, args]) => args.flatMap((arg) => Object.keys(Object(arg)))))];
    const size = fc.oneof(
      fc.integer({ min: -3, max: 9 }),
      fc.double(),
      fc.constantFrom(2 ** 31, 2 ** 32, 2 ** 53, '2'),
    );
    const shape = fc.array(size, { maxLength: 4 });
    const floats = fc.float32Array({ maxLength: 9 });
    const filled = fc
      .tuple(fc.array(fc.nat(3), { maxLength: 4 }), fc.float())
      .map(([sizes, value]) => shaped(Array(sizes.reduce((a, b) => a * b, 1)).fill(value), sizes));
    const given = fc.constantFrom(x, y, gone, foreign, ...names);
    const junk = fc.oneof(
      size,
      shape,
      floats,
      filled,
      fc.record({ data: floats, shape }),
      given,
      fc.boolean(),
      fc.anything(),
    );
    // A call that is right, and up to three places of it where something else stands.
    const change = fc.record({ argument: fc.nat(3), key: fc.option(fc.constantFrom(...keys)), value: junk });
    const changes = fc.array(change, { maxLength: 3 });
    let results = 0;
    const property = fc.property(fc.constantFrom(...all), changes, floats, ([method, base], list, input) => {
      const args = base.map((arg) => (isPlain(arg) ? { ...arg } : arg));
      for (const { argument, key, value } of list) {
        const at = argument % base.length;
        if (key !== null && isPlain(args[at])) args[at] = { ...args[at], [key]: value };
        else args[at] = value;
      }
      an.scope(() => {
        try {
          const result = an[method](...args);
          results++;
          if (result instanceof Block || result instanceof Ffn) {
            result.forward(input);
            result.loadState(args.at(-1));
          }
        } catch (error) {
          if (!(error instanceof AddnormError)) throw error;
          assert.notEqual(error.code, 'TRAP');
        }
      });
      assert.deepEqual(inUse(an), before);
    });
    fc.assert(property, { numRuns: 1500, seed: 20240607 });
    assert.ok(results > 200 && results < 1200, `${results} of 1500 calls gave a result`);
    x.set(Float32Array.of(1, 2, 3, 4));
    assert.deepEqual(probe(), known);
  });
}

test('what an old library has put into Object.prototype is not felt', async () => {
  const an = await instance('simd');
  const [x, w] = [Float32Array.of(1, -2), Float32Array.of(3, 4)];
  const use = () => {
    const tensor = an.tensor(x, [1, 2]);
    const linear = an.linearBackward(shaped(x, [1, 2]), shaped(w, [1, 2]), shaped([2], [1, 1]));
    const found = {
      activation: an.activation('relu', x),
      norm: an.norm('rms_norm', x, { eps: 0 }),
      loss: an.loss('mse', x, w),
      tensors: Object.keys(an.loss('mse', tensor, an.tensor(w, [1, 2]))),
      linear,
    };
    return structuredClone(found);
  };
  const before = an.scope(use);
  Object.prototype.foo = 1;
  try {
    assert.deepEqual(an.scope(use), before);
  } finally {
    delete Object.prototype.foo;
  }
  assert.deepEqual(before.loss, { value: 20, gradient: Float32Array.of(-2, -6) });
});

test('a module or an optimizer is no options, configuration or list of parameters', async () => {
  const an = await instance('simd');
  an.scope(() => {
    const block = an.block({ d_model: 4, d_ff: 4 });
    const adam = an.optimizer('adam', block);
    const x = an.zeros([1, 4]);
    const refused = [
      [() => an.block(block), /^config: expected an object, got a Module/],
      [() => an.linear(x, an.zeros([4, 4]), block), /^options: expected an object, got a Module/],
      [() => an.optimizer('adam', adam), /^parameters: expected .*, got a Optimizer/],
    ];
    for (const [act, message] of refused) assert.throws(act, failure('INVALID_ARGUMENT', message));
  });
});

function without(object, ...names) {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));
}
