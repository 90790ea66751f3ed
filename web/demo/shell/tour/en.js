// The guided tour in English, loaded when it begins. Of each stop: title; told, the claim; see, what is shown; rows, what
// was measured (m: as measures.js gives it, f: how figures are written; undefined: still to come); holds, what of the claim
// holds here, which a function says of what was measured (m is null before).
const SIZES = 'Trained are six blocks of width 32, timed is one of width 128 on 256 tokens.';

export default {
  further: { mixing: 'Mix tokens by their mean', warmup: 'Train both without warm-up' },
  training: (steps, end) => `training, step ${steps} of ${end}…`,
  // What a stop leads on to, where the card has figures for it.
  beyond: {
    warmup: {
      see: 'A (Post-Norm) and B (Pre-Norm) learn a spiral: 20 blocks, a rate of 0.007, no warm-up.',
      rows: (m, f) => [
        ...[m.post, m.pre].map(({ first, now }, i) => [
          ['A, gradient of block 1 ÷ last', 'B, the same'][i],
          `step 1: ${f.number(first)}, last ten: ${f.number(now)}`,
        ]),
        ['Accuracy, held out', `A ${f.number(m.scores[0])}, B ${f.number(m.scores[1])}`],
      ],
      holds: (m) => {
        if (!m) return 'Does A’s gradient vanish, and when?';
        const [post, pre] = m.vanished;
        if (!post)
          return 'A’s gradient has not vanished in this run. What decides is how large the first steps are, times the depth: more blocks or a higher rate make it vanish.';
        return `A’s gradient is there in step 1 and has vanished since: the first steps move every weight by the whole rate, and all inputs come to look alike. B, whose stream goes past the norms, ${pre ? 'has lost it too' : 'has kept it'}.`;
      },
    },
  },
  stops: [
    {
      title: 'Why residuals?',
      told: 'Without a path around its blocks a deep stack is said to lose its gradient: every block multiplies it by what its weights let through.',
      see: 'A has no such path, B has one. Neither has a norm.',
      rows: (m, f) => [
        ['A, gradient of x, first ÷ last', `${f.ratio(m.without)}, predicted ${f.number(m.predicted)}`],
        ['B, gradient of x, first ÷ last', f.ratio(m.with)],
        ['B, stream RMS, last ÷ first', f.ratio(m.growth)],
      ],
      holds:
        'That holds. But the path has a price: nothing limits what the branches add, so B’s stream and gradient grow with depth.',
    },
    {
      title: 'Why normalise?',
      told: 'A norm is said to keep the signal at one size, however deep the stack.',
      see: 'A has no norm, B one before each FFN (Pre-Norm), C one after each sum (Post-Norm).',
      rows: (m, f) => [
        ['A, stream RMS, last ÷ first', f.ratio(m.none)],
        ['B, the same', `${f.ratio(m.pre)}, predicted ${f.number(m.predicted)}`],
        ['C, the same', f.ratio(m.post)],
      ],
      holds:
        'Only Post-Norm does that to the stream. Pre-Norm normalises what a branch reads; the stream still grows, about like the root of the depth.',
    },
    {
      title: 'Pre or Post?',
      told: 'Post-Norm’s gradient is said to vanish towards the input, which is why it needs warm-up.',
      see: 'A is Post-Norm, B is Pre-Norm, as initialised.',
      rows: (m, f) => [
        ['A, gradient of x, first ÷ last', f.ratio(m.post)],
        ['B, the same', f.ratio(m.pre)],
        ['Gradient of the last W₂, A ÷ B', `${f.ratio(m.last)}, predicted ${f.number(m.predicted)}`],
      ],
      holds:
        'In a stack of FFNs alone the gradient does not vanish: A’s even grows a little towards the input. What Xiong et al. prove is that the last block’s is larger than Pre-Norm’s: the third figure. Without warm-up Post-Norm may well fail, but in this project’s runs because the first large steps make all tokens alike; the gradient vanishes after that, not before.',
    },
    {
      title: 'Why four times?',
      told: 'Since 2017 the hidden layer of nearly every FFN without a gate is four times as wide as the stream. Vaswani et al. chose 2048 for 512 and give no reason.',
      see: `Four widths of d_ff learn what a random network answers: same data, same rate, same steps. ${SIZES}`,
      rows: (m, f) => [
        ...['A, 1 ×', 'B, 2 ×', 'C, 4 ×', 'D, 8 ×'].map((name, i) => [
          name,
          `R² ${f.score(m.scores[i])}, ${f.count(m.parameters[i])} parameters`,
        ]),
        ['One forward pass', m.times?.map((time, i) => `${'ABCD'[i]} ${f.time(time)}`).join(', ')],
        ['Time, D ÷ A', m.longer && f.ratio(m.longer)],
      ],
      holds: (m, f) => {
        const time = m?.longer && `, and eight times the width takes ${f.number(m.longer.median)} times as long`;
        const here = m?.range >= 0 ? ` The four R² are within ${f.number(m.range, 2)} of each other${time || ''}.` : '';
        return `One task, one seed, one rate: this is no law.${here} At equal parameters Kaplan et al. find that the loss changes by a few percent over a wide range of the ratio.`;
      },
    },
    {
      title: 'Why gates?',
      told: 'Gated FFNs reach a lower loss with as many parameters. Shazeer, who measured it, offers no explanation and credits “divine benevolence”.',
      see: `A is GELU at 4 ×; B (GEGLU) and C (SwiGLU) have a third matrix, and so two thirds of the width. ${SIZES}`,
      rows: (m, f) => [
        ...['A, GELU', 'B, GEGLU', 'C, SwiGLU'].map((name, i) => [
          name,
          `R² ${f.score(m.scores[i])}, ${f.count(m.parameters[i])} parameters`,
        ]),
        ['One forward pass', m.times?.map((time, i) => `${'ABC'[i]} ${f.time(time)}`).join(', ')],
        ['Time, B ÷ A', m.geglu && f.ratio(m.geglu)],
        ['Time, C ÷ A', m.swiglu && f.ratio(m.swiglu)],
      ],
      holds: (m) => {
        const seed = 'One task and one seed, so look at whether the order stays with another seed.';
        if (!m) return seed;
        const order = [
          'No gate is ahead of A here.',
          'One of the two is ahead of A here.',
          'Both are ahead of A here.',
        ];
        const than = { less: 'less time than', same: 'within the spread as long as', more: 'more time than' };
        const time =
          m.times &&
          ` B, which is A with a gate, takes ${than[m.geglu.outcome]} A: a third matrix, but a third fewer activations. C, with SiLU in place of GELU, takes ${than[m.silu.outcome]} B.`;
        return `${order[m.ahead]} ${seed}${time || ''}`;
      },
    },
    {
      title: 'Why RMSNorm?',
      told: 'RMSNorm leaves out the mean. Zhang and Sennrich report 7 to 64 % less running time for whole models.',
      see: 'The same block with LayerNorm (A) and with RMSNorm (B), measured in turns.',
      rows: (m, f) => [
        ['A, one forward pass', f.time(m.layer)],
        ['B, one forward pass', f.time(m.rms)],
        ['B saves', `${f.percent(m.saved)}, spread ${f.percent(m.spread)}`],
      ],
      holds: (m) =>
        ({
          unknown: 'The norm is a small part of a block that is mostly matrix products, so it cannot be much.',
          less: 'That is what it saves here. The norm is a small part of a block that is mostly matrix products, so it cannot be much.',
          same: 'The difference is smaller than the spread: in a block that is mostly matrix products the norm hardly counts. RMSNorm’s appeal is that it does as well with less.',
          more: 'Here it saves nothing; measure again on a quiet machine. The norm is a small part of a block that is mostly matrix products.',
        })[m?.outcome ?? 'unknown'],
    },
    {
      title: 'DeepNorm',
      told: 'DeepNorm multiplies the stream by α before the norm and makes the branch’s weights smaller by β. Its authors trained 1000 layers with it.',
      see: '48 blocks: A Post-Norm, B DeepNorm, C Pre-Norm.',
      rows: (m, f) => [
        ['Gradient of the last W₂, B ÷ A', `${f.ratio(m.byPost)}, predicted ${f.number(m.predicted)}`],
        ['B, gradient of W₂, first ÷ last', f.ratio(m.deep)],
        ['C, the same', f.ratio(m.pre)],
      ],
      holds:
        'B is as flat as theory says, and its stream stays at 1. What it bounds is how far one update moves the output; that 1000 layers learn is the paper’s result, not one of this page.',
    },
    {
      title: 'DyT, and no norm at all',
      told: 'A tanh with a learned slope is said to do what a norm does (DyT); ReZero has no norm, and a factor of 0 before each branch.',
      see: 'A has LayerNorm, B DyT, C ReZero, as initialised.',
      rows: (m, f) => [
        [
          'Stream RMS, last ÷ first',
          `A ${f.number(m.growth[0].median)}, B ${f.number(m.growth[1].median)}, C ${f.number(m.growth[2].median)}`,
        ],
        [
          'Gradient of x, first ÷ last',
          `A ${f.number(m.layer.median)}, B ${f.number(m.dyt.median)}, C ${f.number(m.rezero.median)}`,
        ],
        ['B, saturated elements', f.percent(m.saturated.median)],
        ['C, gradients of all W', m.still ? '0' : 'not 0'],
      ],
      holds:
        'DyT normalises nothing: a larger input makes a larger output, until tanh saturates. At the start ReZero is the identity, and only its factor learns; the weights begin to once it has left 0. That DyT does as well in large models is the paper’s result.',
    },
  ],
};
