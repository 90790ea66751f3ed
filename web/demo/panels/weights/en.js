// The Weights panel in English. Every key stands in zh.js too.

const bytes = (n) => {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let value = n;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${Number(value.toPrecision(3))}\u202f${units[unit]}`;
};
const shape = (sizes) => `[${sizes.join(', ')}]`;

export default {
  title: 'Weights',
  choose: 'Choose a weights file…',
  drop: 'Drop a .safetensors, .gguf or .onnx file anywhere on this page',
  reads:
    'A file of any size: the header and the tensors of one layer are read, nothing else. F32, F16 and BF16; in GGUF also Q8_0 and Q4_0.',
  privacy: 'It is read in this browser and sent nowhere.',
  examples: 'Example',
  opening: (name) => `Reading the header of ${name}…`,
  stop: 'Stop',
  close: (name) => `Close ${name}`,
  show: 'Show',
  hide: 'Hide',
  layersOf: (verb, name) => `${verb} the layers of ${name}`,
  needed: (letters, file) =>
    `${letters} ${letters.length > 1 ? 'need' : 'needs'} the file ${file}, which a link does not bring along: choose it or drop it here. All others run.`,
  missing: 'The file is needed.',
  file: {
    tensors: (n, shown) => `${shown} ${n === 1 ? 'tensor' : 'tensors'}`,
    metadata: (n) => `Metadata (${n})`,
    key: 'key',
    value: 'value',
    layers: (n, usable) =>
      n === usable
        ? `${n} feed-forward ${n === 1 ? 'layer' : 'layers'}`
        : `${n} feed-forward ${n === 1 ? 'layer' : 'layers'}, ${usable} of them can be used`,
    noLayers: 'No feed-forward layer was found in it.',
    noLayersHow: {
      names:
        'Layers are found by the names that the common families use (BERT, GPT-2, Llama, T5, ViT and others), else by two or three matrices beside each other whose shapes fit.',
      graph:
        'In ONNX a layer is two products with constant matrices, there and back, with nothing but operators on single elements between them.',
      quantised: (ops) => `This graph computes with quantised matrices (${ops}), which are not read.`,
    },
    find: 'Find a layer',
    shown: (n, total) => `${n} of ${total} are listed: the name finds the others.`,
    layer: 'layer',
    block: 'block',
    size: 'd_model × d_ff',
    type: 'type',
    bytes: 'as float32',
    used: 'used by',
    add: 'Add',
    addLong: (key) => `Add ${key} as another configuration`,
    use: (key) => `Use ${key}`,
    full: (limit) => `At most ${limit} configurations.`,
    noNorm: 'no norm',
    without: (norm, symbols) => `${norm} (${symbols} not in this file)`,
    initial: (norm, symbols) => `${norm} (initial ${symbols})`,
    unused: (names) =>
      `Beside matrices of unknown names the file has norms (${names.join(', ')}). Which of them belongs to a layer is not known, so none is used: γ = 1, β = 0.`,
    doubts: {
      open_clip:
        'QuickGELU is what OpenAI’s own models have; most that open_clip trained have the same names and GELU (erf).',
    },
    guess: (families) =>
      `The file holds tensors, not how they are used: activation, norm, its ε and its place are what ${families} models do, a guess from the tensors’ names. Change them in the inspector where they are wrong.`,
    guessEps: (families) =>
      `ε is the file’s; activation, norm and its place are what ${families} models do, a guess from the architecture’s name. Change them in the inspector where they are wrong.`,
    unknownFamily: 'similar',
    fromGraph:
      'Activation, norm and residual addition are read off the graph; the activation is recognised by its values.',
  },
  weights: {
    title: 'Weights',
    of: (name) => `Weights of ${name}`,
    note: 'share per bin, each matrix in units of its own RMS; dashed: a normal distribution',
    outside: (n) => `${n} outside the axis`,
    axis: 'weight ÷ RMS',
    bin: 'from',
    normal: 'normal',
    tensor: 'tensor',
    inFile: 'in the file',
    shape: 'shape',
    type: 'type',
    rms: 'RMS',
    largest: 'largest |w|',
    ratio: '÷ RMS',
    outliers: '> 6 RMS',
    zeros: 'zero',
    kurtosis: 'kurtosis',
    nonFinite: 'not finite',
    tableTitle: 'Figures of the weights',
    tableNote: 'kurtosis of a normal distribution: 3; of its values 2 in 10⁹ are beyond 6 RMS',
    broken: (tensors) => `Not finite numbers in ${tensors}: whatever they meet becomes NaN.`,
    log: 'log',
    logLong: 'Share on a logarithmic scale',
  },
  activity: {
    title: 'How often a hidden unit is active',
    note: (tokens) => `units by the share of ${tokens} seeded tokens at which their pre-activation is above 0`,
    noteFile: (tokens) => `units by the share of the file’s ${tokens} rows at which their pre-activation is above 0`,
    axis: 'share of tokens',
    units: 'units',
    from: 'active at',
    summary: (never, share, always) => `never active: ${never} (${share}); always: ${always}`,
    reasons: {
      large: 'Not computed: the steps inside a block of this size would hold its weights a second time.',
      'two-sided': 'This activation has no side on which a unit would be inactive.',
    },
  },
  compare: {
    title: 'The same weights, wired otherwise',
    note: 'distance to the output of the model’s own block, for the same input',
    swap: 'Swap',
    swapNote: 'Each adds a configuration with these weights and one thing changed.',
    configuration: 'configuration',
    changed: 'changed',
    asIs: 'nothing',
    output: '‖Δy‖ ÷ ‖y‖',
    outputCosine: 'cosine of y',
    branch: '‖ΔF‖ ÷ ‖F‖',
    branchCosine: 'cosine of F',
    rms: 'RMS of y',
    zero: '–: one of the two vectors is 0, so there is no angle between them',
    none: 'No configuration has these weights yet.',
    add: 'Add it',
    more: (n) => `${n} more fields`,
    names: {
      norm: { none: 'no norm' },
      placement: { pre: 'Pre-Norm', post: 'Post-Norm' },
      residual: 'no residual',
    },
  },
  explain:
    'y is the output of the whole block, F what the branch adds to the stream. A model’s weights fit one norm, one activation and one place of the norm: the table shows how much of the output hangs on each. The input is seeded, not the model’s own; real activations are larger in a few channels, and how far outputs move then may differ.',
  sources: 'Outliers in trained Transformers: ',
  errors: {
    EMPTY: () => 'The file is empty.',
    INDEX: ({ files, more }) =>
      `An index: the weights themselves are in ${files.join(', ')}${more > 0 ? ` and ${more} more` : ''}. Choose one of these files.`,
    READ: ({ message }) => `The file cannot be read, or has changed since it was chosen (${message}). Choose it again.`,
    UNRELATED: ({ kind, bytes: first, expected }, kinds) =>
      `Not a file of weights that is read here: ${kind ? kinds[kind] : `it begins with ${first}`}. ${
        expected
          ? `As .${expected} it should begin with ${{ safetensors: 'the length of its header, 8 bytes, and {', gguf: 'GGUF', onnx: 'a protobuf message' }[expected]}.`
          : 'Expected: .safetensors, .gguf or .onnx.'
      }`,
    TRUNCATED: ({ expected, got }) =>
      `The file is cut off, or its header is broken: by what it says it has at least ${bytes(expected)}, and it has ${bytes(got)}.`,
    CUT: ({ missing, tensors }) =>
      `The file is cut off: of ${bytes(tensors)} of tensors the last ${bytes(missing)} are missing.`,
    HEADER_SIZE: ({ bytes: size, limit }) => `Its header would have ${bytes(size)}; at most ${bytes(limit)} are read.`,
    HEADER: ({ reason }, _, reasons) => `Its header cannot be read: ${reasons[reason] ?? reason}.`,
    VERSION: ({ version }) => `GGUF version ${version}; versions 2 and 3 are read.`,
    BIG_ENDIAN: () => 'A big-endian GGUF file; little-endian ones are read.',
    TENSOR: ({ name, reason }, _, reasons) => `Tensor ${name || '(without a name)'}: ${reasons[reason] ?? reason}.`,
    OVERLAP: ({ name, other }) => `Tensor ${name} overlaps ${other}.`,
    PROTOBUF: ({ at, reason }, _, reasons) =>
      `Not a valid ONNX file: at byte ${at} ${reasons[reason] ?? reason}. ONNX is a protobuf message with a graph in it.`,
    TYPE: ({ name, dtype }) => `${name} has the type ${dtype}; F32, F16, BF16, Q8_0 and Q4_0 are read.`,
    TOO_LARGE: ({ name, bytes: size, limit }) =>
      `${name} would take ${bytes(size)} as float32; at most ${bytes(limit)} are taken here.`,
    MEMORY: ({ name, bytes: size }) => `The browser gives no ${bytes(size)} for ${name}.`,
    EXTERNAL: ({ name, location }) =>
      `${name} is not in this file but in ${location} (ONNX external data), which is not supported: save the model with its tensors inside, onnx.save_model(model, path, save_as_external_data=False).`,
    INCOMPLETE: ({ missing }) =>
      `${missing.join(', ')} ${missing.length > 1 ? 'are' : 'is'} not in this file; it may be in another part of the model.`,
    SHAPE: ({ name, shape: given, expected }) =>
      `${name} has the shape ${shape(given)}, which does not fit ${shape(expected)}.`,
    FUNCTION: ({ ops }) => `What is between its products (${ops}) is none of the module’s activations.`,
    NEEDED: ({ file }) => `These weights are in the file ${file}: choose it in the Weights panel, or drop it here`,
    OTHER: ({ file, layer }) => `The file ${file} that is open has no layer ${layer} of this shape`,
  },
  kinds: {
    lfs: 'a pointer of Git LFS, a few lines in place of the file; get the file itself with git lfs pull',
    zip: 'a ZIP archive, as PyTorch’s .pt and .bin and NumPy’s .npz are; save it as .safetensors',
    pickle: 'a Python pickle, as PyTorch’s older .pt and .bin are; save it as .safetensors',
    hdf5: 'HDF5, as Keras’s .h5 is',
    tflite: 'a TensorFlow Lite model',
    ggml: 'a llama.cpp file from before GGUF; convert it to GGUF',
    numpy: 'a NumPy array: as an input it is read in the other panels',
    html: 'a web page, as a download that needs a login gives',
    json: 'JSON text',
    image: 'an image',
    pdf: 'a PDF',
    gzip: 'a gzip archive',
    wasm: 'a WebAssembly module',
  },
  reasons: {
    utf8: 'it is no UTF-8',
    json: 'it is no JSON object',
    deep: 'it is nested too deeply',
    rest: 'more bytes follow than its tensors have',
    alignment: 'its alignment is no sensible number',
    many: 'it has more entries than any model',
    number: 'it has a number beyond all sizes',
    name: 'it has a name of more than 1024 bytes',
    valueType: 'it has a value of an unknown type',
    entry: 'its entry is no object',
    dtype: 'its type is no text',
    shape: 'its shape is no list of sizes',
    offsets: 'its place does not fit its shape and type',
    gap: 'bytes before it belong to no tensor',
    block: 'its rows are no whole blocks of its type',
    aligned: 'its place is not aligned',
    twice: 'there are two of this name',
    names: 'two tensors have the same name',
    bytes: 'its numbers do not fit its shape and type',
    parts: 'it is stored in a way that is not read',
    field: 'a field has no number',
    wire: 'a field has an unknown kind',
    length: 'a field is longer than what it is in',
    varint: 'a number does not end',
    long: 'a name is too long',
    graph: 'begins no model: there is no graph in it',
  },
};
