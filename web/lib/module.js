// @ts-check
// Feed-forward networks, blocks and stacks: modules that pack their parameters once, run many times, and learn.
import * as check from './check.js';
import { Engine } from './engine.js';
import { AddnormError, isPlain, mismatch, quoted, shapeText } from './errors.js';
import { Frame, Operand } from './frame.js';
import { decode } from './lists.js';
import { numberOf, outsideDomain } from './ops.js';
import { release, Tensor } from './tensor.js';

/** @typedef {import('./types.js').State} State */
/** @typedef {import('./types.js').TensorLike} TensorLike */
/** @typedef {Engine['lists']['fields'][number]} Field */
/** @typedef {{ name: string, index: number, shape: readonly number[], learned: boolean, offset: number }} Parameter */
/**
 * A forward pass: its rows, where it keeps what backward needs, and the mask it saw. Addresses are 0 where there is none.
 * @typedef {{ batch: number, length: number, input: readonly number[], output: readonly number[], seed: number,
 *   saved: number, mask: number }} Run
 */

/**
 * The layer that made the stream of a module's last training forward NaN or infinite, 0 where it came in so; null if it
 * is finite or cannot be looked at any more. For this package's other files.
 * @type {(module: Module<any>) => number | null}
 */
export let firstNotFinite;

/** The options of a forward pass, in training or not. @type {Record<string, check.Check>} */
const passOptions = { seed: check.word, mask: null };
/** @type {Record<string, check.Check>} */
const forwardOptions = { ...passOptions, train: check.boolean };
const backwardOptions = { dx: check.boolean };

const NONE_YET = 'there is none yet';
const USED = 'backward has used the last one';
const CHANGED = 'parameters have changed since the last one, by set(), touch(), loadState() or an optimizer';

/**
 * What an Ffn, a Block and a Stack have in common.
 * @template Config
 */
export class Module {
  #engine;
  #config;
  #parameters;
  #seed;
  /** Where all lies that it has allocated. A list of its own, for the engine, which frees it if this module is lost. */
  #own = new Set();
  /** Addresses: the configuration and the packed parameters as the module takes them; what backward needs comes later. */
  #fields = 0;
  #packed = 0;
  #packedBackward = 0;
  /** One allocation each; the tensors lie in them. */
  #values = 0;
  #gradients = 0;
  /** Kept between calls; they never shrink. */
  #workspace = { address: 0, bytes: 0 };
  #saved = { address: 0, bytes: 0 };
  /** What the workspace was last asked for. */
  #worked = '';
  /** Made when they are asked for first, or at once where weights are given. @type {Map<Parameter, Tensor> | null} */
  #tensors = null;
  /** @type {Map<Parameter, Tensor> | null} */
  #gradientTensors = null;
  /** Parameters whose tensor is newer than the packed copy. @type {Set<Parameter>} */
  #stale = new Set();
  /** The last training forward, as long as what it kept is there and goes with the parameters. @type {Run | null} */
  #run = null;
  /** Why backward is refused; empty if it is not. */
  #refusal = NONE_YET;
  #disposed = false;

  static {
    firstNotFinite = (module) => module.#firstNotFinite();
  }

  /**
   * @hideconstructor
   * @param {Engine} engine
   * @param {(field: Field) => boolean} has which fields this configuration has
   * @param {unknown} config
   * @param {Readonly<Record<string, unknown>>} fixed the values of other fields
   * @param {unknown} init
   */
  constructor(engine, has, config, fixed, init) {
    this.#engine = Engine.of(engine, 'a module is made by an.ffn, an.block or an.stack');
    const { seed, weights, layout } = initOf(init);
    this.#seed = seed;
    try {
      this.#fields = this.#allocate(engine.lists.fields.length * 8, 'the configuration');
      this.#config = configure(engine, has, config, fixed, this.#fields);
      this.#parameters = this.#enumerate(fixed.layer === 0);
      this.#packed = this.#room('packed', 'the packed parameters');
      if (weights !== undefined) this.#adopt(weights, layout);
      // Drawn by the first use, into the tensors or straight into the packed buffer: it costs more than a forward of few rows.
      else for (const parameter of this.#parameters) this.#stale.add(parameter);
    } catch (error) {
      this.#end();
      throw error;
    }
    engine.track(this, this.#own);
  }

  /**
   * @param {boolean} whole of a stack: a layer's parameters have its number before their names
   * @returns {readonly Parameter[]}
   */
  #enumerate(whole) {
    const { memory } = this.#engine;
    /** @param {string} what @param {...number} args */
    const ask = (what, ...args) => memory.call(`an_module_parameter_${what}`, this.#fields, ...args);
    return Frame.run(this.#engine, (frame) => {
      const sizes = frame.room(8);
      const count = ask('count');
      const { depth } = /** @type {any} */ (this.#config);
      /** @type {(Parameter & { layer: number })[]} */
      const list = [];
      // From layer to layer, known once the second begins: the others are like it. Each question costs some microseconds.
      let [each, stride] = [0, 0];
      for (let index = 0; index < count; index++) {
        const former = list[index - each];
        if (former?.layer > 0 && former.layer < depth) {
          list.push({ ...former, index, layer: former.layer + 1, offset: former.offset + stride });
          continue;
        }
        const rank = ask('shape', index, sizes, sizes + 4);
        const shape = Object.freeze([...memory.words(sizes, 2)].slice(2 - rank));
        const name = memory.text('an_module_parameter_name', this.#fields, index) ?? '';
        const layer = whole ? ask('layer', index) : 0;
        const offset = (ask('offset', index) >>> 0) * 4;
        if (layer === 2) {
          const first = list.findIndex((parameter) => parameter.layer === 1);
          [each, stride] = [index - first, offset - list[first].offset];
        }
        list.push({ name, index, shape, learned: ask('learned', index) !== 0, offset, layer });
      }
      return list.map(({ layer, name, ...rest }) => ({
        ...rest,
        name: layer > 0 ? `layers.${layer - 1}.${name}` : name,
      }));
    });
  }

  /**
   * A number of bytes that the module tells.
   * @param {string} name
   * @param {...number} args
   */
  #size(name, ...args) {
    const bytes = this.#engine.memory.call(name, this.#fields, ...args) >>> 0;
    if (bytes === 0) throw new AddnormError('OUT_OF_MEMORY', 'this module exceeds a 32-bit memory');
    return bytes;
  }

  /**
   * Room for as many bytes as the module tells.
   * @param {'packed' | 'packed_bwd' | 'values'} kind
   * @param {string} what
   */
  #room(kind, what) {
    return this.#allocate(this.#size(`an_module_${kind}_bytes`), what);
  }

  /**
   * Writes the values of a parameter that has no tensor yet: what the seed gives, or what forward has left in a buffer.
   * @param {number} address
   * @param {Parameter} parameter
   */
  #read(address, parameter) {
    const initial = parameter.learned || this.#stale.has(parameter); // stale without a tensor: never packed
    const [kernel, from] = initial ? ['parameter_init', this.#seed] : ['unpack', this.#packed];
    this.#engine.compute(`an_module_${kernel}`, address, this.#fields, parameter.index, from);
  }

  /**
   * @param {number} address of a parameter's values
   * @param {Parameter} parameter
   */
  #pack(address, { index }) {
    this.#engine.compute('an_module_pack', this.#packed, this.#packedBackward, this.#fields, index, address);
  }

  /**
   * Operands for every parameter, in their order; nothing is written yet.
   * @param {Frame} frame
   * @param {string} what
   * @param {unknown} values
   * @param {import('./types.js').Layout} layout
   */
  #match(frame, what, values, layout) {
    const found = matchNames(
      what,
      values,
      this.#parameters.map((parameter) => parameter.name),
    );
    return this.#parameters.map(({ name, shape }) => {
      const wanted = layout === 'in_out' ? [...shape].reverse() : shape;
      const hint = layout === 'out_in' && shape.length === 2 ? "; for [in, out] pass layout: 'in_out'" : '';
      return frame.input(`${what}.${name}`, found[name], wanted, hint);
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
      this.#makeTensors((address, parameter, i) => {
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
    const base = this.#room('values', 'the parameters');
    try {
      this.#parameters.forEach((parameter, i) => void fill(base + parameter.offset, parameter, i));
    } catch (error) {
      this.#free(base);
      throw error;
    }
    this.#values = base;
    this.#tensors = this.#within(base, this.#parameters, (parameter) => this.#change(parameter));
    return this.#tensors;
  }

  /**
   * Tensors in memory of the module's own.
   * @param {number} base
   * @param {readonly Parameter[]} parameters
   * @param {(parameter: Parameter) => unknown} changed called after set(); it holds the module, which lives as long as they
   */
  #within(base, parameters, changed) {
    return new Map(
      parameters.map((parameter) => {
        const { shape, offset } = parameter;
        return [parameter, new Tensor(this.#engine, base + offset, shape, () => changed(parameter))];
      }),
    );
  }

  #materialise() {
    this.#alive();
    return this.#tensors ?? this.#makeTensors((address, parameter) => this.#read(address, parameter));
  }

  #differentiate() {
    this.#alive();
    if (!this.#gradientTensors) {
      const learned = this.#parameters.filter((parameter) => parameter.learned);
      this.#gradients = this.#room('values', 'the gradients');
      this.#gradientTensors = this.#within(this.#gradients, learned, () => this);
      this.zeroGrad();
    }
    return this.#gradientTensors;
  }

  /** Makes what only training needs. */
  #prepare() {
    this.#materialise();
    this.#differentiate();
    if (this.#packedBackward === 0) {
      this.#packedBackward = this.#room('packed_bwd', 'the parameters packed for backward');
      for (const parameter of this.#parameters) this.#stale.add(parameter);
    }
    this.#repack();
  }

  /**
   * @param {number} bytes
   * @param {string} what
   */
  #allocate(bytes, what) {
    const address = this.#engine.memory.alloc(bytes, what);
    this.#own.add(address);
    return address;
  }

  /** @param {number} address */
  #free(address) {
    this.#engine.memory.free(address);
    this.#own.delete(address);
  }

  /**
   * Makes what is kept between calls larger, where it is too small.
   * @param {{ address: number, bytes: number }} kept
   * @param {number} bytes
   * @param {string} what
   */
  #reserve(kept, bytes, what) {
    if (bytes <= kept.bytes) return;
    const address = this.#allocate(bytes, what);
    this.#free(kept.address);
    kept.address = address;
    kept.bytes = bytes;
  }

  /** @param {Parameter} parameter whose values are others now */
  #change(parameter) {
    this.#stale.add(parameter);
    this.#run = null;
    if (this.#refusal === '') this.#refusal = CHANGED;
  }

  /** For Object.prototype.toString. */
  get [Symbol.toStringTag]() {
    return 'Module';
  }

  #alive() {
    if (this.#disposed) throw new AddnormError('DISPOSED', 'this module has been disposed');
  }

  /** The configuration that is used: every field, with what auto stands for. */
  get config() {
    return /** @type {import('./types.js').Resolved<Config>} */ (this.#config);
  }

  /**
   * The learned parameters by name, in PyTorch's layout: `up` [d_ff, d_model], `down` [d_model, d_ff], `up_bias`, ...;
   * in a stack `layers.0.up` and so on. They belong to the module: it disposes them. The first access makes them, so a
   * module that only runs costs its packed copy alone. After `set()` the next forward sees the new numbers; after a
   * write through `data` call `touch()`.
   * @returns {Readonly<Record<string, Tensor>>}
   */
  get parameters() {
    return named(this.#materialise(), true);
  }

  /**
   * The running statistics of batch_norm, which are state but not learned; else empty.
   * @returns {Readonly<Record<string, Tensor>>}
   */
  get buffers() {
    return named(this.#materialise(), false);
  }

  /**
   * The gradients of the parameters, by the same names. backward adds to them; zeroGrad sets them to 0.
   * @returns {Readonly<Record<string, Tensor>>}
   */
  get gradients() {
    return named(this.#differentiate(), true);
  }

  /** Sets all gradients to 0. */
  zeroGrad() {
    this.#alive();
    if (this.#gradients === 0) return;
    this.#engine.memory.floats(this.#gradients, this.#size('an_module_values_bytes') / 4).fill(0);
  }

  /** Says that parameters have been written through `data`: the next forward packs them anew. */
  touch() {
    this.#alive();
    for (const parameter of this.#tensors?.keys() ?? []) this.#change(parameter);
  }

  /**
   * y for x [..., d_model]; a stack has d_in and d_out there, where they are not 0. The axis before the last is the
   * length of a sequence, those before it are the batch. A workspace is kept between calls and grows where more rows
   * come; so is what backward needs. NaN and Infinity come through as the operations have them, in their row and no other
   * unless tokens are mixed or the norm is that of a batch or group.
   *
   * ```js
   * const ffn = an.ffn({ d_model: 64 }, { seed: 1 });
   * const y = ffn.forward(x); // a Tensor for a Tensor, [8, 64]
   * const one = ffn.forward(new Float32Array(64)); // a Float32Array for a Float32Array
   * ```
   * @template {TensorLike} T
   * @param {T} x
   * @param {import('./types.js').ForwardOptions} [options]
   * @returns {import('./types.js').Like<T>}
   */
  forward(x, options) {
    this.#alive();
    const given = check.options('options', options, forwardOptions);
    return Frame.run(this.#engine, (frame) => {
      const { input, run, mask, y, ends } = this.#begin(frame, x, given);
      if (!given.train) {
        run.mask = mask?.address ?? 0;
        this.#repack();
        this.#forward(run, ...ends);
      } else {
        this.#prepare();
        this.#work(1, run);
        this.#keep(run, mask, (bytes) => {
          this.#reserve(this.#saved, bytes, 'what backward needs');
          this.#run = null;
          return this.#saved.address;
        });
        this.#forward(run, ...ends);
        this.#run = run;
        this.#refusal = '';
        this.#eachBuffer((address, parameter) => this.#read(address, parameter));
      }
      return frame.result(input, y);
    });
  }

  /**
   * The gradient of a loss by x, from the one by y: dx for the last `forward(x, { train: true })`. The parameters' are
   * added to `gradients`.
   *
   * ```js
   * const ffn = an.ffn({ d_model: 64 }, { seed: 1 });
   * const y = ffn.forward(x, { train: true });
   * const dx = ffn.backward(y); // for the loss sum(y²) / 2, whose gradient by y is y
   * ffn.gradients.up.shape; // [256, 64]
   * ffn.zeroGrad();
   * ```
   * @template {TensorLike} T
   * @template {import('./types.js').BackwardOptions} [O={}]
   * @param {T} dy as y
   * @param {O} [options]
   * @returns {import('./types.js').Dx<T, O>} undefined with `dx: false`
   * @throws {AddnormError} `NO_FORWARD` if there was no such forward, backward has used it, or parameters have changed
   */
  backward(dy, options) {
    this.#alive();
    const wanted = check.options('options', options, backwardOptions).dx ?? true;
    return Frame.run(this.#engine, (frame) => {
      const run = this.#pending();
      const output = frame.input('dy', dy, run.output);
      if (this.#pending() !== run) throw new AddnormError('NO_FORWARD', 'backward: reading dy made another forward');
      const dx = wanted ? frame.output(run.input) : null;
      this.#backward(run, dx, this.#gradients, output, 0);
      this.#refusal = USED;
      return dx ? frame.result(output, dx) : undefined;
    });
  }

  /** The forward that backward goes with. */
  #pending() {
    this.#alive();
    if (this.#run && this.#refusal === '') return this.#run;
    throw new AddnormError('NO_FORWARD', `backward: needs a forward with train: true; ${this.#refusal}`);
  }

  /**
   * What one training pass does to the signal and its gradient in every sublayer. It leaves gradients, running statistics
   * and a forward that waits for its backward as they are.
   *
   * ```js
   * const block = an.block({ d_model: 64 }, { seed: 1 });
   * const { sublayers, stream } = block.probe(x, (y) => y); // for the loss sum(y²) / 2
   * sublayers[0].branchRatio; // how large the branch is beside the stream
   * ```
   * @param {TensorLike} x as forward takes it
   * @param {TensorLike | ((y: Float32Array) => TensorLike)} dy the gradient of a loss by y, or what makes it from y
   * @param {import('./types.js').ProbeOptions} [options]
   * @returns {import('./types.js').Probe}
   */
  probe(x, dy, options) {
    this.#alive();
    const given = check.options('options', options, passOptions);
    return Frame.run(this.#engine, (frame) => {
      const { run, mask, y, ends } = this.#begin(frame, x, given);
      this.#prepare();
      this.#keep(run, mask, (bytes) => frame.room(bytes, 'what backward needs'));
      const gradients = frame.room(this.#size('an_module_values_bytes'), 'the gradients');
      this.#forward(run, ...ends);
      // Takes back what forward has made of the running statistics; backward does not read them.
      this.#eachBuffer((address, parameter) => this.#pack(address, parameter));
      const answer = typeof dy === 'function' ? dy(y.numbers.slice()) : dy;
      const output = frame.input('dy', answer, run.output);
      this.#alive();
      const sublayers = this.#measure(frame, run, output, gradients);
      const { mean, std, rms, gradient, nonFinite } = /** @type {import('./types.js').ProbeStream} */ (sublayers.pop());
      const norms = this.#parameters
        .filter(({ learned }) => learned)
        .map(({ name, shape, offset }) => {
          return [name, Math.sqrt(sumSquares(this.#engine, [[gradients + offset, check.product(shape)]]))];
        });
      return {
        sublayers,
        stream: { mean, std, rms, gradient, nonFinite },
        gradients: Object.fromEntries(norms),
      };
    });
  }

  /**
   * What a forward pass begins with.
   * @param {Frame} frame
   * @param {unknown} x
   * @param {Record<string, any>} options checked
   */
  #begin(frame, x, { seed = 0, mask: given }) {
    const { d_model, d_in, d_out, positions } = /** @type {any} */ (this.#config);
    const input = frame.input('x', x);
    const { shape } = input;
    const width = d_in || d_model;
    if (shape.at(-1) !== width) throw mismatch('x', `[..., ${width}]`, shape);
    const length = shape.at(-2) ?? 1;
    if (positions > 0 && length > positions) {
      throw new AddnormError('SHAPE_MISMATCH', `x: a length of ${length}, where there are ${positions} positions`);
    }
    const batch = check.product(shape.slice(0, -2));
    const mask = frame.optional('mask', given);
    if (mask && mask.size !== batch * length) throw mismatch('mask', shapeText([batch, length]), mask.shape);
    this.#alive(); // still: a getter of an argument may have disposed it
    const y = frame.output([...shape.slice(0, -1), d_out || d_model]);
    /** @type {Run} */
    const run = { batch, length, input: shape, output: y.shape, seed, saved: 0, mask: 0 };
    // Their memory first: where there is none, nothing that is kept has grown.
    const ends = /** @type {const} */ ([y.address, input.address]);
    return { input, run, mask, y, ends };
  }

  /**
   * Sees to the workspace of a forward (0: inference, 1: training) or a backward (2).
   * @param {number} kind
   * @param {Run} run
   */
  #work(kind, { batch, length }) {
    const wanted = `${kind} ${batch} ${length}`;
    if (batch * length === 0 || wanted === this.#worked) return;
    this.#reserve(this.#workspace, this.#size('an_module_workspace_bytes', kind, batch, length), 'the workspace');
    this.#worked = wanted;
  }

  /**
   * Lays out what a training forward keeps: its mask, and what the module saves.
   * @param {Run} run
   * @param {Operand | null} mask
   * @param {(bytes: number) => number} room gives its address
   */
  #keep(run, mask, room) {
    const { batch, length } = run;
    const rows = batch * length;
    const masks = Math.ceil(rows / 4) * 16;
    const address = room(rows > 0 ? masks + this.#size('an_module_saved_bytes', batch, length) : 0);
    run.saved = address + masks;
    if (mask && mask.size > 0) {
      mask.copyTo(address);
      run.mask = address;
    }
  }

  /**
   * @param {Run} run
   * @param {number} y
   * @param {number} x
   */
  #forward(run, y, x) {
    const { seed, batch, length, mask, saved } = run;
    this.#work(Number(saved !== 0), run);
    const own = [this.#packed, saved, this.#workspace, this.#workspace.bytes, this.#fields];
    this.#engine.compute('an_module_fwd', y, x, mask, ...own, seed, batch, length);
  }

  /**
   * @param {Run} run
   * @param {Operand | null} dx
   * @param {number} gradients
   * @param {Operand} dy
   * @param {number} probe
   */
  #backward(run, dx, gradients, dy, probe) {
    const { seed, batch, length, mask, saved } = run;
    this.#work(2, run);
    const own = [this.#packed, this.#packedBackward, saved, this.#workspace, this.#workspace.bytes, this.#fields];
    this.#engine.compute('an_module_bwd', dx, gradients, dy, mask, ...own, seed, batch, length, probe);
  }

  /**
   * Runs backward for what it tells of the sublayers; the last is the stream behind them.
   * @param {Frame} frame
   * @param {Run} run
   * @param {Operand} dy
   * @param {number} gradients that it may overwrite
   */
  #measure(frame, run, dy, gradients) {
    const { memory } = this.#engine;
    const columns = memory.call('an_probe_count');
    const count = memory.call('an_module_probe_count', this.#fields);
    const probe = frame.room(count * columns * 8);
    memory.doubles(probe, count * columns).fill(0);
    memory.floats(gradients, this.#size('an_module_values_bytes') / 4).fill(0);
    this.#backward(run, null, gradients, dy, probe);
    const names = Array.from({ length: columns }, (_, i) => camelCase(memory.text('an_probe_name', i) ?? ''));
    const values = memory.doubles(probe, count * columns);
    const { layer = 1, mixing = 'none' } = /** @type {any} */ (this.#config);
    const each = mixing === 'none' ? 1 : 2;
    return Array.from({ length: count }, (_, i) => {
      const row = Object.fromEntries(names.map((name, column) => [name, values[i * columns + column]]));
      return /** @type {import('./types.js').ProbeSublayer} */ ({
        layer: layer + Math.floor(i / each),
        sublayer: i % each === each - 1 ? 'ffn' : 'mixing',
        ...row,
        branchRatio: row.branchRms / row.rms,
      });
    });
  }

  #firstNotFinite() {
    const run = this.#run;
    if (!run) return null;
    try {
      return Frame.run(this.#engine, (frame) => {
        const gradients = frame.room(this.#size('an_module_values_bytes'), 'the gradients');
        const rows = this.#measure(frame, run, frame.filled(run.output, 0), gradients);
        const first = rows.findIndex(({ nonFinite }) => nonFinite > 0);
        return first > 0 ? rows[first - 1].layer : first < 0 ? null : 0;
      });
    } catch {
      return null; // no memory for it: the caller has an error to report already
    }
  }

  #repack() {
    for (const parameter of this.#stale) {
      if (this.#tensors) this.#pack(this.#values + parameter.offset, parameter);
      else {
        Frame.run(this.#engine, (frame) => {
          const { address } = frame.output(parameter.shape, parameter.name);
          this.#read(address, parameter);
          this.#pack(address, parameter);
        });
      }
      this.#stale.delete(parameter);
    }
  }

  /** @param {(address: number, parameter: Parameter) => void} use the tensor of running statistics, of each */
  #eachBuffer(use) {
    for (const parameter of this.#parameters) if (!parameter.learned) use(this.#values + parameter.offset, parameter);
  }

  /**
   * A copy of all parameters and buffers, as `loadState` and `init.weights` take them.
   *
   * ```js
   * const ffn = an.ffn({ d_model: 64 }, { seed: 1 });
   * const copy = an.ffn(ffn.config, { weights: ffn.state() });
   * ```
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
   * Replaces all parameters and buffers, or none.
   * @param {Readonly<Record<string, TensorLike>>} state
   * @throws {AddnormError} `INVALID_ARGUMENT` if one is missing, `UNKNOWN_NAME`, `SHAPE_MISMATCH`
   */
  loadState(state) {
    this.#alive();
    Frame.run(this.#engine, (frame) => {
      const what = 'state';
      const operands = this.#match(frame, what, state, 'out_in');
      this.#materialise();
      const own = new Operand(frame, what, [this.#size('an_module_values_bytes') / 4], this.#values);
      // A parameter that takes the place of another is read before it is itself overwritten.
      const sources = operands.map((operand) => (operand.overlaps(own) ? operand.copy() : operand));
      this.#parameters.forEach((parameter, i) => {
        sources[i].copyTo(this.#values + parameter.offset);
        this.#change(parameter);
      });
    });
  }

  /**
   * What a forward costs.
   * @param {number} length tokens of a sequence
   * @param {number} [batch] sequences; default 1
   * @returns {import('./types.js').Cost}
   */
  cost(length, batch = 1) {
    this.#alive();
    const rows = [check.word('batch', batch), check.word('length', length)];
    return Frame.run(this.#engine, (frame) => {
      const cost = frame.room(32);
      this.#engine.compute('an_module_cost', cost, this.#fields, ...rows);
      const [parameters, flops, bytes, matmulFlops] = this.#engine.memory.doubles(cost, 4);
      return { parameters, flops, matmulFlops, bytes };
    });
  }

  /** Frees the module and its parameters. More than once is fine. */
  dispose() {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#end();
    this.#engine.untrack(this);
  }

  /** For `using`: dispose(). */
  [Symbol.dispose]() {
    this.dispose();
  }

  #end() {
    for (const tensors of [this.#tensors, this.#gradientTensors]) tensors?.forEach(release);
    this.#engine.memory.freeAll(this.#own);
  }
}

/** An Ffn's fields beside those of group ffn. */
const OF_FFN = ['d_model', 'd_ff', 'init', 'init_std'];

/**
 * A feed-forward network, dense or gated: `down(activation(up(x)))` or `down(activation(gate(x)) * up(x))`.
 * @extends {Module<import('./types.js').FfnConfig>}
 */
export class Ffn extends Module {
  /**
   * @hideconstructor
   * @param {Engine} engine
   * @param {unknown} config
   * @param {unknown} init
   */
  constructor(engine, config, init) {
    const fixed = { norm: 'none', placement: 'none', residual: false };
    super(engine, ({ name, group }) => group === 'ffn' || OF_FFN.includes(name), config, fixed, init);
  }
}

/**
 * A feed-forward network with its norm and residual connection; with `mixing` a sublayer before it that mixes tokens.
 * @extends {Module<import('./types.js').BlockConfig>}
 */
export class Block extends Module {
  /**
   * @hideconstructor
   * @param {Engine} engine
   * @param {unknown} config
   * @param {unknown} init
   */
  constructor(engine, config, init) {
    super(engine, ({ group }) => group !== 'stack', config, {}, init);
  }
}

/**
 * Blocks one after another, with what stands before and behind them.
 * @extends {Module<import('./types.js').StackConfig>}
 */
export class Stack extends Module {
  /**
   * @hideconstructor
   * @param {Engine} engine
   * @param {unknown} config
   * @param {unknown} init
   */
  constructor(engine, config, init) {
    super(engine, ({ name }) => name !== 'layer', config, { layer: 0 }, init);
  }
}

/**
 * Checks that an object has these names and no other.
 * @param {string} what
 * @param {unknown} values
 * @param {readonly string[]} names
 */
export function matchNames(what, values, names) {
  if (!isPlain(values)) throw check.invalid(what, values, 'an object of named weights');
  const known = new Set(names);
  for (const name of Object.keys(values)) if (!known.has(name)) check.name(what, name, names, 'UNKNOWN_NAME');
  const missing = names.filter((name) => !Object.hasOwn(values, name));
  if (missing.length > 0) {
    throw new AddnormError('INVALID_ARGUMENT', `${what}: ${quoted(missing)} missing; expected ${quoted(names)}`);
  }
  return values;
}

/**
 * The sum of the squares of all these numbers, in double: NaN or infinite if one of them is, and only then.
 * @param {Engine} engine
 * @param {Iterable<readonly [address: number, length: number]>} parts
 */
export function sumSquares(engine, parts) {
  return Frame.run(engine, (frame) => {
    const sum = frame.room(8);
    engine.memory.doubles(sum, 1)[0] = 0;
    for (const part of parts) engine.compute('an_sum_squares', sum, ...part);
    return engine.memory.doubles(sum, 1)[0];
  });
}

/**
 * Writes a configuration as the module reads it.
 * @param {Engine} engine
 * @param {(field: Field) => boolean} has which fields it has
 * @param {unknown} config
 * @param {Readonly<Record<string, unknown>>} fixed the values of other fields
 * @param {number} address of a double for each of all fields
 * @returns {Readonly<Record<string, number | boolean | string | null>>} with what auto stands for
 */
export function configure(engine, has, config, fixed, address) {
  const { memory, lists } = engine;
  const { fields } = lists;
  const known = fields.filter(has).map(String);
  const given = { ...check.options('config', config, known, 'field'), ...fixed };
  const values = fields.map((field) => encode(engine, field, given[field.name] ?? field.default, known));
  return Frame.run(engine, (frame) => {
    const resolved = frame.room(fields.length * 8);
    const fault = frame.room(4);
    memory.doubles(address, fields.length).set(values);
    if (memory.call('an_config_check', address, fault) !== 0) {
      const { name, help } = fields[memory.words(fault, 1)[0]];
      const value = given[name] ?? 'its default';
      const which = ['activation_p0', 'activation_p1'].indexOf(name);
      if (which >= 0) {
        const index = values[fields.findIndex((field) => field.name === 'activation')];
        const expected = outsideDomain(engine, index, which, Number(value));
        throw check.invalid(`config.${name}`, value, `${expected}, for ${lists.activations[index].name}`);
      }
      throw new AddnormError('INVALID_ARGUMENT', `config.${name}: ${value} does not go with the other fields. ${help}`);
    }
    engine.compute('an_config_resolve', resolved, address);
    const numbers = memory.doubles(resolved, fields.length);
    const entries = fields.map((field, i) => [field.name, decode(field.type, field.options, numbers[i])]);
    return Object.freeze(Object.fromEntries(entries.filter(([name]) => known.includes(String(name)))));
  });
}

/**
 * @param {Map<Parameter, Tensor>} tensors
 * @param {boolean} learned
 */
function named(tensors, learned) {
  const entries = [...tensors].filter(([parameter]) => parameter.learned === learned);
  return Object.freeze(Object.fromEntries(entries.map(([{ name }, tensor]) => [name, tensor])));
}

/** @param {string} name as C has it */
function camelCase(name) {
  return name.replace('nonf', 'nonF').replace(/_./g, (part) => part[1].toUpperCase());
}

/**
 * @param {unknown} init
 * @returns {{ seed: number, weights: unknown, layout: import('./types.js').Layout }}
 */
function initOf(init) {
  const table = { seed: check.word, weights: null, layout: ['out_in', 'in_out'] };
  const { seed, weights, layout = 'out_in' } = check.options('init', init, table, 'option', 'init.');
  if (weights !== undefined && seed !== undefined) {
    throw new AddnormError('INVALID_ARGUMENT', 'init: expected seed or weights, got both');
  }
  return { seed: seed ?? 0, weights, layout };
}

/**
 * A field's value as the module takes it.
 * @param {Engine} engine
 * @param {Field} field
 * @param {unknown} value null: auto
 * @param {readonly string[]} known the names that may be given
 * @returns {number}
 */
function encode(engine, field, value, known) {
  const what = `config.${field.name}`;
  if (value === null) return NaN;
  if (field.options) return numberOf(what, engine.lists.numbers[field.type], value);
  if (field.type === 'bool') return Number(check.boolean(what, value));
  // Layer 0 is the whole stack, which has a name of its own here.
  const min = field.name === 'layer' && known.includes('layer') ? 1 : field.min;
  return (field.type === 'int' ? check.integer : check.number)(what, value, min, field.max);
}
