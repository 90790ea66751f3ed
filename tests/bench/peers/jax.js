// jax-js on its wasm backend: every kernel compiled once by jit, weights as PyTorch's [out, in], relaxed multiply-add where
// the engine has it.
//
// One jit around a whole function fuses the element-wise work into the reductions, and then computes it lane by lane or
// anew for every element: one jit a kernel is faster in everything measured but the training step (FFN 768/3072, 128 rows
// 75 ms whole, 65 split; LayerNorm 5.3 and 3.5; RMSNorm 6.1 and 1.4). A product with both operands' inner axis
// contiguous is vectorised along it: 65 ms, not 92 with weights as [in, out], and 6 ms, not 20, at 8 rows.
//
// A result stays in wasm memory; it is waited for, not copied.

export async function create({ base }) {
  // Its threads cannot be switched off; they are there where shared memory is.
  if (globalThis.crossOriginIsolated)
    throw new Error('jax-js would run threads: the page must not be cross-origin isolated');
  // In Node the other peers define a global Worker, whenever they like, by which jax-js would take Node for a browser.
  if (typeof process === 'object' && process.versions?.node) {
    Object.defineProperty(globalThis, 'Worker', { get: () => undefined, set() {}, configurable: true });
  }
  const start = performance.now();
  const jax = await import(`${base}@jax-js/jax/dist/index.js`);
  const { jit, lax, nn, numpy: np } = jax;
  if (!(await jax.init('wasm')).includes('wasm')) throw new Error('jax-js has no wasm backend here');
  jax.defaultDevice('wasm');
  const initialised = performance.now() - start;

  // A function takes its arguments' ownership: `.ref` keeps an array that is used again.
  const activations = {
    relu: jit((x) => nn.relu(x)),
    leaky_relu: jit((x) => nn.leakyRelu(x, 0.01)),
    relu_squared: jit((x) => np.square(nn.relu(x))),
    elu: jit((x) => nn.elu(x)),
    selu: jit((x) => nn.selu(x)),
    celu: jit((x) => nn.celu(x)),
    gelu_erf: jit((x) => nn.gelu(x, { approximate: false })),
    gelu_tanh: jit((x) => nn.gelu(x, { approximate: true })),
    gelu_quick: jit((x) => x.ref.mul(nn.sigmoid(x.mul(1.702)))),
    silu: jit((x) => nn.silu(x)),
    swish: jit((x) => nn.silu(x)),
    mish: jit((x) => nn.mish(x)),
    softplus: jit((x) => nn.softplus(x)),
    softsign: jit((x) => nn.softSign(x)),
    hard_sigmoid: jit((x) => np.clip(x.mul(0.2).add(0.5), 0, 1)),
    hard_swish: jit((x) => nn.hardSwish(x)),
    sigmoid: jit((x) => nn.sigmoid(x)),
    log_sigmoid: jit((x) => nn.logSigmoid(x)),
    tanh: jit((x) => np.tanh(x)),
  };
  const inner = { lhsContractingDims: [-1], rhsContractingDims: [-1] };
  const product = jit((x, weight) => lax.dot(x, weight, inner));
  const sum = jit((x, y) => x.add(y));
  const multiply = jit((x, y) => x.mul(y));
  const scale = jit((x, factor, weight) => x.mul(factor).mul(weight));
  const affine = jit((x, factor, weight, bias) => x.mul(factor).mul(weight).add(bias));
  const along = { keepdims: true };
  const mean = jit((x) => x.mean(-1, along));
  const meanSquare = jit((x) => np.square(x).mean(-1, along));
  const centre = jit((x, value) => x.sub(value));
  const largest = jit((x) => np.max(x, -1, along));
  const exponential = jit((x, top) => np.exp(x.sub(top)));
  const total = jit((x) => x.sum(-1, along));
  const share = jit((x, whole) => x.div(whole));
  const less = jit((x, whole) => x.sub(np.log(whole)));
  const turned = jit((x) => np.transpose(x).add(0)); // a copy, not a view
  const standardize = jit((x, weight, bias) => nn.standardize(x, -1).mul(weight).add(bias));

  const array = (data, shape) => np.array(data, { shape });
  const dense = (x, weight, bias) => (bias ? sum(product(x, weight.ref), bias.ref) : product(x, weight.ref));
  const inverses = new Map();
  const inverse = (eps) => {
    if (!inverses.has(eps))
      inverses.set(
        eps,
        jit((value) => np.reciprocal(np.sqrt(value.add(eps)))),
      );
    return inverses.get(eps);
  };
  function normalised(norm, x, weight, bias, eps) {
    const centred = norm === 'layer_norm' ? centre(x.ref, mean(x)) : x;
    const factor = inverse(eps)(meanSquare(centred.ref));
    return bias ? affine(centred, factor, weight.ref, bias.ref) : scale(centred, factor, weight.ref);
  }
  const normed = ['layer_norm', 'rms_norm'];

  // Each gives [the arrays that it keeps, the work].
  const works = {
    ffn({ rows, d, h, activation, gated, bias, x: data, weights: given }) {
      const act = activations[activation];
      if (!act) return null;
      const x = array(data, [rows, d]);
      const [up, down] = [array(given.up, [h, d]), array(given.down, [d, h])];
      const gate = gated ? array(given.gate, [h, d]) : null;
      const vector = (values) => (bias && values ? array(values, [values.length]) : null);
      const [upBias, gateBias, downBias] = [given.up_bias, given.gate_bias, given.down_bias].map(vector);
      const hidden = gated
        ? () => multiply(act(dense(x.ref, gate, gateBias)), dense(x.ref, up, upBias))
        : () => act(dense(x.ref, up, upBias));
      return [[x, up, down, gate, upBias, gateBias, downBias], () => dense(hidden(), down, downBias)];
    },
    norm({ norm, rows, d, x: data, weight: factors, bias: shift, eps, library }) {
      if (!normed.includes(norm)) return null;
      const [x, weight, bias] = [array(data, [rows, d]), array(factors, [d]), shift && array(shift, [d])];
      const own = library && norm === 'layer_norm' && bias; // of its default eps, 1e-5
      const work = own
        ? () => standardize(x.ref, weight.ref, bias.ref)
        : () => normalised(norm, x.ref, weight, bias, eps);
      return [[x, weight, bias], work];
    },
    add_norm({ norm, rows, d, x: data, residual, weight: factors, bias: shift, eps }) {
      if (!normed.includes(norm)) return null;
      const [x, other] = [array(data, [rows, d]), array(residual, [rows, d])];
      const [weight, bias] = [array(factors, [d]), shift && array(shift, [d])];
      const work = () => {
        const added = sum(x.ref, other.ref);
        return [added, normalised(norm, added.ref, weight, bias, eps)];
      };
      return [[x, other, weight, bias], work];
    },
    softmax({ log, rows, d, x: data }) {
      const x = array(data, [rows, d]);
      if (log) {
        const work = () => {
          const shifted = centre(x.ref, largest(x.ref));
          return less(shifted.ref, total(exponential(shifted, 0)));
        };
        return [[x], work];
      }
      const work = () => {
        const powers = exponential(x.ref, largest(x.ref));
        return share(powers.ref, total(powers));
      };
      return [[x], work];
    },
    activation({ activation, n, x: data }) {
      if (!activations[activation]) return null;
      const x = array(data, [n]);
      return [[x], () => activations[activation](x.ref)];
    },
    glu({ activation, n, gate: first, up: second }) {
      if (!activations[activation]) return null;
      const [gate, up] = [array(first, [n]), array(second, [n])];
      return [[gate, up], () => multiply(activations[activation](gate.ref), up.ref)];
    },
    linear({ rows, in: from, out, x: data, weight: given, bias: shift, activation = 'identity' }) {
      const act = activation === 'identity' ? (y) => y : activations[activation];
      if (!act) return null;
      const [x, weight, bias] = [array(data, [rows, from]), array(given, [out, from]), shift && array(shift, [out])];
      return [[x, weight, bias], () => act(dense(x.ref, weight, bias))];
    },
    linear_backward({ rows, in: from, out, x: data, weight: given, dy: gradient }) {
      const [x, dy] = [array(data, [rows, from]), array(gradient, [rows, out])];
      const weight = turned(array(given, [out, from]));
      const work = () => [product(dy.ref, weight.ref), product(turned(dy.ref), turned(x.ref))];
      return [[x, dy, weight], work];
    },
  };

  // Forward, backward and Adam in one jit, which is faster here than one a kernel.
  function step({ d, h, rows, x: data, target: wanted, weights: given, rate }) {
    const loss = ({ up, up_bias, down, down_bias }, x, target) => {
      const hidden = nn.gelu(lax.dot(x, up, inner).add(up_bias), { approximate: false });
      return np.square(lax.dot(hidden, down, inner).add(down_bias).sub(target)).mean();
    };
    const update = (weight, m, v, g, { rate, second }) => {
      const [mNew, vNew] = [m.mul(0.9).add(g.ref.mul(0.1)), v.mul(0.999).add(np.square(g).mul(0.001))];
      const change = mNew.ref.mul(rate.ref).div(np.sqrt(vNew.ref.mul(second.ref)).add(1e-8));
      return [weight.sub(change), mNew, vNew];
    };
    const names = ['up', 'up_bias', 'down', 'down_bias'];
    const training = jit((weights, ms, vs, x, target, rates) => {
      const mine = Object.fromEntries(names.map((name) => [name, weights[name].ref]));
      const [value, gradients] = jax.valueAndGrad(loss)(mine, x, target);
      const next = [{}, {}, {}];
      for (const name of names) {
        const updated = update(weights[name], ms[name], vs[name], gradients[name], rates);
        updated.forEach((one, i) => {
          next[i][name] = one;
        });
      }
      rates.rate.dispose();
      rates.second.dispose();
      return [value, ...next];
    });
    const shapes = { up: [h, d], up_bias: [h], down: [d, h], down_bias: [d] };
    const arrays = (values) => Object.fromEntries(names.map((name) => [name, array(values(name), shapes[name])]));
    const zeros = () => arrays((name) => new Float32Array(given[name].length));
    const [x, target] = [array(data, [rows, d]), array(wanted, [rows, d])];
    let state = [arrays((name) => given[name]), zeros(), zeros()];
    let steps = 0;
    let last = null;
    const run = async () => {
      steps++;
      const rates = {
        rate: array(Float32Array.of(rate / (1 - 0.9 ** steps)), [1]),
        second: array(Float32Array.of(1 / (1 - 0.999 ** steps)), [1]),
      };
      const [value, ...next] = training(...state, x.ref, target.ref, rates);
      state = next;
      await jax.blockUntilReady(state);
      last = (await value.data())[0];
    };
    return {
      run,
      async result() {
        if (last === null) await run();
        return Float32Array.of(last);
      },
      dispose() {
        for (const one of [x, target, ...state.flatMap((part) => Object.values(part))]) one.dispose();
      },
    };
  }

  function make(spec) {
    if (spec.op === 'step') return step(spec);
    const made = works[spec.op]?.(spec);
    if (!made) return null; // also 'load': its backend is made when the module is imported, and once
    const [kept, work] = made;
    let last = [];
    const free = () => {
      for (const one of last.splice(0)) one.dispose();
    };
    const run = async () => {
      free();
      last = [work()].flat();
      for (const one of last) await one.blockUntilReady();
    };
    return {
      run,
      async result() {
        if (last.length === 0) await run();
        const results = await Promise.all(last.map((one) => one.ref.data()));
        return results.length === 1 ? results[0] : results;
      },
      dispose() {
        free();
        for (const one of kept) one?.dispose();
      },
    };
  }

  const relaxed = WebAssembly.validate(relaxedMadd) ? 'relaxed multiply-add' : 'no relaxed multiply-add in this engine';
  return {
    name: 'jax-js',
    version: '0.1.25',
    note: `wasm, 1 thread, ${relaxed}, jit a kernel, weights as [out, in], results left in wasm memory; import and init took ${Math.round(initialised)} ms`,
    make: async (spec) => make(spec),
    async dispose() {},
  };
}

// A function with f32x4.relaxed_madd in it; jax-js asks the engine the same.
const relaxedMadd = Uint8Array.from([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 8, 1, 96, 3, 123, 123, 123, 1, 123, 3, 2, 1, 0, 10, 13, 1, 11, 0, 32, 0, 32, 1, 32, 2,
  253, 133, 2, 11,
]);
