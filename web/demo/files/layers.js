// Finds the feed-forward layers among a file's tensors by their names. A layer is
// { key, family, fixed, start, guessed, doubt, omits, parameters: [{ name, tensor, rows, shape, transpose }], initial,
//   unused, dtypes, bytes, problem: null or { code, detail } }
// where `fixed` are the fields that the matrices decide and `start` those that the model uses, as far as is known; `initial`
// are parameters of the norms that no tensor gives, `unused` norms of the file beside the layer of which it may be one.
import { short } from './errors.js';
import { FAMILIES, ggufFamilies } from './families.js';
import { elementsOf, faultOf } from './read.js';

const MAX_LAYERS = 20_000;

export function findLayers({ format, metadata, tensors }) {
  const families = format === 'GGUF' ? ggufFamilies(metadata) : [...FAMILIES, ...ggufFamilies([])];
  const index = byLastName(tensors);
  const known = new Map();
  const has = (part) => {
    if (!known.has(part))
      known.set(
        part,
        [...tensors.keys()].some((name) => name.includes(part)),
      );
    return known.get(part);
  };
  const rows = (end) => [...tensors.values()].find(({ name }) => name.endsWith(end))?.shape[0];
  const layers = new Map();
  const taken = new Set(); // matrices that a layer has
  for (const family of families) {
    for (const { key, roles } of candidates(family, index, tensors)) {
      if (taken.has(roles.up.name) || layers.has(key) || layers.size >= MAX_LAYERS) continue;
      const found = layersOf(family, { key, roles }, { has, rows });
      for (const layer of found) layers.set(layer.key, layer);
      if (found.length > 0) for (const role of MATRICES) taken.add(roles[role]?.name);
    }
  }
  for (const layer of byShape(tensors, taken)) if (!layers.has(layer.key)) layers.set(layer.key, layer);
  for (const layer of incomplete(families, index, tensors, taken)) {
    if (!layers.has(layer.key) && layers.size < MAX_LAYERS) layers.set(layer.key, layer);
  }
  const natural = new Intl.Collator('en', { numeric: true }); // costs too much to be made before there is a file
  return [...layers.values()].sort((a, b) => natural.compare(a.key, b.key));
}

const MATRICES = ['gate', 'up', 'down'];
const MAX_NAME = 400;

/** Names of weights by the last of their parts: { up_proj: [...] }. */
function byLastName(tensors) {
  const index = new Map();
  for (const name of tensors.keys()) {
    const last = name.length <= MAX_NAME && /([^.]+)\.weight$/.exec(name)?.[1];
    if (!last) continue;
    if (!index.has(last)) index.set(last, []);
    index.get(last).push(name);
  }
  return index;
}

const escaped = (text) => text.replace(/[.]/g, '\\.');
const pattern = (template) =>
  new RegExp(`^${escaped(template).replace('*', '((?:.*\\.)?)').replace('#', '(\\d{1,6})')}\\.weight$`);

/** What fits a name with * and #: { name, full(another) } */
function* matching(template, index) {
  const expression = pattern(template);
  for (const name of index.get(/[^.*]+$/.exec(template)[0]) ?? []) {
    const match = expression.exec(name);
    if (match) yield { name, full: (other) => other.replace('*', match[1]).replace('#', match[2]) };
  }
}

const keyOf = (family, full) => {
  const at = family.at ? full(family.at) : full(family.up).replace(/[^.]*$/, '');
  return short(at.replace(/\.$/, '') || 'ffn', 200);
};

/** What of the file has all matrices and norms of a family: its tensors by role. */
function* candidates(family, index, tensors) {
  for (const { name, full } of matching(family.up, index)) {
    const find = (template, ...endings) =>
      template && endings.map((ending) => tensors.get(`${full(template)}.${ending}`)).find(Boolean);
    const roles = {
      up: tensors.get(name),
      gate: find(family.gate, 'weight'),
      down: find(family.down, 'weight'),
      up_bias: find(family.up, 'bias'),
      gate_bias: find(family.gate, 'bias'),
      down_bias: find(family.down, 'bias'),
      // BERT's first files call a norm's parameters gamma and beta.
      norm_weight: find(family.norm, 'weight', 'gamma'),
      norm_bias: find(family.norm, 'bias', 'beta'),
      norm2_weight: find(family.norm2, 'weight'),
      norm2_bias: find(family.norm2, 'bias'),
      scale: family.scale && tensors.get(full(family.scale)),
    };
    const wanted = { gate: 'gate', down: 'down', norm: 'norm_weight', norm2: 'norm2_weight', scale: 'scale' };
    if (Object.entries(wanted).some(([part, role]) => family[part] && !roles[role])) continue;
    yield { key: keyOf(family, full), roles };
  }
}

function layersOf(family, { key, roles }, asked) {
  const stack = family.stacked ? roles.up.shape[0] : 1;
  if (family.stacked && (roles.up.shape.length !== 3 || !(stack <= 4096))) return [];
  const flat = (tensor) => tensor && { ...tensor, shape: family.stacked ? tensor.shape.slice(1) : tensor.shape };
  const matrices = { up: flat(roles.up), gate: flat(roles.gate), down: flat(roles.down) };
  const sizes = sizesOf(family, matrices, roles);
  if (family.when && !family.when({ ...asked, ...sizes })) return [];
  if (!sizes.fits) return [];
  const layers = [];
  for (let expert = 0; expert < stack; expert++) {
    const name = family.stacked ? `${key}.${expert}` : key;
    layers.push(layerOf(family, name, roles, sizes, family.stacked ? expert : null));
  }
  return layers;
}

const is2d = ({ shape }) => shape.length === 2 && shape[0] > 0 && shape[1] > 0;

/** d_model and d_ff, and whether the matrices are [in, out], or gate and up are one. */
function sizesOf(family, { up, gate, down }, roles) {
  if (!is2d(up) || !is2d(down) || (gate && !is2d(gate))) return { fits: false };
  const [a, b] = up.shape;
  const halves = !gate && a === 2 * down.shape[1] && b === down.shape[0];
  if (halves && family.fused) return { fits: true, halves, fused: true, d_model: b, d_ff: a / 2, transposed: false };
  const mirrored = down.shape[0] === b && down.shape[1] === a;
  const alike = !gate || (gate.shape[0] === a && gate.shape[1] === b);
  if (!mirrored || !alike || family.fused === true) return { fits: false, halves };
  // [out, in] and [in, out] mirror each other too: a bias or the norm's weights tell, else the family.
  const hidden = roles.up_bias && elementsOf(roles.up_bias.shape);
  const model = roles.norm_weight && elementsOf(roles.norm_weight.shape);
  let transposed = family.transposed && a !== b ? a < b : Boolean(family.transposed);
  if (a !== b && (hidden === b || (hidden === undefined && model === a))) transposed = true;
  else if (a !== b && (hidden === a || (hidden === undefined && model === b))) transposed = false;
  const [d_ff, d_model] = transposed ? [b, a] : [a, b];
  return { fits: true, halves, fused: false, d_model, d_ff, transposed };
}

function layerOf(family, key, roles, { d_model, d_ff, fused, transposed }, expert) {
  const gated = fused || Boolean(roles.gate);
  const bias = Boolean(roles.up_bias || roles.down_bias || roles.gate_bias);
  const wide = [d_ff, d_model];
  const narrow = [d_model, d_ff];
  const first = (expert ?? 0) * d_ff;
  const rowsOf = (from, to) => (fused || expert !== null ? [from, to] : null);
  const matrix = (name, tensor, shape, rows) => ({ name, tensor, shape, rows, transpose: transposed });
  const vector = (name, tensor, size, rows = null) => ({ name, tensor, shape: [size], rows, transpose: false });
  const parameters = [
    ...(gated ? [matrix('gate', roles.gate ?? roles.up, wide, rowsOf(first, first + d_ff))] : []),
    matrix('up', roles.up, wide, fused ? [d_ff, 2 * d_ff] : rowsOf(first, first + d_ff)),
    matrix('down', roles.down, narrow, rowsOf((expert ?? 0) * d_model, ((expert ?? 0) + 1) * d_model)),
  ];
  if (bias) {
    const fusedBias = fused && roles.up_bias;
    if (gated)
      parameters.push(vector('gate_bias', roles.gate_bias ?? (fusedBias || null), d_ff, fusedBias && [0, d_ff]));
    parameters.push(vector('up_bias', roles.up_bias ?? null, d_ff, fusedBias ? [d_ff, 2 * d_ff] : null));
    parameters.push(vector('down_bias', roles.down_bias ?? null, d_model));
  }
  for (const name of ['norm_weight', 'norm_bias', 'norm2_weight', 'norm2_bias', 'scale']) {
    if (roles[name]) parameters.push(vector(name, roles[name], d_model));
  }
  const start = { ...(fused ? (family.fusedStart ?? family.start) : family.start) };
  if (start.norm === 'rms_norm' && roles.norm_bias) start.norm = 'layer_norm';
  if (start.norm === 'layer_norm' && roles.norm_weight && !roles.norm_bias) start.affine = 'weight';
  return finished({
    key,
    family: family.name,
    fixed: { d_model, d_ff, gated, bias },
    start,
    guessed: ['activation', 'norm', 'placement', 'eps'].filter((field) => !family.known?.includes(field)),
    doubt: family.doubt,
    omits: family.omits ?? [],
    parameters,
    initial: normParameters(start).filter((name) => !roles[name]),
  });
}

/** What the norms of a block have to learn. */
const normParameters = ({ norm, placement, affine }) =>
  (placement === 'peri' ? ['norm', 'norm2'] : ['norm']).flatMap((own) => [
    `${own}_weight`,
    ...(norm === 'layer_norm' && affine !== 'weight' ? [`${own}_bias`] : []),
  ]);

/** What every layer has beside its parameters. */
export function finished(layer) {
  const matrices = layer.parameters.filter(({ shape }) => shape.length === 2);
  const wrong = layer.parameters.find(
    ({ tensor, shape, rows, transpose }) => tensor && !fitsShape(tensor.shape, shape, rows, transpose),
  );
  // Of a stack of experts a slice is read, which may be small enough where all of them are not.
  const faults = layer.parameters.map(
    ({ tensor, rows, shape }) => tensor && faultOf(rows ? { ...tensor, shape } : tensor),
  );
  const shapes = wrong && {
    code: 'SHAPE',
    detail: { name: short(wrong.tensor.name), shape: wrong.tensor.shape, expected: wrong.shape },
  };
  return {
    initial: [],
    unused: [],
    ...layer,
    dtypes: [...new Set(matrices.flatMap(({ tensor }) => tensor?.dtype ?? []))],
    bytes: 4 * layer.parameters.reduce((sum, { shape }) => sum + elementsOf(shape), 0),
    problem: layer.problem ?? shapes ?? faults.find(Boolean) ?? null,
  };
}

function fitsShape(given, shape, rows, transpose) {
  if (shape.length === 1) return rows ? elementsOf(given) >= rows[1] : elementsOf(given) === shape[0];
  if (rows) return given[given.length - 1] === shape[1] && elementsOf(given) >= rows[1] * shape[1];
  const [height, width] = transpose ? [shape[1], shape[0]] : shape;
  return given.length === 2 && given[0] === height && given[1] === width;
}

/** Layers of which a matrix is in another file, as where a model is split. */
function* incomplete(families, index, tensors, taken) {
  const seen = new Set();
  for (const family of families) {
    // What is called output.dense and the like may be something else.
    const distinct = MATRICES.filter(
      (role) => family[role] && (role !== 'down' || /mlp|ffn|feed_forward/.test(family.down)),
    );
    const matrices = MATRICES.map((role) => family[role]).join();
    if (family.fused === true || seen.has(matrices)) continue;
    seen.add(matrices);
    for (const role of distinct) {
      for (const { name, full } of matching(family[role], index)) {
        if (taken.has(name)) continue;
        const there = MATRICES.filter((own) => family[own] && tensors.has(`${full(family[own])}.weight`));
        const missing = MATRICES.filter((own) => family[own] && !there.includes(own));
        if (missing.length === 0) continue;
        for (const own of there) taken.add(`${full(family[own])}.weight`);
        yield {
          key: keyOf(family, full),
          family: family.name,
          fixed: {},
          start: {},
          guessed: [],
          omits: [],
          parameters: [],
          initial: [],
          unused: [],
          dtypes: [...new Set(there.map((own) => tensors.get(`${full(family[own])}.weight`).dtype))],
          bytes: 0,
          problem: { code: 'INCOMPLETE', detail: { missing } },
        };
      }
    }
  }
}

// ---- Unknown names: two or three matrices beside each other whose shapes are a feed-forward layer's

const NOT_FFN = /attn|attention|lora|adapter|embed|conv|query|value|(^|\.)[qkvo](_proj)?\./i;
const isGate = (name) => /gate|w1\b|wi_0/.test(name);

function* byShape(tensors, taken) {
  const groups = new Map();
  for (const tensor of tensors.values()) {
    if (taken.has(tensor.name) || tensor.shape.length !== 2 || tensor.name.length > 400) continue;
    if (NOT_FFN.test(tensor.name)) continue;
    const parent = tensor.name.replace(/\.weight$/, '').replace(/\.?[^.]*$/, '');
    groups.set(parent, [...(groups.get(parent) ?? []), tensor]);
    if (groups.get(parent).length > 3) groups.set(parent, groups.get(parent).slice(0, 4));
  }
  const norms = normsByParent(tensors);
  for (const [parent, group] of groups) {
    const layer = shapedLayer(parent, group, tensors);
    if (!layer) continue;
    const beside = [parent, above(parent)].flatMap((own) => norms.get(own) ?? []);
    const unused = beside.filter(({ size }) => size === layer.fixed.d_model).map(({ name }) => name);
    yield { ...layer, unused: [...new Set(unused)].slice(0, 8) };
  }
}

const above = (path) => path.replace(/\.?[^.]*$/, '');

/** Norms by what they are in: { 'layers.0': [{ name: 'ln_2', size }] } */
function normsByParent(tensors) {
  const norms = new Map();
  for (const { name, shape } of tensors.values()) {
    if (shape.length !== 1 || name.length > MAX_NAME || !/\.(weight|gamma)$/.test(name)) continue;
    const path = above(name);
    const own = /[^.]*$/.exec(path)[0];
    if (!/norm|(^|_)ln(_|\d|$)/i.test(own)) continue;
    norms.set(above(path), [...(norms.get(above(path)) ?? []), { name: short(own), size: shape[0] }]);
  }
  return norms;
}

function shapedLayer(parent, group, tensors) {
  const wide = group.filter(({ shape: [rows, columns] }) => rows > columns);
  const narrow = group.filter(({ shape: [rows, columns] }) => rows < columns);
  if (narrow.length !== 1 || wide.length < 1 || wide.length > 2 || wide.length + 1 !== group.length) return null;
  const [d_ff, d_model] = wide[0].shape;
  const mirrored = narrow[0].shape[0] === d_model && narrow[0].shape[1] === d_ff;
  if (!mirrored || wide.some(({ shape }) => shape[0] !== d_ff || shape[1] !== d_model)) return null;
  const gate = wide.length === 2 ? (wide.find(({ name }) => isGate(name)) ?? wide[0]) : undefined;
  const up = wide.find((tensor) => tensor !== gate);
  const biasOf = ({ name }) => (name.endsWith('.weight') ? tensors.get(name.replace(/weight$/, 'bias')) : undefined);
  const roles = { up, gate, down: narrow[0], up_bias: biasOf(up), down_bias: biasOf(narrow[0]) };
  if (gate) roles.gate_bias = biasOf(gate);
  const start = gate
    ? { activation: 'silu', norm: 'rms_norm', eps: 1e-5, placement: 'pre' }
    : { activation: 'gelu_erf', norm: 'layer_norm', eps: 1e-5, placement: 'pre' };
  const sizes = { d_model, d_ff, fused: false, transposed: false };
  return layerOf({ name: '', start, omits: [] }, short(parent || 'ffn', 200), roles, sizes, null);
}
