// 导览的中文文字，导览开始时才加载。每一站：title 标题；told 通常的说法；see 面板上是什么；rows 测得的数值；holds 这一说法在此成立多少，
// 若为函数，则随测得的数值而定（尚未测得时 m 为 null）。
const SIZES = '训练的是六个宽度为 32 的块；计时的是一个宽度为 128 的块，输入 256 个词元。';

export default {
  further: { mixing: '按均值混合词元', warmup: '不加预热，训练二者' },
  training: (steps, end) => `训练中，第 ${steps} / ${end} 步……`,
  // 从某一站再往前一步，卡片上也有数值的。
  beyond: {
    warmup: {
      see: 'A（Post-Norm）和 B（Pre-Norm）学习区分螺旋：20 个块，学习率 0.007，没有预热。',
      rows: (m, f) => [
        ...[m.post, m.pre].map(({ first, now }, i) => [
          ['A，梯度，首块 ÷ 末块', 'B，同上'][i],
          `第 1 步 ${f.number(first)}，最后十步 ${f.number(now)}`,
        ]),
        ['留出数据上的准确率', `A ${f.number(m.scores[0])}，B ${f.number(m.scores[1])}`],
      ],
      holds: (m) => {
        if (!m) return 'A 的梯度会消失吗？何时消失？';
        const [post, pre] = m.vanished;
        if (!post)
          return '在这次训练中，A 的梯度没有消失。决定因素是最初几步的大小与深度之积：块更多或学习率更高，它就会消失。';
        return `第 1 步时 A 的梯度还在，之后消失了：最初几步让每个权重都移动整个学习率那么多，所有输入变得相似。B 的残差流绕过归一化，它的梯度${pre ? '也消失了' : '保留了下来'}。`;
      },
    },
  },
  stops: [
    {
      title: '为什么要残差连接？',
      told: '通常认为：若没有绕过各块的通路，深层堆叠的梯度会消失，因为每经过一块，梯度都要乘上该块权重所能传过的比例。',
      see: 'A 没有残差连接，B 有；两者都没有归一化。',
      rows: (m, f) => [
        ['A，x 的梯度，首块 ÷ 末块', `${f.ratio(m.without)}，预测 ${f.number(m.predicted)}`],
        ['B，x 的梯度，首块 ÷ 末块', f.ratio(m.with)],
        ['B，残差流均方根，末 ÷ 首', f.ratio(m.growth)],
      ],
      holds: '确实如此。但这条通路也有代价：分支加进来的量不受限制，B 的残差流和梯度都随深度增长。',
    },
    {
      title: '为什么要归一化？',
      told: '通常认为：无论堆叠多深，归一化都能让信号的大小保持不变。',
      see: 'A 没有归一化；B 在每个前馈网络之前归一化（Pre-Norm）；C 在每次相加之后归一化（Post-Norm）。',
      rows: (m, f) => [
        ['A，残差流均方根，末 ÷ 首', f.ratio(m.none)],
        ['B，同上', `${f.ratio(m.pre)}，预测 ${f.number(m.predicted)}`],
        ['C，同上', f.ratio(m.post)],
      ],
      holds: '只有 Post-Norm 让残差流的大小保持不变。Pre-Norm 归一化的是分支读到的量，残差流仍大致按深度的平方根增长。',
    },
    {
      title: 'Pre 还是 Post？',
      told: '通常认为：Post-Norm 的梯度越靠近输入越小，所以需要预热。',
      see: 'A 是 Post-Norm，B 是 Pre-Norm，均为初始权重。',
      rows: (m, f) => [
        ['A，x 的梯度，首块 ÷ 末块', f.ratio(m.post)],
        ['B，同上', f.ratio(m.pre)],
        ['末块 W₂ 的梯度，A ÷ B', `${f.ratio(m.last)}，预测 ${f.number(m.predicted)}`],
      ],
      holds:
        '只含前馈网络的堆叠，梯度并不消失：A 的梯度朝输入方向甚至略有增长。Xiong 等人证明的是：末块的梯度比 Pre-Norm 的更大，即第三个数值。不加预热，Post-Norm 确实可能训练失败，但在本项目的训练中，原因是最初几步更新过大，使所有词元变得相同；梯度是在那之后才消失的，而不是之前。',
    },
    {
      title: '为什么是四倍？',
      told: '自 2017 年以来，几乎所有非门控的前馈网络，隐藏层宽度都是残差流宽度的四倍。Vaswani 等人为 512 选了 2048，没有说明理由。',
      see: `四种隐藏层宽度（d_ff）拟合同一个随机网络的输出：数据、学习率和步数都相同。${SIZES}`,
      rows: (m, f) => [
        ...['A，1 倍', 'B，2 倍', 'C，4 倍', 'D，8 倍'].map((name, i) => [
          name,
          `R² ${f.score(m.scores[i])}，${f.count(m.parameters[i])} 个参数`,
        ]),
        ['单次前向', m.times?.map((time, i) => `${'ABCD'[i]} ${f.time(time)}`).join('，')],
        ['时间，D ÷ A', m.longer && f.ratio(m.longer)],
      ],
      holds: (m, f) => {
        const time = m?.longer && `；宽度为八倍，时间为 ${f.number(m.longer.median)} 倍`;
        const here = m?.range >= 0 ? `四者的 R² 相差不超过 ${f.number(m.range, 2)}${time || ''}。` : '';
        return `只有一个任务、一个种子、一个学习率，不能当作定律。${here}Kaplan 等人发现：参数量相同时，这一比例在很大范围内变动，损失只变化百分之几。`;
      },
    },
    {
      title: '为什么要门控？',
      told: '参数量相同时，门控前馈网络的损失更低。测得这一点的 Shazeer 没有给出解释，只归功于“神的恩惠”（divine benevolence）。',
      see: `A 是 4 倍宽的 GELU；B（GEGLU）和 C（SwiGLU）多一个矩阵，因此宽度为三分之二。${SIZES}`,
      rows: (m, f) => [
        ...['A，GELU', 'B，GEGLU', 'C，SwiGLU'].map((name, i) => [
          name,
          `R² ${f.score(m.scores[i])}，${f.count(m.parameters[i])} 个参数`,
        ]),
        ['单次前向', m.times?.map((time, i) => `${'ABC'[i]} ${f.time(time)}`).join('，')],
        ['时间，B ÷ A', m.geglu && f.ratio(m.geglu)],
        ['时间，C ÷ A', m.swiglu && f.ratio(m.swiglu)],
      ],
      holds: (m) => {
        const seed = '只有一个任务、一个种子，请换一个种子看看排序是否不变。';
        if (!m) return seed;
        const order = ['这里两种门控都不优于 A。', '这里两种门控有一种优于 A。', '这里两种门控都优于 A。'];
        const than = (one, outcome, other) =>
          ({
            less: `${one}比 ${other} 快`,
            same: `${one}与 ${other} 用时相当（差别在离散程度之内）`,
            more: `${one}比 ${other} 慢`,
          })[outcome];
        const time =
          m.times &&
          `${than('B 与 A 只差门控，', m.geglu.outcome, 'A')}：多一个矩阵，但要算的激活值少三分之一。${than('C 以 SiLU 代替 GELU，', m.silu.outcome, 'B')}。`;
        return `${order[m.ahead]}${seed}${time || ''}`;
      },
    },
    {
      title: '为什么用 RMSNorm？',
      told: 'RMSNorm 省去了均值。Zhang 和 Sennrich 报告整个模型的运行时间减少 7 至 64 %。',
      see: '同一个块，A 用 LayerNorm，B 用 RMSNorm，交替测量。',
      rows: (m, f) => [
        ['A，单次前向', f.time(m.layer)],
        ['B，单次前向', f.time(m.rms)],
        ['B 节省', `${f.percent(m.saved)}，离散程度 ${f.percent(m.spread)}`],
      ],
      holds: (m) =>
        ({
          unknown: '块的计算主要是矩阵乘法，归一化只占一小部分，所以省不了多少。',
          less: '这就是它在这里省下的时间。块的计算主要是矩阵乘法，归一化只占一小部分，所以省不了多少。',
          same: '差别小于测量的离散程度：块的计算主要是矩阵乘法，归一化几乎不占时间。RMSNorm 的好处在于少算一些而效果相当。',
          more: '在这里没有省下时间；请在空闲的机器上再测一次。块的计算主要是矩阵乘法，归一化只占一小部分。',
        })[m?.outcome ?? 'unknown'],
    },
    {
      title: 'DeepNorm',
      told: 'DeepNorm 在归一化之前把残差流乘以 α，并按 β 缩小分支的权重。作者用它训练了 1000 层。',
      see: '48 个块：A 为 Post-Norm，B 为 DeepNorm，C 为 Pre-Norm。',
      rows: (m, f) => [
        ['末块 W₂ 的梯度，B ÷ A', `${f.ratio(m.byPost)}，预测 ${f.number(m.predicted)}`],
        ['B，W₂ 的梯度，首块 ÷ 末块', f.ratio(m.deep)],
        ['C，同上', f.ratio(m.pre)],
      ],
      holds:
        'B 与理论一样平坦，残差流保持为 1。它限制的是一次更新能让输出变动多少；1000 层能够学习是论文的结果，不是本页的。',
    },
    {
      title: 'DyT，以及完全不归一化',
      told: '通常认为：斜率可学习的 tanh 能代替归一化（DyT）；ReZero 没有归一化，每个分支前有一个初始为 0 的系数。',
      see: 'A 用 LayerNorm，B 用 DyT，C 用 ReZero，均为初始权重。',
      rows: (m, f) => [
        [
          '残差流均方根，末 ÷ 首',
          `A ${f.number(m.growth[0].median)}，B ${f.number(m.growth[1].median)}，C ${f.number(m.growth[2].median)}`,
        ],
        [
          'x 的梯度，首块 ÷ 末块',
          `A ${f.number(m.layer.median)}，B ${f.number(m.dyt.median)}，C ${f.number(m.rezero.median)}`,
        ],
        ['B，饱和的元素', f.percent(m.saturated.median)],
        ['C，所有 W 的梯度', m.still ? '0' : '不为 0'],
      ],
      holds:
        'DyT 并不归一化：输入变大，输出也变大，直到 tanh 饱和。ReZero 起初是恒等映射，只有系数在学习；它离开 0 之后权重才开始学习。DyT 在大模型上效果相当是论文的结果。',
    },
  ],
};
