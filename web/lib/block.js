// @ts-check
// Feed-forward networks and residual blocks: modules that pack their parameters once and run many times.
import * as check from './check.js';
import { Engine } from './engine.js';
import { AddnormError, isPlain, quoted, shapeText, suggestion } from './errors.js';
import { Frame } from './frame.js';
import { decode } from './lists.js';
import { numberOf, outsideDomain } from './ops.js';
import { addressOf, release, Tensor } from './tensor.js';

/** @typedef {import('./frame.js').Operand} Operand */
/** @typedef {import('./types.js').State} State */
/** @typedef {import('./types.js').TensorLike} TensorLike */
/** @typedef {Engine['lists']['fields'][number]} Field */
/** @typedef {{ name: string, index: number, shape: readonly number[], learned: boolean }} Parameter */

/**
 * What an Ffn and a Block have in common.
 * @template Config
 */
class Layer {
  #engine;
  #config;
  #parameters;
  #seed;
  /** Addresses: the configuration and the packed parameters as the module takes them, and the workspace of forward. */
  #fields = 0;
  #packed = 0;
  #workspace = 0;
  #workspaceBytes = 0;
  /** Made when they are asked for first, or at once where weights are given. @type {Map<Parameter, Tensor> | null} */
  #tensors = null;
  /** Parameters whose tensor is newer than the packed copy. @type {Set<Parameter>} */
  #stale = new Set();
  #disposed = false;

  /**
   * @hideconstructor
   * @param {Engine} engine
   * @param {readonly string[] | null} only the fields that this configuration has; null: all
   * @param {unknown} config
   * @param {Readonly<Record<string, unknown>>} fixed the values of other fields
   * @param {unknown} init
   */
  constructor(engine, only, config, fixed, init) {
    if (!(engine instanceof Engine)) {
      throw new AddnormError('INVALID_ARGUMENT', 'a module is made by an.ffn and an.block, not by new');
    }
    this.#engine = engine;
    const known = only ?? engine.lists.fields.map((field) => field.name);
    const given = { ...check.options('config', config, known, 'field'), ...fixed };
    const { seed, weights, layout } = initOf(init);
    this.#seed = seed;
    try {
      this.#config = this.#configure(given, known);
      this.#parameters = this.#enumerate();
      const bytes = engine.memory.call('an_block_packed_bytes', this.#fields) >>> 0;
      if (bytes === 0) throw new AddnormError('OUT_OF_MEMORY', 'config: its parameters exceed a 32-bit memory');
      this.#packed = engine.memory.alloc(bytes, 'the packed parameters');
      if (weights !== undefined) this.#adopt(weights, layout);
      else for (const parameter of this.#parameters) this.#packInitial(parameter);
    } catch (error) {
      this.#free();
      throw error;
    }
    engine.track(this);
  }

  /**
   * Writes the configuration where the module reads it.
   * @param {Record<string, unknown>} given
   * @param {readonly string[]} known
   * @returns {Readonly<Record<string, number | boolean | string | null>>} with what auto stands for
   */
  #configure(given, known) {
    const { memory, lists } = this.#engine;
    const { fields } = lists;
    const values = fields.map((field) => encode(this.#engine, field, given[field.name] ?? field.default));
    this.#fields = memory.alloc(fields.length * 8, 'the configuration');
    return Frame.run(this.#engine, (frame) => {
      const resolved = frame.room(fields.length * 8, 'the configuration');
      const fault = frame.room(4, 'the configuration');
      memory.doubles(this.#fields, fields.length).set(values);
      if (memory.call('an_config_check', this.#fields, fault) !== 0) {
        const { name, help } = fields[memory.words(fault, 1)[0]];
        const value = given[name] ?? 'its default';
        const which = ['activation_p0', 'activation_p1'].indexOf(name);
        if (which >= 0) {
          const index = values[fields.findIndex((field) => field.name === 'activation')];
          const expected = outsideDomain(this.#engine, index, which, Number(value));
          throw check.invalid(`config.${name}`, value, `${expected}, for ${lists.activations[index].name}`);
        }
        throw new AddnormError(
          'INVALID_ARGUMENT',
          `config.${name}: ${value} does not go with the other fields. ${help}`,
        );
      }
      this.#engine.compute('config', 'an_config_resolve', resolved, this.#fields);
      const numbers = memory.doubles(resolved, fields.length);
      const entries = fields.map((field, i) => [field.name, decode(field.type, field.options, numbers[i])]);
      return Object.freeze(Object.fromEntries(entries.filter(([name]) => known.includes(String(name)))));
    });
  }

  /** @returns {readonly Parameter[]} */
  #enumerate() {
    const { memory } = this.#engine;
    return Frame.run(this.#engine, (frame) => {
      const sizes = frame.room(8, 'a shape');
      return Array.from({ length: memory.call('an_block_parameter_count', this.#fields) }, (_, index) => {
        const rank = memory.call('an_block_parameter_shape', this.#fields, index, sizes, sizes + 4);
        const [rows, columns] = memory.words(sizes, 2);
        return {
          name: memory.text('an_block_parameter_name', this.#fields, index) ?? '',
          index,
          shape: Object.freeze(rank === 2 ? [rows, columns] : [columns]),
          learned: memory.call('an_block_parameter_learned', this.#fields, index) !== 0,
        };
      });
    });
  }

  /**
   * Writes the values of a parameter that has no tensor yet: what the seed gives, or what forward has left in a buffer.
   * @param {number} address
   * @param {Parameter} parameter
   */
  #read(address, { name, index, learned }) {
    if (learned) this.#engine.compute(name, 'an_block_parameter_init', address, this.#fields, index, this.#seed);
    else this.#engine.compute(name, 'an_block_unpack', address, this.#fields, index, this.#packed);
  }

  /**
   * @param {number} address of a parameter's values
   * @param {Parameter} parameter
   */
  #pack(address, { name, index }) {
    this.#engine.compute(name, 'an_block_pack', this.#packed, this.#fields, index, address);
  }

  /** @param {Parameter} parameter */
  #packInitial(parameter) {
    Frame.run(this.#engine, (frame) => {
      const { address } = frame.output(parameter.shape, parameter.name);
      const { name, index } = parameter;
      this.#engine.compute(name, 'an_block_parameter_init', address, this.#fields, index, this.#seed);
      this.#pack(address, parameter);
    });
  }

  /**
   * Operands for every parameter, in their order; nothing is written yet.
   * @param {Frame} frame
   * @param {string} what
   * @param {unknown} values
   * @param {import('./types.js').Layout} layout
   */
  #match(frame, what, values, layout) {
    if (!isPlain(values)) throw check.invalid(what, values, 'an object of named weights');
    const names = this.#parameters.map((parameter) => parameter.name);
    const unknown = Object.keys(values).find((name) => !names.includes(name));
    if (unknown !== undefined) {
      throw new AddnormError('UNKNOWN_NAME', `${what}: unknown name '${unknown}'; ${suggestion(unknown, names)}`);
    }
    const missing = names.filter((name) => !Object.hasOwn(values, name));
    if (missing.length > 0) {
      throw new AddnormError('INVALID_ARGUMENT', `${what}: ${quoted(missing)} missing; expected ${quoted(names)}`);
    }
    return this.#parameters.map(({ name, shape }) => {
      const wanted = layout === 'in_out' ? [...shape].reverse() : shape;
      const hint = layout === 'out_in' && shape.length === 2 ? "; for [in, out] pass layout: 'in_out'" : '';
      return frame.input(`${what}.${name}`, values[name], wanted, hint);
    });
  }

  /**
   * Takes weights, which are kept as tensors since no seed makes them again.
   * @param {unknown} weights
   * @param {import('./types.js').Layout} layout
   */
  #adopt(weights, layout) {
    Frame.run(this.#engine, (frame) => {
      const operands = this.#match(frame, 'weights', weights, layout);
      this.#tensors = this.#makeTensors((address, parameter, i) => {
        if (layout === 'in_out' && parameter.shape.length === 2) {
          Frame.run(this.#engine, (inner) => {
            const turned = inner.output(operands[i].shape, parameter.name);
            operands[i].copyTo(turned.address);
            inner.permute(address, turned, [1, 0]);
          });
        } else {
          operands[i].copyTo(address);
        }
        this.#pack(address, parameter);
      });
    });
  }

  /**
   * A tensor for every parameter, or none and an error.
   * @param {(address: number, parameter: Parameter, i: number) => void} fill
   */
  #makeTensors(fill) {
    const { memory } = this.#engine;
    /** @type {number[]} */
    const addresses = [];
    try {
      this.#parameters.forEach((parameter, i) => {
        addresses.push(memory.alloc(check.product(parameter.shape) * 4, parameter.name));
        fill(addresses[i], parameter, i);
      });
    } catch (error) {
      for (const address of addresses) memory.free(address);
      throw error;
    }
    const entries = this.#parameters.map((parameter, i) => {
      const owner = () => void this.#stale.add(parameter);
      return /** @type {const} */ ([parameter, new Tensor(this.#engine, addresses[i], parameter.shape, owner)]);
    });
    return new Map(entries);
  }

  #materialise() {
    this.#alive();
    this.#tensors ??= this.#makeTensors((address, parameter) => this.#read(address, parameter));
    return this.#tensors;
  }

  /** @param {boolean} learned */
  #named(learned) {
    const entries = [...this.#materialise()].filter(([parameter]) => parameter.learned === learned);
    return Object.freeze(Object.fromEntries(entries.map(([{ name }, tensor]) => [name, tensor])));
  }

  #alive() {
    if (this.#disposed) throw new AddnormError('DISPOSED', 'this module has been disposed');
  }

  /** The configuration that is used: every field, with what auto stands for. */
  get config() {
    return /** @type {import('./types.js').Resolved<Config>} */ (this.#config);
  }

  /**
   * The learned parameters by name, in PyTorch's layout: `up` [d_ff, d_model], `down` [d_model, d_ff], `up_bias`, ...
   * They belong to the module: it disposes them. The first access makes them, so a module that only runs costs its
   * packed copy alone. After `set()` the next forward sees the new numbers; after a write through `data` call
   * `touch()`.
   * @returns {Readonly<Record<string, Tensor>>}
   */
  get parameters() {
    return this.#named(true);
  }

  /**
   * The running statistics of batch_norm, which are state but not learned; else empty.
   * @returns {Readonly<Record<string, Tensor>>}
   */
  get buffers() {
    return this.#named(false);
  }

  /** Says that parameters have been written through `data`: the next forward packs them anew. */
  touch() {
    this.#alive();
    for (const parameter of this.#tensors?.keys() ?? []) this.#stale.add(parameter);
  }

  /**
   * y for x [..., d_model]. The axis before the last is the length of a sequence (for instance, group and batch norm),
   * those before it are the batch. A workspace is kept between calls and grows where more rows come.
   * @template {TensorLike} T
   * @param {T} x
   * @param {{ train?: boolean | undefined }} [options] train: batch_norm normalises by this batch and updates its running
   *   statistics
   * @returns {import('./types.js').Like<T>}
   */
  forward(x, options) {
    this.#alive();
    const train = check.boolean('train', check.options('options', options, ['train']).train ?? false);
    const { memory } = this.#engine;
    return Frame.run(this.#engine, (frame) => {
      const input = frame.input('x', x);
      const { shape } = input;
      const width = /** @type {any} */ (this.#config).d_model;
      if (shape.at(-1) !== width) {
        throw new AddnormError('SHAPE_MISMATCH', `x: expected [..., ${width}], got ${shapeText(shape)}`);
      }
      const length = shape.at(-2) ?? 1;
      const batch = check.product(shape.slice(0, -2));
      const y = frame.output(shape);
      if (y.size === 0) return frame.results(input, { y }).y;
      this.#repack();
      const ends = [y.address, input.address];
      this.#reserve(memory.call('an_block_workspace_bytes', this.#fields, batch, length) >>> 0);
      const work = [this.#packed, this.#workspace, this.#workspaceBytes, this.#fields];
      this.#engine.compute('forward', 'an_block_fwd', ...ends, ...work, Number(train), batch, length);
      if (train) this.#readBuffers();
      return frame.results(input, { y }).y;
    });
  }

  #repack() {
    for (const parameter of this.#stale) {
      const tensor = /** @type {Tensor} */ (this.#tensors?.get(parameter));
      this.#pack(addressOf(tensor, this.#engine, parameter.name), parameter);
      this.#stale.delete(parameter);
    }
  }

  /** Brings the tensors of running statistics, if there are any, up to what forward has made of them. */
  #readBuffers() {
    for (const [parameter, tensor] of this.#tensors ?? []) {
      if (!parameter.learned) this.#read(addressOf(tensor, this.#engine, parameter.name), parameter);
    }
  }

  /** @param {number} bytes that the workspace needs to have */
  #reserve(bytes) {
    if (bytes <= this.#workspaceBytes) return;
    const larger = this.#engine.memory.alloc(bytes, 'the workspace');
    this.#engine.memory.free(this.#workspace);
    this.#workspace = larger;
    this.#workspaceBytes = bytes;
  }

  /**
   * A copy of all parameters and buffers, as `loadState` and `init.weights` take them.
   * @returns {State}
   */
  state() {
    this.#alive();
    const entries = this.#parameters.map((parameter) => {
      const { name, shape } = parameter;
      const tensor = this.#tensors?.get(parameter);
      const data = tensor
        ? tensor.toArray()
        : Frame.run(this.#engine, (frame) => {
            const value = frame.output(shape, name);
            this.#read(value.address, parameter);
            return this.#engine.memory.floats(value.address, value.size).slice();
          });
      return [name, { shape: [...shape], data }];
    });
    return Object.fromEntries(entries);
  }

  /**
   * Replaces all parameters and buffers, or none if any is missing, unknown or of another shape.
   * @param {Readonly<Record<string, TensorLike>>} state
   */
  loadState(state) {
    this.#alive();
    Frame.run(this.#engine, (frame) => {
      const operands = this.#match(frame, 'state', state, 'out_in');
      const targets = [...this.#materialise()].map(([{ name }, tensor]) => frame.input(name, tensor));
      // A parameter that takes the place of another is read before it is itself overwritten.
      const sources = operands.map((operand, i) =>
        targets.some((target, j) => j !== i && operand.overlaps(target)) ? operand.copy() : operand,
      );
      this.#parameters.forEach((parameter, i) => {
        sources[i].copyTo(targets[i].address);
        this.#stale.add(parameter);
      });
    });
  }

  /**
   * What a forward of so many rows (tokens) costs.
   * @param {number} rows
   * @returns {import('./types.js').Cost}
   */
  cost(rows) {
    this.#alive();
    const count = check.integer('rows', rows, 0, 2 ** 32 - 1);
    return Frame.run(this.#engine, (frame) => {
      const cost = frame.room(32, 'the cost');
      this.#engine.compute('cost', 'an_block_cost', cost, this.#fields, count);
      const [parameters, flops, bytes, matmulFlops] = this.#engine.memory.doubles(cost, 4);
      return { parameters, flops, matmulFlops, bytes };
    });
  }

  /** Frees the module and its parameters. More than once is fine. */
  dispose() {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#free();
    this.#engine.untrack(this);
  }

  [Symbol.dispose]() {
    this.dispose();
  }

  #free() {
    for (const tensor of this.#tensors?.values() ?? []) release(tensor);
    for (const address of [this.#fields, this.#packed, this.#workspace]) this.#engine.memory.free(address);
  }
}

/**
 * A feed-forward network, dense or gated: `down(activation(up(x)))` or `down(activation(gate(x)) * up(x))`.
 * @extends {Layer<import('./types.js').FfnConfig>}
 */
export class Ffn extends Layer {
  /**
   * @hideconstructor
   * @param {Engine} engine
   * @param {unknown} config
   * @param {unknown} init
   */
  constructor(engine, config, init) {
    const known = [
      'd_model',
      'd_ff',
      'activation',
      'activation_p0',
      'activation_p1',
      'gated',
      'bias',
      'init',
      'init_std',
    ];
    super(engine, known, config, { norm: 'none', placement: 'none', residual: false }, init);
  }
}

/** A feed-forward network with its norm and residual connection. @extends {Layer<import('./types.js').BlockConfig>} */
export class Block extends Layer {
  /**
   * @hideconstructor
   * @param {Engine} engine
   * @param {unknown} config
   * @param {unknown} init
   */
  constructor(engine, config, init) {
    super(engine, null, config, {}, init);
  }
}

/**
 * @param {unknown} init
 * @returns {{ seed: number, weights: unknown, layout: import('./types.js').Layout }}
 */
function initOf(init) {
  const given = check.options('init', init, ['seed', 'weights', 'layout']);
  if (given.weights !== undefined && given.seed !== undefined) {
    throw new AddnormError('INVALID_ARGUMENT', 'init: expected seed or weights, got both');
  }
  return {
    seed: check.integer('init.seed', given.seed ?? 0, 0, 2 ** 32 - 1),
    weights: given.weights,
    layout: check.name('init.layout', given.layout ?? 'out_in', ['out_in', 'in_out']),
  };
}

/**
 * A field's value as the module takes it.
 * @param {Engine} engine
 * @param {Field} field
 * @param {unknown} value null: auto
 * @returns {number}
 */
function encode(engine, field, value) {
  const what = `config.${field.name}`;
  if (value === null) return NaN;
  if (field.options) return numberOf(what, engine.lists.numbers[field.type], value);
  if (field.type === 'bool') return Number(check.boolean(what, value));
  return (field.type === 'int' ? check.integer : check.number)(what, value, field.min, field.max);
}
