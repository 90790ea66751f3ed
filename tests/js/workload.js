// Runs tests/workload.txt on a raw wasm module and hashes the results; the C half is tests/c/determinism_test.c. Imports
// nothing, so that a page can run it as well: pass the module's bytes and the text.

const generator = () => {
  let state = 1;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state;
  };
};

const kinds = {
  plain: (v) => v,
  small: (v) => v / 16,
  wide: (v) => v * 16,
  huge: (v) => v * 2 ** 64,
  unit: (v) => v / 4 + 1,
  offset: (v) => v + 10000,
  masked: (v, state) => (state % 3 === 0 ? -Infinity : v),
};

/** FNV-1a, 64 bits, over the little-endian bytes of 32-bit words; every NaN counts as 0x7fc00000. */
const offsetBasis = 0xcbf29ce484222325n;
function fnv1a(hash, words) {
  let h = hash;
  for (const word of words) {
    const bits = (word & 0x7fffffff) > 0x7f800000 ? 0x7fc00000 : word;
    for (let shift = 0; shift < 32; shift += 8) {
      h = BigInt.asUintN(64, (h ^ BigInt((bits >>> shift) & 255)) * 0x100000001b3n);
    }
  }
  return h;
}

/** An instance of a module of dist/lib with its memory, and what the workload needs to call it. */
async function instantiate(bytes) {
  const memory = new WebAssembly.Memory({ initial: 256, maximum: 65536 });
  const env = { memory, emscripten_notify_memory_growth() {} };
  const { instance } = await WebAssembly.instantiate(bytes, { env });
  const wasm = instance.exports;
  wasm._initialize?.();
  const string = (pointer) => {
    if (!pointer) return null;
    const all = new Uint8Array(memory.buffer);
    return new TextDecoder().decode(all.slice(pointer, all.indexOf(0, pointer)));
  };
  const names = (count, name) => Array.from({ length: count }, (_, i) => string(name(i)));
  const open = (name) => {
    const list = [];
    for (let i = 0; name(i); i++) list.push(string(name(i)));
    return list;
  };
  const lists = {
    activation: names(wasm.an_activation_count(), wasm.an_activation_name),
    norm: names(wasm.an_norm_count(), wasm.an_norm_name),
    placement: names(wasm.an_placement_count(), wasm.an_placement_name),
    affine: open(wasm.an_affine_name),
    init: open(wasm.an_init_name),
    mixing: open(wasm.an_mixing_name),
  };
  const fields = names(wasm.an_field_count(), wasm.an_field_name);
  return { memory, wasm, string, lists, fields };
}

/**
 * Runs the workload on the bytes of a wasm module. `baseline`: whether it is the simd build; other builds run the sections
 * marked `all` only. Gives { section name: 16 hexadecimal digits }.
 */
export async function runWorkload(bytes, text, baseline) {
  const { memory, wasm, string, lists, fields } = await instantiate(bytes);
  const lookup = (list, name) => {
    const index = lists[list].indexOf(name);
    if (index < 0) throw new Error(`workload: no ${list} '${name}'`);
    return index;
  };
  const succeed = (status, what) => {
    if (status !== 0) throw new Error(`workload: ${what}: ${string(wasm.an_status_name(status))}`);
  };

  let next, hash, buffers, packed, variables;
  const alloc = (byteLength) => {
    const pointer = wasm.malloc(byteLength || 1) >>> 0;
    if (!pointer) throw new Error('workload: out of memory');
    new Uint8Array(memory.buffer, pointer, byteLength).fill(0);
    buffers.push(pointer);
    return pointer;
  };
  const allocPacked = (byteLength) => {
    packed = alloc(byteLength);
    return packed;
  };
  const fill = (pointer, n, kind) => {
    const floats = new Float32Array(memory.buffer, pointer, n);
    const words = new Uint32Array(memory.buffer, pointer, n);
    for (let i = 0; i < n; i++) {
      const state = next();
      if (kind === 'bits') words[i] = state;
      else floats[i] = kinds[kind]((state >>> 8) / 2 ** 22 - 2, state);
    }
  };
  const count = (pointer, n) => {
    hash = fnv1a(hash, new Uint32Array(memory.buffer, pointer, n));
  };

  function call(name, tokens) {
    const results = [];
    const args = tokens.map((token) => {
      if (token === 'null') return 0;
      if (token === '@') return packed;
      if (token.startsWith('$')) return variables[token.slice(1)];
      const [type, size, kind = 'plain'] = token.split(':');
      if (size === undefined) return Number(token);
      if (lists[type]) return lookup(type, size);
      if (type === 'u32') {
        const values = size.split(',').map(Number);
        const pointer = alloc(4 * values.length);
        new Uint32Array(memory.buffer, pointer, values.length).set(values);
        return pointer;
      }
      if (type === 'packed') return allocPacked(wasm.an_linear_packed_bytes(...size.split(',').map(Number)));
      const n = size.split('*').reduce((product, factor) => product * Number(factor), 1);
      const pointer = alloc(4 * n);
      if (type !== 'out') fill(pointer, n, kind);
      if (type !== 'in') results.push([pointer, n]);
      return pointer;
    });
    succeed(wasm[name](...args), name);
    for (const [pointer, n] of results) count(pointer, n);
  }

  // Sets the fields of a configuration; what is no field is returned.
  function configure(config, tokens) {
    succeed(wasm.an_config_default(config), 'an_config_default');
    const rest = {};
    for (const token of tokens) {
      const [key, value] = token.split('=');
      const field = fields.indexOf(key);
      const type = field < 0 ? '' : string(wasm.an_field_type(field));
      let number = Number(value);
      if (value.startsWith('$')) number = variables[value.slice(1)];
      else if (lists[type]) number = lookup(type, value);
      if (field < 0) rest[key] = number;
      else new Float64Array(memory.buffer, config, fields.length)[field] = number;
    }
    return rest;
  }

  // Calls back with each parameter of a configuration: its index, number of axes and number of elements.
  function parameters(config, each) {
    const sizes = alloc(8);
    for (let p = 0; p < wasm.an_module_parameter_count(config); p++) {
      const axes = wasm.an_module_parameter_shape(config, p, sizes, sizes + 4);
      const [rows, cols] = new Uint32Array(memory.buffer, sizes, 2);
      each(p, axes, rows * cols);
    }
  }

  function block(tokens) {
    const config = alloc(8 * fields.length);
    const { batch, length, training = 0 } = configure(config, tokens);
    const width = new Float64Array(memory.buffer, config)[fields.indexOf('d_model')];
    const weights = alloc(wasm.an_module_packed_bytes(config));
    parameters(config, (p, axes, n) => {
      const value = alloc(4 * n);
      fill(value, n, axes === 2 ? 'small' : 'unit');
      succeed(wasm.an_module_pack(weights, 0, config, p, value), 'an_module_pack');
    });
    const n = batch * length * width;
    const [x, y] = [alloc(4 * n), alloc(4 * n)];
    fill(x, n, 'plain');
    for (let mode = training; mode >= 0; mode--) {
      const saved = mode ? alloc(wasm.an_module_saved_bytes(config, batch, length)) : 0;
      const size = wasm.an_module_workspace_bytes(config, mode, batch, length);
      const workspace = alloc(size);
      const status = wasm.an_module_fwd(y, x, 0, weights, saved, workspace, size, config, 0, batch, length);
      succeed(status, `block ${tokens.join(' ')}`);
      count(y, n);
    }
  }

  function init(tokens) {
    const config = alloc(8 * fields.length);
    configure(config, tokens);
    parameters(config, (p, _axes, n) => {
      const value = alloc(4 * n);
      succeed(wasm.an_module_parameter_init(value, config, p, 7), 'an_module_parameter_init');
      count(value, n);
    });
  }

  const sections = [];
  for (const line of text.split('\n')) {
    const tokens = line.trim().split(/\s+/);
    if (tokens[0] === '' || tokens[0].startsWith('#')) continue;
    if (tokens[0] === 'section') sections.push({ builds: tokens[1], name: tokens.slice(2), lines: [] });
    else sections.at(-1).lines.push(tokens);
  }

  const hashes = {};
  for (const { builds, name, lines } of sections) {
    if (builds !== 'all' && !baseline) continue;
    const variable = name.find((word) => word.startsWith('$'))?.slice(1);
    for (let i = 0; i < (variable ? lists[variable].length : 1); i++) {
      if (variable === 'norm' && string(wasm.an_norm_kind(i)) !== 'row') continue;
      variables = { [variable]: i };
      if (variable === 'activation') {
        variables.p0 = wasm.an_activation_param_default(i, 0);
        variables.p1 = wasm.an_activation_param_default(i, 1);
      }
      [next, hash, buffers] = [generator(), offsetBasis, []];
      for (const [command, ...tokens] of lines) {
        if (command === 'call') call(tokens[0], tokens.slice(1));
        else if (command === 'block') block(tokens);
        else if (command === 'init') init(tokens);
        else throw new Error(`workload: unknown command '${command}'`);
      }
      const key = name.map((word) => (word === `$${variable}` ? lists[variable][i] : word)).join(' ');
      hashes[key] = hash.toString(16).padStart(16, '0');
      for (const pointer of buffers) wasm.free(pointer);
    }
  }
  return hashes;
}

/** The stored hashes: lines of 16 hexadecimal digits and a section's name. */
export const parseHashes = (text) =>
  Object.fromEntries(
    text
      .split('\n')
      .filter((line) => line && !line.startsWith('#'))
      .map((line) => [line.slice(17), line.slice(0, 16)]),
  );
