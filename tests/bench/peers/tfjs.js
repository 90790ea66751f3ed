// tfjs on its wasm backend, SIMD, one thread: operations composed as tfjs-layers composes them or in fewer passes, weights
// as [in, out] tensors that stay in the backend.
//
// The backend's kernels are synchronous and a tensor stays in wasm memory, as ours does. A job therefore ends with the
// tensor; `dataSync` would only add its copy.

const script = (src) =>
  new Promise((resolve, reject) => {
    const element = document.createElement('script');
    element.src = src;
    element.onload = resolve;
    element.onerror = () => reject(new Error(`${src} did not load`));
    document.head.append(element);
  });

/** In a page the classic scripts, in Node its CommonJS build; it has no ES modules that run without a bundler. */
async function library(base) {
  if (typeof document === 'object') {
    if (!globalThis.tf?.wasm) {
      await script(`${base}@tensorflow/tfjs/dist/tf.es2017.min.js`);
      await script(`${base}@tensorflow/tfjs-backend-wasm/dist/tf-backend-wasm.es2017.min.js`);
    }
    globalThis.tf.wasm.setWasmPaths(`${base}@tensorflow/tfjs-backend-wasm/dist/`);
    return globalThis.tf;
  }
  const { createRequire } = await import('node:module');
  const require = createRequire(base);
  const tf = require('@tensorflow/tfjs');
  require('@tensorflow/tfjs-backend-wasm');
  return tf;
}

export async function create({ base }) {
  const start = performance.now();
  const tf = await library(base);
  tf.env().set('WASM_HAS_MULTITHREAD_SUPPORT', false);
  await tf.setBackend('wasm');
  await tf.ready();
  if (!(await tf.env().getAsync('WASM_HAS_SIMD_SUPPORT'))) throw new Error('tfjs runs without SIMD');
  const initialised = performance.now() - start;

  const constants = new Map();
  const constant = (value) => {
    if (!constants.has(value)) constants.set(value, tf.keep(tf.scalar(value)));
    return constants.get(value);
  };
  const times = (x, value) => tf.mul(x, constant(value));
  const plus = (x, value) => tf.add(x, constant(value));

  const activations = {
    relu: tf.relu,
    leaky_relu: (x) => tf.leakyRelu(x, 0.01),
    relu_squared: (x) => tf.square(tf.relu(x)),
    elu: tf.elu,
    celu: tf.elu, // alpha is 1
    selu: tf.selu,
    gelu_erf: (x) => tf.mul(times(x, 0.5), plus(tf.erf(times(x, Math.SQRT1_2)), 1)),
    // 0.5 (1 + tanh(u)) as sigmoid(2u): its tanh, like erf and softplus, is computed value by value and costs ten times
    // its sigmoid, which is XNNPACK's.
    gelu_tanh: (x) => {
      const slope = 2 * Math.sqrt(2 / Math.PI);
      return tf.mul(x, tf.sigmoid(tf.mul(x, plus(times(tf.square(x), 0.044715 * slope), slope))));
    },
    gelu_quick: (x) => tf.mul(x, tf.sigmoid(times(x, 1.702))),
    silu: (x) => tf.mul(x, tf.sigmoid(x)),
    swish: (x) => tf.mul(x, tf.sigmoid(x)),
    // tanh(log(1 + e)) = e (e + 2) / (e (e + 2) + 2) for e = exp(x), and 1 from x = 20 on: a quarter of the time of
    // tanh(softplus(x)).
    mish: (x) => {
      const e = tf.exp(tf.minimum(x, constant(20)));
      const square = tf.mul(e, plus(e, 2));
      return tf.mul(x, tf.div(square, plus(square, 2)));
    },
    softplus: tf.softplus,
    softsign: (x) => tf.div(x, plus(tf.abs(x), 1)),
    hard_swish: (x) => tf.mul(x, times(tf.relu6(plus(x, 3)), 1 / 6)),
    hard_sigmoid: (x) => tf.clipByValue(plus(times(x, 0.2), 0.5), 0, 1),
    sigmoid: tf.sigmoid,
    log_sigmoid: tf.logSigmoid,
    tanh: tf.tanh,
  };

  const tensor = (data, shape) => tf.tensor(data, shape, 'float32');
  const matrix = (data, out, inner) => tf.tidy(() => tf.transpose(tensor(data, [out, inner])));
  const product = (a, b, bias, activation = 'linear') => tf.fused.matMul({ a, b, bias, activation });

  // The mean of a row as its product with a column of 1/d: RMSNorm of 512 x 768 takes 0.57 ms so, 0.83 with tf.mean,
  // LayerNorm 1.10 and 1.50 (the layer of tfjs-layers, which tiles its statistics, 85).
  const columns = new Map();
  const mean = (x) => {
    const d = x.shape[1];
    if (!columns.has(d)) columns.set(d, tf.keep(tf.fill([d, 1], 1 / d)));
    return tf.matMul(x, columns.get(d));
  };
  const inverse = (x, eps) => tf.rsqrt(plus(mean(tf.square(x)), eps));
  const norms = {
    layer_norm(x, eps) {
      const centred = tf.sub(x, mean(x));
      return tf.mul(centred, inverse(centred, eps));
    },
    rms_norm: (x, eps) => tf.mul(x, inverse(x, eps)),
  };
  const affine = (y, weight, bias) => (bias ? tf.add(tf.mul(y, weight), bias) : tf.mul(y, weight));

  // What tfjs-layers has under these names, for who asks for the library's own (`library`).
  const layers = { gelu_tanh: 'gelu_new', mish: 'mish' };
  const layer = (activation) => {
    const made = tf.layers.activation({ activation: layers[activation] });
    return (x) => made.apply(x);
  };

  // Each gives [the tensors that it keeps, the work].
  const works = {
    ffn({ rows, d, h, activation, gated, bias, x: data, weights: given }) {
      const act = activations[activation];
      if (!act) return null;
      const x = tensor(data, [rows, d]);
      const [up, down] = [matrix(given.up, h, d), matrix(given.down, d, h)];
      const gate = gated ? matrix(given.gate, h, d) : null;
      const vector = (values) => (bias && values ? tf.tensor1d(values) : undefined);
      const [upBias, gateBias, downBias] = [given.up_bias, given.gate_bias, given.down_bias].map(vector);
      const work = gated
        ? () => product(tf.mul(act(product(x, gate, gateBias)), product(x, up, upBias)), down, downBias)
        : () => product(act(product(x, up, upBias)), down, downBias);
      return [[x, up, down, gate, upBias, gateBias, downBias], work];
    },
    norm({ norm, rows, d, x: data, weight: scale, bias: shift, eps, library }) {
      if (!norms[norm]) return null;
      const [x, weight, bias] = [tensor(data, [rows, d]), tf.tensor1d(scale), shift && tf.tensor1d(shift)];
      if (library && norm === 'layer_norm') {
        const made = tf.layers.layerNormalization({ epsilon: eps });
        made.build([rows, d]);
        made.setWeights([weight, bias ?? tf.zeros([d])]);
        return [[x, weight, bias], () => made.apply(x)];
      }
      return [[x, weight, bias], () => affine(norms[norm](x, eps), weight, bias)];
    },
    add_norm({ norm, rows, d, x: data, residual, weight: scale, bias: shift, eps }) {
      if (!norms[norm]) return null;
      const [x, other] = [tensor(data, [rows, d]), tensor(residual, [rows, d])];
      const [weight, bias] = [tf.tensor1d(scale), shift && tf.tensor1d(shift)];
      const work = () => {
        const sum = tf.add(x, other);
        return [sum, affine(norms[norm](sum, eps), weight, bias)];
      };
      return [[x, other, weight, bias], work];
    },
    softmax({ log, rows, d, x: data }) {
      const x = tensor(data, [rows, d]);
      return [[x], log ? () => tf.logSoftmax(x) : () => tf.softmax(x)];
    },
    activation({ activation, n, x: data, library }) {
      const act = library && layers[activation] ? layer(activation) : activations[activation];
      if (!act) return null;
      const x = tensor(data, [n]);
      return [[x], () => act(x)];
    },
    glu({ activation, n, gate: first, up: second }) {
      if (!activations[activation]) return null;
      const [gate, up] = [tensor(first, [n]), tensor(second, [n])];
      return [[gate, up], () => tf.mul(activations[activation](gate), up)];
    },
    linear({ rows, in: inner, out, x: data, weight: given, bias: shift, activation = 'identity' }) {
      const act = activation === 'identity' ? (y) => y : activations[activation];
      if (!act) return null;
      const [x, weight] = [tensor(data, [rows, inner]), matrix(given, out, inner)];
      const bias = shift ? tf.tensor1d(shift) : undefined;
      return [[x, weight, bias], () => act(product(x, weight, bias))];
    },
    // dy W and dy^T x; a product that turns an operand itself is many times slower than one of a turned copy.
    linear_backward({ rows, in: inner, out, x: data, weight: given, dy: gradient }) {
      const [x, dy] = [tensor(data, [rows, inner]), tensor(gradient, [rows, out])];
      const weight = tensor(given, [out, inner]);
      return [[x, dy, weight], () => [tf.matMul(dy, weight), tf.matMul(tf.transpose(dy), x)]];
    },
  };

  // A product with its gradient by turned copies. tfjs's own gradient asks the kernel to turn an operand, and a step of
  // 512 rows, 256/1024 takes 3 s with it.
  const dense = tf.customGrad((x, weight, save) => {
    save([x, weight]);
    const gradFunc = (dy, [x, weight]) => [tf.matMul(dy, tf.transpose(weight)), tf.matMul(tf.transpose(x), dy)];
    return { value: tf.matMul(x, weight), gradFunc };
  });

  function step({ d, h, rows, x: data, target: wanted, weights: given, rate }) {
    const variable = (value) => tf.variable(value);
    const [up, down] = [variable(matrix(given.up, h, d)), variable(matrix(given.down, d, h))];
    const [upBias, downBias] = [variable(tf.tensor1d(given.up_bias)), variable(tf.tensor1d(given.down_bias))];
    const [x, target] = [tensor(data, [rows, d]), tensor(wanted, [rows, d])];
    const optimizer = tf.train.adam(rate, 0.9, 0.999, 1e-8);
    const forward = () => tf.add(dense(activations.gelu_erf(tf.add(dense(x, up), upBias)), down), downBias);
    let loss = Number.NaN;
    const run = () => {
      loss = tf.tidy(() => optimizer.minimize(() => tf.losses.meanSquaredError(target, forward()), true).dataSync()[0]);
    };
    return {
      run,
      async result() {
        if (Number.isNaN(loss)) run();
        return Float32Array.of(loss);
      },
      dispose() {
        optimizer.dispose();
        tf.dispose([up, down, upBias, downBias, x, target]);
      },
    };
  }

  // Another instance of the backend: its wasm comes from the browser's cache and is compiled again.
  function loading() {
    const made = [];
    return {
      async run() {
        made.push(await tf.findBackendFactory('wasm')());
      },
      result: async () => Float32Array.of(made.length > 0 ? 1 : 0),
      dispose: () => made.splice(0).map((backend) => backend.dispose()),
    };
  }

  async function make(spec) {
    if (spec.op === 'step') return step(spec);
    if (spec.op === 'load') return loading();
    const made = works[spec.op]?.(spec);
    if (!made) return null;
    const [kept, work] = made;
    let last = null;
    const run = () => {
      tf.dispose(last);
      last = tf.tidy(work);
    };
    return {
      run,
      async result() {
        if (!last) run();
        return Array.isArray(last) ? Promise.all(last.map((one) => one.data())) : last.data();
      },
      dispose: () => tf.dispose([last, ...kept].filter(Boolean)),
    };
  }

  return {
    name: 'tfjs-backend-wasm',
    version: tf.version_wasm ?? tf.version['tfjs-core'],
    note: `SIMD, 1 thread, weights as [in, out] tensors in the backend, results left there; scripts, wasm and backend took ${Math.round(initialised)} ms`,
    make,
    async dispose() {
      tf.dispose([...constants.values(), ...columns.values()]);
    },
  };
}
