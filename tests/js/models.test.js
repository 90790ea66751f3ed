// Blocks of trained models in ../shared/models, in every variant: the block's output and its gradients against the stored
// double-precision references, and every intermediate against a double-precision chain computed here from the input and
// the weights. The stored intermediates are another runtime's float32 results; their distance from the same chain is
// printed beside ours.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { activations, add, defaults, linear, map, norm, rowsOf, softmax, transpose } from './reference.js';
import { instance, list, randoms, readFloats, readJson, skipWithout, values, variants, worst } from './shared.js';

/** The limit: this much of the largest magnitude of the reference. */
const LIMIT = 2e-6;

/**
 * What is allowed more, as a part of the limit. The bias gradient here is a sum over 33 rows that cancel: 2.1 in absolute
 * values for results up to 0.055. What the product before it leaves by its float32 sums over 192 elements is 1.25 of the
 * limit with plain loops (measured), 0.94 to 1.15 here.
 */
const EXCEPTIONS = { 'gptnano_prenorm_gelu_tanh d_norm_bias': 1.25 };

/** The folders that were there when this was written. */
const KNOWN = [
  'gptnano_causal_softmax',
  'gptnano_postln_wiring_gelu_erf',
  'gptnano_prenorm_gelu_tanh',
  'ppocr_softmax_6625',
  'ppocr_svtr_block0',
  'ppocr_svtr_final_ln',
  'sasrec_block0_postln_relu',
  'stories260K_layer0_swiglu',
  'stories260K_layer2_swiglu',
];

/** Those that have gradients. */
const KNOWN_GRADIENTS = [
  'gptnano_postln_wiring_gelu_erf',
  'gptnano_prenorm_gelu_tanh',
  'ppocr_svtr_block0',
  'stories260K_layer2_swiglu',
];

const activationNames = {
  'gelu (erf)': 'gelu_erf',
  'gelu_tanh (minGPT NewGELU)': 'gelu_tanh',
  'swish(beta=1)=silu': 'silu',
  relu: 'relu',
  'SwiGLU (silu gate), no biases': 'silu',
};
const normNames = { layernorm: 'layer_norm', rmsnorm: 'rms_norm' };

/** The files' names of parameters, in a plain and in a gated block. */
const parameterNames = {
  plain: { w1: 'up', b1: 'up_bias', w2: 'down', b2: 'down_bias', ln_gamma: 'norm_weight', ln_beta: 'norm_bias' },
  gated: { w1_gate: 'gate', w3_up: 'up', w2: 'down', rms_gamma: 'norm_weight' },
};

const peak = (list) => list.reduce((top, x) => (Number.isFinite(x) ? Math.max(top, Math.abs(x)) : top), 0);

function read(name) {
  const meta = readJson('models', name, 'meta.json');
  const files = (tensors) =>
    Object.fromEntries(Object.entries(tensors).map(([key, { file }]) => [key, readFloats('models', name, file)]));
  return { meta, data: files(meta.tensors), gradients: meta.gradients ? files(meta.gradients.tensors) : null };
}

const figures = [];
// Compares with the reference, and notes the error as a part of the limit.
function check(model, what, variant, got, want, stored) {
  const top = peak(want);
  const { error, text } = worst(got, want);
  const file = stored ? worst(stored, want).error / (LIMIT * top) : Number.NaN;
  figures.push({ model, what, variant, ours: error / (LIMIT * top), file });
  const limit = LIMIT * top * (EXCEPTIONS[`${model} ${what.replace(/^(block|operations) /, '')}`] ?? 1);
  assert.ok(error <= limit, `${what}, ${variant}: ${text}; the limit is ${limit}`);
}

// What a block's meta.json says, as a configuration and as weights under the API's names.
function describe(meta, data) {
  const activation = activationNames[meta.activation];
  const normName = normNames[meta.norm.kind];
  assert.ok(activation && normName, `${meta.activation}, ${meta.norm.kind}: not known here`);
  assert.ok(['pre', 'post'].includes(meta.norm.placement) && meta.residual === true && (meta.alpha ?? 1) === 1);
  const layout = meta.weightLayout.split(/[: ]/)[0];
  assert.ok(['out_in', 'in_out'].includes(layout), meta.weightLayout);
  const gated = 'w3_up' in data;
  const [d, ff] = [meta.d_model, meta.d_ff];
  // As lists of `out` rows of `in` values, whatever the file's layout is.
  const matrix = (flat, out, into) => (layout === 'out_in' ? rowsOf(flat, into) : transpose(rowsOf(flat, out)));
  const weights = {
    up: matrix(gated ? data.w3_up : data.w1, ff, d),
    ...(gated ? { gate: matrix(data.w1_gate, ff, d) } : {}),
    down: matrix(gated ? data.w2_down : data.w2, d, ff),
  };
  const vectors = {
    ...(gated ? {} : { up_bias: data.b1, down_bias: data.b2 }),
    norm_weight: data.ln_gamma ?? data.rms_gamma,
    ...(data.ln_beta ? { norm_bias: data.ln_beta } : {}),
  };
  const config = {
    d_model: d,
    d_ff: ff,
    activation,
    gated,
    bias: !gated,
    norm: normName,
    eps: meta.norm.eps,
    placement: meta.norm.placement,
  };
  return { config, layout, matrix, weights, vectors, gated };
}

// The chain of intermediates under the names that the files use, each from its predecessor: with doubles it is the
// reference, with the API's single operations it is what is tested.
function chain(ops, x, { placement }, gated) {
  const steps = {};
  const input = placement === 'pre' ? ops.norm(x) : x;
  if (placement === 'pre') steps[gated ? 'norm_out' : 'ln_out'] = input;
  if (gated) {
    steps.gate = ops.linear(input, 'gate');
    steps.up = ops.linear(input, 'up');
    steps.hidden = ops.gate(steps.gate, steps.up);
  } else {
    steps.pre_act = ops.linear(input, 'up');
    steps.act_out = ops.activation(steps.pre_act);
  }
  steps.ffn_out = ops.linear(steps.hidden ?? steps.act_out, 'down');
  const sum = ops.add(x, steps.ffn_out);
  if (placement === 'post') steps.sum = sum;
  steps.y = placement === 'post' ? ops.norm(sum) : sum;
  return steps;
}

function referenceChain({ config, weights, vectors, gated }, x) {
  const { activation, norm: normName, eps } = config;
  const f = (v) => activations[activation].f(v, ...defaults(activation));
  const ops = {
    norm: (rows) => norm(normName, rows, { weight: vectors.norm_weight, bias: vectors.norm_bias, eps }),
    linear: (rows, name) => linear(rows, weights[name], vectors[`${name}_bias`]),
    activation: (rows) => map(rows, f),
    gate: (gate, up) => gate.map((row, i) => row.map((g, j) => f(g) * up[i][j])),
    add,
  };
  const steps = chain(ops, rowsOf(x, config.d_model), config, gated);
  return Object.fromEntries(Object.entries(steps).map(([name, rows]) => [name, rows.flat()]));
}

function apiChain(an, { config, layout, vectors, gated }, x, matrices) {
  const { activation, norm: normName, eps } = config;
  const ops = {
    norm: (t) => an.norm(normName, t, { weight: vectors.norm_weight, bias: vectors.norm_bias, eps }),
    linear: (t, name) => an.linear(t, matrices[name], { bias: vectors[`${name}_bias`], layout }),
    activation: (t) => an.activation(activation, t),
    gate: (gate, up) => an.glu(activation, gate, up),
    add: (a, b) => an.add(a, b),
  };
  return chain(ops, x, config, gated);
}

// The way back through the steps of apiChain: what the API gives for every gradient, matrices in the file's layout.
function apiBackward(an, { config, layout, vectors, gated }, x, matrices, steps, dy) {
  const { activation, norm: normName, eps, placement } = config;
  const options = { weight: vectors.norm_weight, bias: vectors.norm_bias, eps };
  const found = {};
  const linearBackward = (input, name, dOut) => {
    const bias = vectors[`${name}_bias`];
    const { dx, dWeight, dBias } = an.linearBackward(input, matrices[name], dOut, { bias, layout });
    Object.assign(found, { [name]: dWeight, [`${name}_bias`]: dBias });
    return dx;
  };
  const normed = ({ dWeight, dBias, ...rest }) => {
    Object.assign(found, { norm_weight: dWeight, norm_bias: dBias });
    return rest;
  };
  // Post-LN: the norm comes first, and what it gives goes to both branches.
  const { dx: dOut, dResidual } =
    placement === 'post' ? normed(an.addNormBackward(normName, steps.sum, dy, options)) : { dx: dy, dResidual: dy };
  const input = steps.ln_out ?? steps.norm_out ?? x;
  const dHidden = linearBackward(steps.hidden ?? steps.act_out, 'down', dOut);
  let dInput;
  if (gated) {
    const { dGate, dUp } = an.gluBackward(activation, steps.gate, steps.up, dHidden);
    dInput = an.add(linearBackward(input, 'gate', dGate), linearBackward(input, 'up', dUp));
  } else {
    dInput = linearBackward(input, 'up', an.activationBackward(activation, steps.pre_act, dHidden));
  }
  if (placement === 'pre') dInput = normed(an.normBackward(normName, x, dInput, options)).dx;
  return { ...found, x: an.add(dInput, dResidual) };
}

function testBlock(name, meta, data, gradients) {
  const description = describe(meta, data);
  const { config, layout, matrix, weights, vectors, gated } = description;
  const [d, ff] = [meta.d_model, meta.d_ff];
  const names = { x: 'x', ...parameterNames[gated ? 'gated' : 'plain'] };
  const want = referenceChain(description, data.x);
  const flat = Object.fromEntries(Object.entries(weights).map(([key, rows]) => [key, Float32Array.from(rows.flat())]));

  test(`${name}: the chain of doubles here gives the stored reference`, () => {
    const { error, text } = worst(Float32Array.from(want.y), data.y_f64ref);
    assert.ok(error <= 1e-7 * peak(want.y), text);
  });

  test(`${name}: every stored intermediate is one of the chain`, () => {
    const parameters = ['x', 'w1', 'b1', 'w2', 'b2', 'ln_gamma', 'ln_beta', 'rms_gamma', 'w1_gate', 'w3_up', 'w2_down'];
    const rest = Object.keys(data).filter((key) => !parameters.includes(key) && !(key in want));
    assert.deepEqual(
      rest.filter((key) => !['y_f64ref', 'y_ort'].includes(key)),
      [],
    );
  });

  if (gradients) {
    test(`${name}: the gradients are those of x and of every parameter`, () => {
      const wanted = ['grad_dy', ...Object.keys(names).map((key) => `grad_d_${key}`)];
      assert.deepEqual(Object.keys(gradients).sort(), wanted.sort());
    });
  }
  const checkGradients = (what, variant, got, turned) => {
    for (const [file, own] of Object.entries(names)) {
      const stored = gradients[`grad_d_${file}`];
      const [out, into] = own === 'down' ? [d, ff] : [ff, d];
      const wanted = turned && own in weights ? Float32Array.from(matrix(stored, out, into).flat()) : stored;
      check(name, `${what} d_${own}`, variant, values(got[own]), wanted);
    }
  };

  for (const variant of variants) {
    test(`${name}: single operations, ${variant}`, async () => {
      const an = await instance(variant);
      an.scope(() => {
        const x = an.tensor(data.x, [meta.rows, d]);
        // In the file's own layout, so that both layouts of `linear` are used.
        const shape = (out, into) => (layout === 'out_in' ? [out, into] : [into, out]);
        const matrices = {
          up: an.tensor(gated ? data.w3_up : data.w1, shape(ff, d)),
          down: an.tensor(gated ? data.w2_down : data.w2, shape(d, ff)),
          ...(gated ? { gate: an.tensor(data.w1_gate, shape(ff, d)) } : {}),
        };
        const steps = apiChain(an, description, x, matrices);
        for (const [step, result] of Object.entries(steps)) {
          check(name, step, variant, values(result), want[step], data[step]);
        }
        if (!gradients) return;
        const dy = an.tensor(gradients.grad_dy, [meta.rows, d]);
        checkGradients('operations', variant, apiBackward(an, description, x, matrices, steps, dy), false);
      });
    });

    test(`${name}: block and ffn, ${variant}`, async () => {
      const an = await instance(variant);
      an.scope(() => {
        const block = an.block(config, { weights: { ...flat, ...vectors } });
        const y = values(block.forward(an.tensor(data.x, [meta.rows, d])));
        check(name, 'block', variant, y, data.y_f64ref, data.y);

        const { d_model, d_ff, activation, bias } = config;
        const { norm_weight: _w, norm_bias: _b, ...biases } = vectors;
        const ffn = an.ffn({ d_model, d_ff, activation, gated, bias }, { weights: { ...flat, ...biases } });
        const input = want.ln_out ?? want.norm_out ?? data.x;
        const out = values(ffn.forward(an.tensor(Float32Array.from(input), [meta.rows, d])));
        check(name, 'ffn', variant, out, want.ffn_out, data.ffn_out);
        block.dispose();
        ffn.dispose();
      });
    });

    if (!gradients) continue;
    test(`${name}: backward of the block, ${variant}`, async () => {
      const an = await instance(variant);
      an.scope(() => {
        const block = an.block(config, { weights: { ...flat, ...vectors } });
        const y = block.forward(an.tensor(data.x, [meta.rows, d]), { train: true });
        check(name, 'block in training', variant, values(y), data.y_f64ref);
        const x = block.backward(an.tensor(gradients.grad_dy, [meta.rows, d]));
        checkGradients('block', variant, { ...block.gradients, x }, true);
      });
    });
  }
}

function testNorm(name, meta, data) {
  const { eps, kind } = meta.norm;
  const options = { weight: data.gamma, bias: data.beta, eps };
  const want = norm(normNames[kind], rowsOf(data.x, meta.d_model), options).flat();
  for (const variant of variants) {
    test(`${name}, ${variant}`, async () => {
      const an = await instance(variant);
      const y = an.norm(normNames[kind], { data: data.x, shape: [meta.rows, meta.d_model] }, options);
      check(name, 'y', variant, values(y), data.y_f64ref, data.y);
      check(name, 'y, in doubles', variant, values(y), want, data.y);
    });
  }
}

function testSoftmax(name, meta, data) {
  const rows = rowsOf(data.x, meta.d);
  for (const variant of variants) {
    test(`${name}, ${variant}`, async () => {
      const an = await instance(variant);
      const x = { data: data.x, shape: [meta.rows, meta.d] };
      check(name, 'y', variant, values(an.softmax(x)), data.y_f64ref, data.y);
      const log = rows.flatMap((row) => softmax(row, true));
      check(name, 'log', variant, values(an.softmax(x, { log: true })), log);

      const dy = randoms(data.x.length, 1);
      const upstream = rowsOf(dy, meta.d);
      const sum = (list) => list.reduce((a, b) => a + b, 0);
      for (const logarithm of [false, true]) {
        const dx = rows.flatMap((row, i) => {
          const p = softmax(row);
          const total = sum(logarithm ? upstream[i] : p.map((v, j) => v * upstream[i][j]));
          return p.map((v, j) => (logarithm ? upstream[i][j] - v * total : v * (upstream[i][j] - total)));
        });
        const y = { data: values(an.softmax(x, { log: logarithm })), shape: x.shape };
        check(name, logarithm ? 'log d_x' : 'd_x', variant, an.softmaxBackward(y, dy, { log: logarithm }), dx);
      }
    });
  }
}

const skip = skipWithout(
  'models',
  `${KNOWN.length} trained blocks, norms and softmaxes in ${variants.length} variants`,
);
if (skip) test('trained models', { skip });
else {
  const folders = list('models').filter((entry) => !entry.includes('.') && entry !== 'files');
  test('all models are there', () => {
    assert.deepEqual(
      KNOWN.filter((name) => !folders.includes(name)),
      [],
    );
    const withGradients = folders.filter((name) => readJson('models', name, 'meta.json').gradients);
    assert.deepEqual(
      KNOWN_GRADIENTS.filter((name) => !withGradients.includes(name)),
      [],
    );
  });
  for (const name of folders) {
    const { meta, data, gradients } = read(name);
    if (meta.activation) testBlock(name, meta, data, gradients);
    else if (meta.norm) testNorm(name, meta, data);
    else testSoftmax(name, meta, data);
  }
  after(() => {
    console.log('trained models: error / limit over all variants, and that of the stored float32 results');
    const key = ({ model, what }) => `${model} ${what}`;
    for (const id of new Set(figures.map(key))) {
      const mine = figures.filter((figure) => key(figure) === id);
      const ours = Math.max(...mine.map((figure) => figure.ours)).toFixed(3);
      const file = mine[0].file;
      console.log(`  ${id.padEnd(44)} ${ours}${Number.isNaN(file) ? '' : `, stored ${file.toFixed(3)}`}`);
    }
  });
}
