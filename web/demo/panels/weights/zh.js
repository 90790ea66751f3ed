// 真实权重面板的中文文字。

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
// 汉字与西文之间留空。
const spaced = (name) => (/^\w/.test(name) ? ` ${name} ` : name);

export default {
  title: '真实权重',
  choose: '选择权重文件…',
  drop: '也可把 .safetensors、.gguf 或 .onnx 文件拖到页面任意位置',
  reads: '文件大小不限：只读取文件头和所选一层的张量。支持 F32、F16、BF16，GGUF 另支持 Q8_0 与 Q4_0。',
  privacy: '文件只在本浏览器中读取，不会上传。',
  examples: '示例',
  opening: (name) => `正在读取 ${name} 的文件头……`,
  stop: '停止',
  close: (name) => `关闭 ${name}`,
  show: '展开',
  hide: '收起',
  layersOf: (verb, name) => `${verb} ${name} 的层`,
  needed: (letters, file) =>
    `${letters.join('、')} 需要文件 ${file}，链接中不含权重：请选择该文件，或拖到页面上。其余配置照常运行。`,
  missing: '需要文件。',
  file: {
    tensors: (_, shown) => `${shown} 个张量`,
    metadata: (n) => `元数据（${n}）`,
    key: '键',
    value: '值',
    layers: (n, usable) => (n === usable ? `${n} 个前馈层` : `${n} 个前馈层，其中 ${usable} 个可用`),
    noLayers: '文件中没有找到前馈层。',
    noLayersHow: {
      names:
        '前馈层按常见模型系列（BERT、GPT-2、Llama、T5、ViT 等）的张量名查找，否则按并列的两三个形状吻合的矩阵查找。',
      graph: '在 ONNX 中，前馈层是两次与常量矩阵的乘积（先 up 再 down），中间只有逐元素的算子。',
      quantised: (ops) => `该计算图使用量化矩阵（${ops}），此处不支持。`,
    },
    find: '查找层',
    shown: (n, total) => `列出 ${total} 层中的 ${n} 层，其余可按名称查找。`,
    layer: '层',
    block: '块',
    size: 'd_model × d_ff',
    type: '类型',
    bytes: '转为 float32',
    used: '使用者',
    add: '添加',
    addLong: (key) => `把 ${key} 添加为新配置`,
    use: (key) => `使用 ${key}`,
    full: (limit) => `最多 ${limit} 个配置。`,
    noNorm: '无归一化',
    without: (norm, symbols) => `${norm}（文件中没有 ${symbols}）`,
    initial: (norm, symbols) => `${norm}（${symbols} 为初始值）`,
    unused: (names) =>
      `在名称未知的矩阵旁，文件中有归一化 ${names.join('、')}，无法确定哪一个属于该层，因此都未使用：γ = 1，β = 0。`,
    doubts: {
      open_clip: 'QuickGELU 是 OpenAI 原版模型的激活函数；open_clip 训练的模型张量名相同，但多用 GELU（erf）。',
    },
    guess: (families) =>
      `文件只含张量，不含其用法：激活函数、归一化、ε 及归一化位置取自${spaced(families)}模型的惯例，是根据张量名所作的推测；如不相符，请在配置中修改。`,
    guessEps: (families) =>
      `ε 取自文件；激活函数、归一化及其位置取自${spaced(families)}模型的惯例，是根据架构名所作的推测；如不相符，请在配置中修改。`,
    unknownFamily: '类似',
    fromGraph: '激活函数、归一化与残差连接均取自计算图；激活函数按函数值识别。',
  },
  weights: {
    title: '权重',
    of: (name) => `${name} 的权重`,
    note: '各区间的占比，每个矩阵以自身的均方根为单位；虚线为正态分布',
    outside: (n) => `${n} 个值在坐标轴之外`,
    axis: '权重 ÷ 均方根',
    bin: '起点',
    normal: '正态',
    tensor: '张量',
    inFile: '文件中的名称',
    shape: '形状',
    type: '类型',
    rms: '均方根',
    largest: '最大 |w|',
    ratio: '÷ 均方根',
    outliers: '> 6 倍均方根',
    zeros: '零值',
    kurtosis: '峰度',
    nonFinite: '非有限值',
    tableTitle: '权重的统计量',
    tableNote: '正态分布的峰度为 3，其中超过 6 倍均方根的约占十亿分之二',
    broken: (tensors) => `${tensors} 含有非有限值，凡与之相乘的结果都会变成 NaN。`,
    log: '对数',
    logLong: '占比用对数坐标',
  },
  activity: {
    title: '隐藏单元的激活频率',
    note: (tokens) => `按单元的预激活值在 ${tokens} 个随机词元中大于 0 的比例统计`,
    noteFile: (tokens) => `按单元的预激活值在文件的 ${tokens} 行中大于 0 的比例统计`,
    axis: '词元的比例',
    units: '个单元',
    from: '激活比例',
    summary: (never, share, always) => `从不激活：${never}（${share}）；始终激活：${always}`,
    reasons: {
      large: '未计算：若记录这么大的块的内部各步，权重会占用双份内存。',
      'two-sided': '这个激活函数没有使单元不激活的一侧。',
    },
  },
  compare: {
    title: '同样的权重，不同的结构',
    note: '输入相同，与模型原有结构的输出相比',
    swap: '更换',
    swapNote: '点击即添加一个配置：权重相同，只改一项。',
    configuration: '配置',
    changed: '改动',
    asIs: '无',
    output: '‖Δy‖ ÷ ‖y‖',
    outputCosine: 'y 的余弦',
    branch: '‖ΔF‖ ÷ ‖F‖',
    branchCosine: 'F 的余弦',
    rms: 'y 的均方根',
    zero: '–：两个向量之一为 0，没有夹角可言',
    none: '还没有配置使用这些权重。',
    add: '添加',
    more: (n) => `另外 ${n} 项`,
    names: {
      norm: { none: '无归一化' },
      placement: { pre: 'Pre-Norm', post: 'Post-Norm' },
      residual: '无残差连接',
    },
  },
  explain:
    'y 是整个块的输出，F 是分支加到残差流上的部分。模型的权重只适合一种归一化、一种激活函数和一种归一化位置：表中给出更换其中一项后输出改变多少。输入是随机数，不是模型的真实输入；真实激活值在少数通道上明显更大，输出的改变可能与此不同。',
  sources: 'Transformer 训练后的离群值：',
  errors: {
    EMPTY: () => '文件为空。',
    INDEX: ({ files, more }) =>
      `这是索引，权重在 ${files.join('、')}${more > 0 ? ` 等 ${files.length + more} 个文件` : ''} 中。请选择其中一个文件。`,
    READ: ({ message }) => `文件无法读取，或在选择之后有过改动（${message}）。请重新选择。`,
    UNRELATED: ({ kind, bytes: first, expected }, kinds) =>
      `不是此处支持的权重文件：${kind ? kinds[kind] : `文件以 ${first} 开头`}。${
        expected
          ? `.${expected} 文件的开头应为${{ safetensors: ' 8 字节的文件头长度和 {', gguf: ' GGUF', onnx: ' protobuf 消息' }[expected]}。`
          : '应为 .safetensors、.gguf 或 .onnx。'
      }`,
    TRUNCATED: ({ expected, got }) =>
      `文件不完整，或文件头已损坏：据文件头至少应有 ${bytes(expected)}，实有 ${bytes(got)}。`,
    CUT: ({ missing, tensors }) => `文件不完整：张量共 ${bytes(tensors)}，缺少最后 ${bytes(missing)}。`,
    HEADER_SIZE: ({ bytes: size, limit }) => `文件头长达 ${bytes(size)}，最多读取 ${bytes(limit)}。`,
    HEADER: ({ reason }, _, reasons) => `文件头无法解析：${reasons[reason] ?? reason}。`,
    VERSION: ({ version }) => `GGUF 版本为 ${version}，仅支持 2 和 3。`,
    BIG_ENDIAN: () => '这是大端序的 GGUF 文件，仅支持小端序。',
    TENSOR: ({ name, reason }, _, reasons) => `张量 ${name || '（无名称）'}：${reasons[reason] ?? reason}。`,
    OVERLAP: ({ name, other }) => `张量 ${name} 与 ${other} 重叠。`,
    PROTOBUF: ({ at, reason }, _, reasons) =>
      `不是有效的 ONNX 文件：第 ${at} 字节处${reasons[reason] ?? reason}。ONNX 文件是含有计算图的 protobuf 消息。`,
    TYPE: ({ name, dtype }) => `${name} 的类型为 ${dtype}，仅支持 F32、F16、BF16、Q8_0 与 Q4_0。`,
    TOO_LARGE: ({ name, bytes: size, limit }) => `${name} 转为 float32 需 ${bytes(size)}，此处上限为 ${bytes(limit)}。`,
    MEMORY: ({ name, bytes: size }) => `浏览器无法为 ${name} 分配 ${bytes(size)}。`,
    EXTERNAL: ({ name, location }) =>
      `${name} 不在此文件中，而在 ${location} 中（ONNX 外部数据），此处不支持：请把张量存入模型文件，onnx.save_model(model, path, save_as_external_data=False)。`,
    INCOMPLETE: ({ missing }) => `此文件不含 ${missing.join('、')}，可能在模型的其他分片中。`,
    SHAPE: ({ name, shape: given, expected }) => `${name} 的形状为 ${shape(given)}，与 ${shape(expected)} 不符。`,
    FUNCTION: ({ ops }) => `两次乘积之间的运算（${ops}）不是本模块的任何激活函数。`,
    NEEDED: ({ file }) => `这些权重在文件 ${file} 中：请在“真实权重”面板中选择，或拖到页面上`,
    OTHER: ({ file, layer }) => `已打开的文件 ${file} 中没有这种形状的层 ${layer}`,
  },
  kinds: {
    lfs: '这是 Git LFS 的指针，只有几行文字；请用 git lfs pull 取得文件本身',
    zip: '这是 ZIP 压缩包，PyTorch 的 .pt、.bin 与 NumPy 的 .npz 均属此类；请另存为 .safetensors',
    pickle: '这是 Python pickle，PyTorch 旧版的 .pt、.bin 属此类；请另存为 .safetensors',
    hdf5: '这是 HDF5 文件，Keras 的 .h5 属此类',
    tflite: '这是 TensorFlow Lite 模型',
    ggml: '这是 GGUF 之前的 llama.cpp 文件，请转换为 GGUF',
    numpy: '这是 NumPy 数组，可在其他面板中作为输入',
    html: '这是网页，下载需要登录时常会得到这样的文件',
    json: '这是 JSON 文本',
    image: '这是图片',
    pdf: '这是 PDF',
    gzip: '这是 gzip 压缩包',
    wasm: '这是 WebAssembly 模块',
  },
  reasons: {
    utf8: '不是 UTF-8',
    json: '不是 JSON 对象',
    deep: '嵌套过深',
    rest: '张量之后还有多余的字节',
    alignment: '对齐值不合理',
    many: '条目多于任何模型',
    number: '含有超出任何大小的数',
    name: '名称超过 1024 字节',
    valueType: '含有未知类型的值',
    entry: '条目不是对象',
    dtype: '类型不是文本',
    shape: '形状不是一列大小',
    offsets: '位置与形状、类型不符',
    gap: '之前的字节不属于任何张量',
    block: '行长不是该类型分块的整数倍',
    aligned: '位置未对齐',
    twice: '名称重复',
    names: '有两个张量同名',
    bytes: '数据与形状、类型不符',
    parts: '存储方式不受支持',
    field: '字段没有编号',
    wire: '字段种类未知',
    length: '字段长于所在的消息',
    varint: '数字没有结尾',
    long: '名称过长',
    graph: '开始的内容不是模型，其中没有计算图',
  },
};
