// 速度面板各部分的中文文本，键与 en.js 相同。
export default {
  title: '时间花在哪里',
  note: '各算子按块内的形状单独测量；下方是整个块',
  apart: '算子',
  whole: '整块',
  names: {
    mixing: '混合子层',
    norm: '归一化',
    products: '矩阵乘法',
    activation: '激活函数',
    add: '残差相加',
  },
  head: ['配置', '算子', '词元数', '单次耗时', '占整块时间', '速率'],
  explain:
    '各算子与整块轮流测量；中位数 ± 四分位距的一半。各算子之和可能超过整块：在块内，激活与相加处理的是仍在缓存中的结果。矩阵乘法以激活为恒等函数的 FFN 测得；混合子层是整块因它多花的时间。字节数按算子至少须读写的量计。',
  reasons: { large: '权重超过 1600 万：只测整块', error: '–' },
  norms: 'LayerNorm 与 RMSNorm 的比较',
  normsNote: '两种归一化各一次，词元数与块相同，均带各自的权重，轮流测量；差值以占该块耗时（见上）的百分比表示',
  normsHead: ['配置', '词元数 × 宽度', 'LayerNorm', 'RMSNorm', 'LayerNorm ÷ RMSNorm', '差值占整块时间'],
  unclear: '四分位区间重叠',
  unmeasured: '未测：权重超过 1600 万',
  sweeps: { rows: '时间与词元数', width: '时间与宽度' },
  sweepNotes: {
    rows: '该词元数的一次前向耗时，µs；对数刻度；中位数，色带为四分位之间',
    width: '64 个词元的一次前向耗时，µs，d_ff 按比例；对数刻度；中位数与四分位',
  },
  sizeHead: { rows: '词元数', width: 'd_model' },
  missing: {
    large: '权重超过 1600 万',
    long: '单次前向超过 0.3 GFLOP',
    impossible: '在这些大小上不存在这样的块',
  },
  at: { rows: (n) => `${n} 个词元：`, width: (n) => `宽度 ${n}：` },
  // 保存表格时的表头。
  calls: '块内次数',
  width: 'd_model',
  batches: '批数',
  repeats: '每批次数',
  remark: '备注',
};
