// A module's exports called directly, without the JavaScript API: the limits of the engine, and single kernels.

/** The bytes behind an address, in a browser or in Node. */
export async function bytesOf(url) {
  if (url.startsWith('file:')) return (await import('node:fs')).readFileSync(new URL(url));
  return new Uint8Array(await (await fetch(url)).arrayBuffer());
}

async function instantiate(lib, variant) {
  const memory = new WebAssembly.Memory({ initial: 16, maximum: 65536 });
  const env = { memory };
  const { instance } = await WebAssembly.instantiate(await bytesOf(`${lib}addnorm.${variant}.wasm`), { env });
  const e = instance.exports;
  e._initialize?.();
  const text = (pointer) => {
    const rest = new Uint8Array(memory.buffer, pointer);
    return String.fromCharCode(...rest.subarray(0, rest.indexOf(0)));
  };
  const activations = Array.from({ length: e.an_activation_count() }, (_, i) => text(e.an_activation_name(i)));
  const floats = (pointer, n) => new Float32Array(memory.buffer, pointer, n);
  const alloc = (n) => e.malloc(4 * n) >>> 0;
  const put = (data) => {
    const pointer = alloc(data.length);
    floats(pointer, data.length).set(data);
    return pointer;
  };
  /** A job whose call returns an an_status, and its results. */
  const job = (blocks, run, results) => {
    if (run() !== 0) throw new Error('the kernel refuses its arguments');
    return {
      run,
      result: async () => results.map(([pointer, n]) => floats(pointer, n).slice()),
      dispose: () => blocks.forEach((block) => void e.free(block)),
    };
  };
  return { e, memory, floats, alloc, put, job, activationIndex: (name) => activations.indexOf(name) };
}

const makers = {
  activation({ e, alloc, put, job, activationIndex }, { activation, n, x }) {
    const [y, input, index] = [alloc(n), put(x), activationIndex(activation)];
    return job([y, input], () => e.an_activation_fwd(y, input, n, index, 0, 0), [[y, n]]);
  },
  linear({ e, alloc, put, job, activationIndex }, { rows, in: from, out, x, weight }) {
    const [y, input, w, none] = [alloc(rows * out), put(x), put(weight), activationIndex('identity')];
    const packed = e.malloc(e.an_linear_packed_bytes(from, out)) >>> 0;
    e.an_linear_pack(packed, w, 0, from, out);
    const run = () => e.an_linear_fwd(y, input, packed, 0, none, 0, 0, rows, from, out);
    return job([y, input, w, packed], run, [[y, rows * out]]);
  },
  /** With the weight packed before, as modules have it in training. */
  linear_backward({ e, floats, alloc, put, job }, { rows, in: from, out, x, weight, dy }) {
    const [dx, dw, input, gradient, w] = [alloc(rows * from), alloc(out * from), put(x), put(dy), put(weight)];
    const packed = e.malloc(e.an_linear_packed_bytes(out, from)) >>> 0;
    e.an_linear_pack(packed, w, 1, out, from);
    const bytes = e.an_linear_bwd_workspace_bytes(rows, from, out);
    const room = e.malloc(bytes) >>> 0;
    const run = () => e.an_linear_bwd(dx, dw, 0, input, gradient, packed, room, bytes, 0, rows, from, out);
    const result = job([dx, dw, input, gradient, w, packed, room], run, [
      [dx, rows * from],
      [dw, out * from],
    ]);
    const { result: read } = result;
    result.result = () => {
      floats(dw, out * from).fill(0); // it is added to
      run();
      return read();
    };
    return result;
  },
};

/** The kernels of one variant as a system of the suite. */
export async function create({ lib, variant }) {
  const own = await instantiate(lib, variant);
  return {
    name: `addnorm ${variant}, kernel`,
    note: 'the exported function itself, everything in wasm memory, weights packed before',
    make: async (spec) => makers[spec.op]?.(own, spec) ?? null,
    dispose() {},
  };
}

/** What the engine can do at most, by the module of one variant: jobs, each with its work. */
export async function limits({ lib, variant }) {
  const { e, memory, floats, alloc } = await instantiate(lib, variant);
  const steps = 20_000;
  const block = (bytes) => {
    const pointer = alloc(bytes / 4);
    floats(pointer, bytes / 4).fill(1);
    return pointer;
  };
  return {
    peak: () => ({
      work: { flops: e.an_limit_multiply_add(steps), bytes: 0 },
      run: () => void e.an_limit_multiply_add(steps),
      dispose() {},
    }),
    read(bytes) {
      const pointer = block(bytes);
      return {
        work: { flops: 0, bytes },
        run: () => void e.an_limit_read(pointer, bytes / 4),
        dispose: () => e.free(pointer),
      };
    },
    /** So many bytes read and written together. */
    copy(bytes) {
      const pointer = block(bytes);
      const view = new Uint8Array(memory.buffer, pointer, bytes);
      const half = bytes / 2;
      const job = { work: { flops: 0, bytes }, run: () => void job.view.copyWithin(half, 0, half), view };
      // Memory that has grown since has another buffer.
      job.renew = () => {
        job.view = new Uint8Array(memory.buffer, pointer, bytes);
      };
      job.dispose = () => e.free(pointer);
      return job;
    },
  };
}
