// addnorm as one of the systems, through its public API. Tensors stay in its memory; with `arrays` every call takes and
// gives Float32Arrays, which are copied in and out.

export async function create({ lib, variant, arrays = false }) {
  const { load } = await import(`${lib}index.js`);
  const an = await load({ variant });
  return {
    name: `addnorm ${variant}${arrays ? ', arrays' : ''}`,
    version: an.version,
    note: arrays ? 'Float32Arrays in and out' : 'tensors in its own memory',
    async make(spec) {
      const maker = makers[spec.op];
      if (!maker) return null;
      const data = (values, shape) => (arrays ? { data: values, shape } : an.tensor(values, shape));
      return maker({ an, load, variant, data }, spec);
    },
    dispose: () => an.dispose(),
  };
}

/** A job of a call that gives a result or an object of results; `held` are its operands. */
function job(call, held = [], outputs = (result) => [result]) {
  const all = () => outputs(call());
  return {
    run() {
      for (const output of all()) output.dispose?.();
    },
    async result() {
      return all().map((output) => {
        const values = output.toArray?.() ?? output;
        output.dispose?.();
        return values;
      });
    },
    dispose() {
      for (const one of held) one?.dispose?.();
    },
  };
}

const makers = {
  ffn({ an, data }, spec) {
    const { x } = spec;
    const ffn = moduleOf(an, spec);
    const input = data(x, [spec.rows, spec.d]);
    return job(() => ffn.forward(input), [ffn, input]);
  },
  norm({ an, data }, { norm, rows, d, x, weight, bias, eps }) {
    const [input, w, b] = [data(x, [rows, d]), data(weight, [d]), bias ? data(bias, [d]) : undefined];
    const options = { weight: w, bias: b, eps };
    return job(() => an.norm(norm, input, options), [input, w, b]);
  },
  add_norm({ an, data }, { norm, rows, d, x, residual, weight, bias, eps }) {
    const [input, other] = [data(x, [rows, d]), data(residual, [rows, d])];
    const [w, b] = [data(weight, [d]), bias ? data(bias, [d]) : undefined];
    const options = { weight: w, bias: b, eps };
    return job(
      () => an.addNorm(norm, input, other, options),
      [input, other, w, b],
      ({ sum, y }) => [sum, y],
    );
  },
  softmax({ an, data }, { log, rows, d, x }) {
    const input = data(x, [rows, d]);
    const options = { log };
    return job(() => an.softmax(input, options), [input]);
  },
  activation({ an, data }, { activation, n, x }) {
    const input = data(x, [n]);
    return job(() => an.activation(activation, input), [input]);
  },
  glu({ an, data }, { activation, n, gate, up }) {
    const [g, u] = [data(gate, [n]), data(up, [n])];
    return job(() => an.glu(activation, g, u), [g, u]);
  },
  linear({ an, data }, { rows, in: from, out, x, weight }) {
    const [input, w] = [data(x, [rows, from]), data(weight, [out, from])];
    return job(() => an.linear(input, w), [input, w]);
  },
  linear_backward({ an, data }, { rows, in: from, out, x, weight, dy }) {
    const [input, w, gradient] = [data(x, [rows, from]), data(weight, [out, from]), data(dy, [rows, out])];
    const call = () => an.linearBackward(input, w, gradient);
    return job(call, [input, w, gradient], ({ dx, dWeight, dBias }) => {
      dBias.dispose?.();
      return [dx, dWeight];
    });
  },
  /** The result is the loss before the last step. */
  step({ an, data }, spec) {
    const { rows, d, x, target, rate } = spec;
    const ffn = moduleOf(an, { ...spec, bias: true });
    const [input, wanted] = [data(x, [rows, d]), data(target, [rows, d])];
    const optimizer = an.optimizer('adam', ffn, { rate });
    let loss = null;
    const run = () => {
      ffn.zeroGrad();
      const y = ffn.forward(input, { train: true });
      const { value, gradient } = an.loss('mse', y, wanted);
      ffn.backward(gradient, { dx: false });
      optimizer.step();
      y.dispose();
      gradient.dispose();
      loss = value;
    };
    return {
      run,
      async result() {
        if (loss === null) run();
        return Float32Array.of(loss);
      },
      dispose: () => [ffn, input, wanted].forEach((one) => void one.dispose()),
    };
  },
  load({ load, variant }) {
    return {
      run: async () => (await load({ variant })).dispose(),
      result: async () => null,
      dispose() {},
    };
  },
};

function moduleOf(an, { d, h, activation, gated = false, bias, weights }) {
  const shapes = { up: [h, d], gate: [h, d], down: [d, h], up_bias: [h], down_bias: [d] };
  const given = Object.entries(weights).filter(([, values]) => values);
  return an.ffn(
    { d_model: d, d_ff: h, activation, gated, bias },
    { weights: Object.fromEntries(given.map(([name, values]) => [name, { data: values, shape: shapes[name] }])) },
  );
}
