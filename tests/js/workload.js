// Runs tests/workload.txt on a raw wasm module and hashes the results; the C half is tests/c/determinism_test.c. Imports
// nothing, so that a page can run it as well: pass the module or its bytes, and the text.

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
  mask: (_v, state) => (state % 3 === 0 ? 0 : 1),
  sign: (v) => (v < 0 ? -1 : 1),
};

/** FNV-1a, 64 bits, over little-endian 32-bit words; every NaN counts as the same. The prime is 2^40 + 0x1b3. */
class Hash {
  high = 0xcbf29ce4;
  low = 0x84222325;

  word(word) {
    for (let shift = 0; shift < 32; shift += 8) {
      const low = (this.low ^ ((word >>> shift) & 255)) >>> 0;
      const product = low * 0x1b3;
      this.low = product >>> 0;
      this.high = (Math.imul(this.high, 0x1b3) + Math.floor(product / 2 ** 32) + (low << 8)) >>> 0;
    }
  }

  floats(words) {
    for (const word of words) this.word((word & 0x7fffffff) > 0x7f800000 ? 0x7fc00000 : word);
  }

  doubles(values) {
    for (const value of values) {
      const [low, high] = Number.isNaN(value) ? [0, 0x7ff80000] : new Uint32Array(Float64Array.of(value).buffer);
      this.word(low);
      this.word(high);
    }
  }

  toString() {
    return [this.high, this.low].map((half) => half.toString(16).padStart(8, '0')).join('');
  }
}

/** An instance of a module of dist/lib with its memory, and what the workload needs to call it. */
async function instantiate(source) {
  const memory = new WebAssembly.Memory({ initial: 256, maximum: 65536 });
  const env = { memory };
  const result = await WebAssembly.instantiate(source, { env });
  const wasm = (result.instance ?? result).exports; // a compiled module gives its instance alone
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
 * Runs the workload on a wasm module or its bytes. `baseline`: whether it is the simd build; other builds run the sections
 * marked `all` only. Gives { section name: 16 hexadecimal digits }.
 */
export async function runWorkload(source, text, baseline) {
  const { memory, wasm, string, lists, fields } = await instantiate(source);
  const lookup = (list, name) => {
    const index = lists[list].indexOf(name);
    if (index < 0) throw new Error(`workload: no ${list} '${name}'`);
    return index;
  };
  const succeed = (status, what) => {
    if (status !== 0) throw new Error(`workload: ${what}: ${string(wasm.an_status_name(status))}`);
  };

  let next, hash, buffers, packed, workBytes, variables;
  const alloc = (byteLength, byte = 0) => {
    const pointer = wasm.malloc(byteLength || 1) >>> 0;
    if (!pointer) throw new Error('workload: out of memory');
    new Uint8Array(memory.buffer, pointer, byteLength).fill(byte);
    buffers.push(pointer);
    return pointer;
  };
  // What is to be written before it is read: NaN.
  const allocUnset = (byteLength) => alloc(byteLength, 0xff);
  const allocPacked = (byteLength) => {
    packed = alloc(byteLength);
    return packed;
  };
  const allocWork = (byteLength) => {
    workBytes = byteLength;
    return allocUnset(byteLength);
  };
  const allocLabels = (n, classes) => {
    const pointer = alloc(4 * n);
    new Int32Array(memory.buffer, pointer, n).set(Array.from({ length: n }, () => (next() >>> 8) % classes));
    return pointer;
  };
  const floats = (pointer, n) => new Float32Array(memory.buffer, pointer, n);
  const doubles = (pointer, n) => new Float64Array(memory.buffer, pointer, n);
  const fill = (pointer, n, kind) => {
    const values = floats(pointer, n);
    const words = new Uint32Array(memory.buffer, pointer, n);
    for (let i = 0; i < n; i++) {
      const state = next();
      if (kind === 'bits') words[i] = state;
      else values[i] = kinds[kind]((state >>> 8) / 2 ** 22 - 2, state);
    }
  };
  const allocFilled = (n, kind) => {
    const pointer = alloc(4 * n);
    fill(pointer, n, kind);
    return pointer;
  };
  const count = (pointer, n) => hash.floats(new Uint32Array(memory.buffer, pointer, n));
  const countDoubles = (pointer, n) => hash.doubles(doubles(pointer, n));
  const product = (factors) => factors.split('*').reduce((n, factor) => n * Number(factor), 1);
  const numbers = (text) => text.split(',').map(Number);

  function call(name, tokens) {
    const results = [];
    const args = tokens.map((token) => {
      if (token === 'null') return 0;
      if (token === '@') return packed;
      if (token === '@bytes') return workBytes;
      if (token.startsWith('$')) return variables[token.slice(1)];
      const [type, size, kind = 'plain'] = token.split(':');
      if (size === undefined) return Number(token);
      if (lists[type]) return lookup(type, size);
      if (type === 'u32') {
        const values = numbers(size);
        const pointer = alloc(4 * values.length);
        new Uint32Array(memory.buffer, pointer, values.length).set(values);
        return pointer;
      }
      if (type === 'packed') return allocPacked(wasm.an_linear_packed_bytes(...numbers(size)));
      if (type === 'work') return allocWork(wasm.an_linear_bwd_workspace_bytes(...numbers(size)));
      const n = product(size);
      if (type === 'label') return allocLabels(n, Number(kind));
      if (type === 'f64') {
        const pointer = alloc(8 * n);
        results.push(() => countDoubles(pointer, n));
        return pointer;
      }
      const pointer = type === 'out' ? allocUnset(4 * n) : allocFilled(n, kind);
      if (type !== 'in') results.push(() => count(pointer, n));
      return pointer;
    });
    succeed(wasm[name](...args), name);
    for (const result of results) result();
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
      else doubles(config, fields.length)[field] = number;
    }
    return rest;
  }

  // A configuration with its parameters: `extra` is what is no field of it, x has `in` elements and y `out`.
  function openModule(tokens) {
    const config = alloc(8 * fields.length);
    const extra = { training: 0, mask: 0, exact: 0, seed: 0, steps: 0, ...configure(config, tokens) };
    const { batch = 0, length = 0 } = extra;
    const sizes = alloc(8);
    const values = alloc(wasm.an_module_values_bytes(config));
    const parameters = Array.from({ length: wasm.an_module_parameter_count(config) }, (_, index) => {
      const axes = wasm.an_module_parameter_shape(config, index, sizes, sizes + 4);
      const [rows, cols] = new Uint32Array(memory.buffer, sizes, 2);
      const offset = 4 * wasm.an_module_parameter_offset(config, index);
      const learned = wasm.an_module_parameter_learned(config, index);
      return { index, matrix: axes === 2, n: rows * cols, offset, value: values + offset, learned };
    });
    const field = (name) => doubles(config, fields.length)[fields.indexOf(name)];
    const width = (name) => field(name) || field('d_model');
    return {
      config,
      extra,
      parameters,
      values,
      floats: wasm.an_module_values_bytes(config) / 4,
      in: batch * length * width('d_in'),
      out: batch * length * width('d_out'),
      mask: 0,
      packed: allocUnset(wasm.an_module_packed_bytes(config)),
      packedBwd: allocUnset(wasm.an_module_packed_bwd_bytes(config)),
      saved: allocUnset(wasm.an_module_saved_bytes(config, batch, length)),
    };
  }

  const pack = ({ packed, packedBwd, config }, { index, value }) =>
    succeed(wasm.an_module_pack(packed, packedBwd, config, index, value), 'an_module_pack');

  function fillAndPack(module) {
    for (const parameter of module.parameters) {
      const kind = parameter.matrix ? 'small' : 'unit';
      fill(parameter.value, parameter.n, module.extra.exact ? 'sign' : kind);
      pack(module, parameter);
    }
  }

  function forward(y, x, { mask, packed, saved, config, extra }, training, seed) {
    const { batch, length } = extra;
    const size = wasm.an_module_workspace_bytes(config, training, batch, length);
    const kept = training ? saved : 0;
    const workspace = allocUnset(size);
    const status = wasm.an_module_fwd(y, x, mask, packed, kept, workspace, size, config, seed, batch, length);
    succeed(status, 'an_module_fwd');
  }

  function backward(dx, gradients, dy, { mask, packed, packedBwd, saved, config, extra }, seed, probe) {
    const { batch, length } = extra;
    const size = wasm.an_module_workspace_bytes(config, 2, batch, length);
    const workspace = allocUnset(size);
    const buffers = [dx, gradients, dy, mask, packed, packedBwd, saved, workspace];
    succeed(wasm.an_module_bwd(...buffers, size, config, seed, batch, length, probe), 'an_module_bwd');
  }

  function countStatistics({ parameters, config, packed }) {
    for (const { index, value, n } of parameters.filter(({ learned }) => !learned)) {
      succeed(wasm.an_module_unpack(value, config, index, packed), 'an_module_unpack');
      count(value, n);
    }
  }

  // (rows, n / rows), 0 where there is padding.
  function clearPadding(pointer, n, { mask, extra }) {
    if (!mask) return;
    const rows = extra.batch * extra.length;
    floats(mask, rows).forEach((m, row) => {
      if (m === 0) floats(pointer, n).fill(0, (row * n) / rows, ((row + 1) * n) / rows);
    });
  }

  const randomMask = ({ batch, length, mask }) => (mask ? allocFilled(batch * length, 'mask') : 0);

  function block(tokens) {
    const module = openModule(tokens);
    fillAndPack(module);
    const x = allocFilled(module.in, 'plain');
    const y = allocUnset(4 * module.out);
    for (let training = module.extra.training; training >= 0; training--) {
      forward(y, x, module, training, 0);
      count(y, module.out);
    }
  }

  function trainAndInfer(tokens) {
    const module = openModule(tokens);
    const { exact, seed } = module.extra;
    const kind = exact ? 'sign' : 'plain';
    fillAndPack(module);
    module.mask = randomMask(module.extra);
    const [dx, y] = [allocUnset(4 * module.in), allocUnset(4 * module.out)];
    const probes = wasm.an_module_probe_count(module.config) * wasm.an_probe_count();
    const probe = exact ? 0 : allocUnset(8 * probes);
    const x = allocFilled(module.in, kind);
    const dy = allocFilled(module.out, kind);
    const gradients = allocFilled(module.floats, kind);
    clearPadding(dy, module.out, module);
    forward(y, x, module, 1, seed);
    clearPadding(y, module.out, module);
    count(y, module.out);
    backward(dx, gradients, dy, module, seed, probe);
    count(dx, module.in);
    count(gradients, module.floats);
    if (probe) countDoubles(probe, probes);
    countStatistics(module);
    forward(y, x, module, 0, 0);
    clearPadding(y, module.out, module);
    count(y, module.out);
  }

  // One step of AdamW on every learned parameter; returns the loss before it.
  function adamwStep(module, moments, x, target, step) {
    const rows = module.extra.batch * module.extra.length;
    const firstBuffer = buffers.length;
    const [y, loss, squares] = [allocUnset(4 * module.out), alloc(8), alloc(8)];
    const gradients = alloc(4 * module.floats);
    forward(y, x, module, 1, step);
    const classes = module.out / rows;
    succeed(wasm.an_cross_entropy(loss, 0, y, y, target, 0, 0, 0.1, -100, 0, rows, classes), 'an_cross_entropy');
    backward(0, gradients, y, module, step, 0);
    for (const { offset, n } of module.parameters) {
      succeed(wasm.an_sum_squares(squares, gradients + offset, n), 'an_sum_squares');
    }
    const norm = Math.sqrt(doubles(squares, 1)[0]);
    const scale = norm > 1 ? 1 / norm : 1;
    for (const parameter of module.parameters.filter(({ learned }) => learned)) {
      const { matrix, n, offset, value } = parameter;
      const [m, v] = moments.map((moment) => moment + offset);
      const numbers = [scale, 0.01, 0.9, 0.999, 1e-8, matrix ? 0.1 : 0];
      succeed(wasm.an_adam_step(value, m, v, gradients + offset, ...numbers, 2, step, n), 'an_adam_step');
      pack(module, parameter);
    }
    const value = doubles(loss, 1)[0];
    for (const pointer of buffers.splice(firstBuffer)) wasm.free(pointer);
    return value;
  }

  function train(tokens) {
    const module = openModule(tokens);
    const { batch, length, seed, steps } = module.extra;
    const rows = batch * length;
    for (const parameter of module.parameters) {
      const { index, value } = parameter;
      succeed(wasm.an_module_parameter_init(value, module.config, index, seed), 'an_module_parameter_init');
      pack(module, parameter);
    }
    const moments = [alloc(4 * module.floats), alloc(4 * module.floats)];
    const x = allocFilled(module.in, 'plain');
    const target = allocLabels(rows, module.out / rows);
    module.mask = randomMask(module.extra);
    if (module.mask) {
      floats(module.mask, rows).forEach((m, row) => {
        if (m === 0) new Int32Array(memory.buffer, target, rows)[row] = -100;
      });
    }
    const losses = [];
    for (let step = 1; step <= steps; step++) losses.push(adamwStep(module, moments, x, target, step));
    hash.doubles(losses);
    if (!(losses.at(-1) < 0.9 * losses[0])) throw new Error(`workload: no learning: ${losses}`);
    countStatistics(module);
    for (const pointer of [module.values, ...moments]) count(pointer, module.floats);
  }

  function init(tokens) {
    const { config, parameters } = openModule(tokens);
    for (const { index, value, n } of parameters) {
      succeed(wasm.an_module_parameter_init(value, config, index, 7), 'an_module_parameter_init');
      count(value, n);
    }
  }

  const commands = { block, module: trainAndInfer, train, init };

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
      [next, hash, buffers] = [generator(), new Hash(), []];
      for (const [command, ...tokens] of lines) {
        if (command === 'call') call(tokens[0], tokens.slice(1));
        else if (commands[command]) commands[command](tokens);
        else throw new Error(`workload: unknown command '${command}'`);
      }
      const key = name.map((word) => (word === `$${variable}` ? lists[variable][i] : word)).join(' ');
      hashes[key] = hash.toString();
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
