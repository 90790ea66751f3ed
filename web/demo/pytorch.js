// The block as PyTorch code: a module of the same wiring, norm, activation and initialisation. No DOM.
import { additions, hasNorm } from './fields.js';
import { activated, call, indented, klass, normOf, py, pyFloat } from './pytorch-parts.js';

/**
 * @param {object} values every field, with what auto stands for
 * @param {{ name: string, params: { name: string, default: number }[] }} activation the catalogue's entry
 * @param {string} title
 * @param {boolean} [trained] whether the page has trained weights for it
 * @returns {string} a whole file
 */
export function pytorchCode(values, activation, title, trained = false) {
  const norm = hasNorm(values) ? normOf(values) : null;
  const classes = [
    ...(norm?.code ? [norm.code] : []),
    ...(values.mixing === 'attention' ? [attention(values)] : values.mixing === 'mean' ? [meanMixing(values)] : []),
    feedForward(values, activation),
    block(values, norm),
  ];
  const body = classes.map((lines) => lines.join('\n')).join('\n\n\n');
  const imports = [...(/\bmath\./.test(body) ? ['import math', ''] : []), 'import torch', 'from torch import nn'];
  if (/\bF\./.test(body)) imports.push('from torch.nn import functional as F');
  const head = [
    `# ${title}: a block of x [batch, length, ${values.d_model}]. For PyTorch 2.4 and later.`,
    trained ? '# The trained weights are not in it.' : '# Initial weights are of the same distribution, drawn anew.',
  ];
  return `${[...head, ...imports].join('\n')}\n\n\n${body}\n\n\n${example(values)}\n`;
}

const example = ({ d_model }) =>
  [
    'if __name__ == "__main__":',
    ...indented([
      'block = Block()',
      `y = block(torch.randn(2, 16, ${d_model}))`,
      'print(tuple(y.shape), sum(p.numel() for p in block.parameters()))',
    ]),
  ].join('\n');

// ---- Branches

const linear = (from, to, bias) => call('nn.Linear', [String(from), String(to), !bias && 'bias=False']);

function feedForward(values, activation) {
  const { d_model: d, d_ff: ff, bias, gated, dropout } = values;
  const init = [
    ...(gated ? [`self.gate = ${linear(d, ff, bias)}`] : []),
    `self.up = ${linear(d, ff, bias)}`,
    `self.down = ${linear(ff, d, bias)}`,
    ...(dropout > 0 ? [`self.dropout = nn.Dropout(${py(dropout)})`] : []),
  ];
  const source = gated ? 'gate' : 'up';
  const act = activated(values, activation, source);
  const forward = [
    `${source} = self.${source}(x)`,
    gated ? `hidden = ${product(act)} * self.up(x)` : `hidden = ${act}`,
    `return self.down(${dropout > 0 ? 'self.dropout(hidden)' : 'hidden'})`,
  ];
  const about = gated ? 'down(activation(gate(x)) * up(x)).' : 'down(activation(up(x))).';
  return klass('FeedForward', `Feed-forward network: ${about}`, init, forward);
}

// Products bind alike from the left, so no brackets are needed but for a sum.
const product = (text) => (/ \+ /.test(text) && !text.startsWith('(') ? `(${text})` : text);

function attention({ d_model: d, heads, bias, causal, qk_norm }) {
  const init = [
    ...['query', 'key', 'value', 'out'].map((name) => `self.${name} = ${linear(d, d, bias)}`),
    ...(qk_norm ? ['query', 'key'].map((name) => `self.${name}_norm = nn.RMSNorm(${d / heads}, eps=1e-6)`) : []),
  ];
  const split = (name) => `self.split(self.${name}(x))`;
  const normed = (name) => (qk_norm ? `self.${name}_norm(${split(name)})` : split(name));
  const forward = [
    `query = ${normed('query')}`,
    `key = ${normed('key')}`,
    `value = ${split('value')}`,
    `x = ${call('F.scaled_dot_product_attention', ['query', 'key', 'value', causal && 'is_causal=True'])}`,
    'return self.out(x.transpose(1, 2).flatten(2))',
  ];
  const more = [
    'def split(self, x):',
    ...indented([
      `"""[batch, length, ${d}] to [batch, heads, length, ${d / heads}]"""`,
      `return x.unflatten(-1, (${heads}, ${d / heads})).transpose(1, 2)`,
    ]),
    '',
  ];
  return klass('Attention', `${causal ? 'Causal multi-head' : 'Multi-head'} self-attention.`, init, forward, more);
}

function meanMixing({ d_model: d, bias, causal }) {
  const init = ['value', 'out'].map((name) => `self.${name} = ${linear(d, d, bias)}`);
  const forward = causal
    ? [
        'count = torch.arange(1, x.shape[1] + 1, device=x.device)',
        'return self.out(self.value(x.cumsum(1) / count[:, None]))',
      ]
    : ['return self.out(self.value(x.mean(1, keepdim=True).expand_as(x)))'];
  return klass('Mean', causal ? 'Mean over this token and all before it.' : 'Mean over all tokens.', init, forward);
}

// ---- The block

const NEEDS_NORM = ['post', 'pre', 'deepnorm', 'peri', 'output', 'lns', 'layer_scale'];

function block(values, norm) {
  const mixes = values.mixing !== 'none';
  const sublayers = [
    ...(mixes
      ? [{ prefix: 'mixing_', branch: 'mixing', make: values.mixing === 'attention' ? 'Attention()' : 'Mean()' }]
      : []),
    { prefix: '', branch: 'ffn', make: 'FeedForward()' },
  ];
  const init = sublayers.flatMap((sublayer) => membersOf(values, norm, sublayer));
  if (values.residual_dropout > 0) init.push(`self.dropout = nn.Dropout(${py(values.residual_dropout)})`);
  const reset = resetOf(values, mixes);
  if (reset.length > 0) init.push('self.reset_parameters()');
  const forward = [...sublayers.map(({ prefix, branch }) => `x = ${wired(values, norm, prefix, branch)}`), 'return x'];
  const more = reset.length > 0 ? ['@torch.no_grad()', 'def reset_parameters(self):', ...indented(reset), ''] : [];
  const what = mixes ? 'A Transformer layer' : 'A feed-forward block';
  return klass(
    'Block',
    `${what}: placement ${values.placement}${values.residual ? '' : ', without residual'}.`,
    init,
    forward,
    more,
  );
}

function membersOf({ placement, d_model, alpha }, norm, { prefix, branch, make }) {
  const members = [];
  if (norm && NEEDS_NORM.includes(placement)) members.push(`self.${prefix}norm = ${norm.make}`);
  if (norm && placement === 'peri') members.push(`self.${prefix}norm2 = ${norm.make}`);
  members.push(`self.${branch} = ${make}`);
  if (placement === 'rezero') members.push(`self.${prefix}scale = nn.Parameter(torch.tensor(${pyFloat(alpha)}))`);
  if (placement === 'layer_scale') {
    members.push(`self.${prefix}scale = nn.Parameter(torch.full((${d_model},), ${pyFloat(alpha)}))`);
  }
  return members;
}

// What a placement makes of the stream x.
function wired({ placement, residual, alpha, layer, residual_dropout }, norm, prefix, branch) {
  const f = (x) => (residual_dropout > 0 ? `self.dropout(self.${branch}(${x}))` : `self.${branch}(${x})`);
  const n = (x, second = '') => (norm ? `self.${prefix}norm${second}(${x})` : x);
  const sum = (stream, part) => (residual ? `${stream} + ${part}` : part);
  switch (placement) {
    case 'post':
      return n(sum('x', f('x')));
    case 'deepnorm':
      return n(sum(`${py(alpha)} * x`, f('x')));
    case 'pre':
      return sum('x', f(n('x')));
    case 'peri':
      return sum('x', n(f(n('x')), '2'));
    case 'output':
      return sum('x', n(f('x')));
    case 'lns':
      return sum('x', f(`${n('x')} / math.sqrt(${layer})`));
    case 'rezero':
      return sum('x', `self.${prefix}scale * ${f('x')}`);
    case 'layer_scale':
      return sum('x', `self.${prefix}scale * ${f(n('x'))}`);
    default:
      return sum('x', f('x'));
  }
}

const INITS = {
  xavier_uniform: () => 'nn.init.xavier_uniform_(module.weight)',
  xavier_normal: () => 'nn.init.xavier_normal_(module.weight)',
  normal: ({ init_std }) => `nn.init.normal_(module.weight, std=${py(init_std)})`,
  gpt2: ({ init_std }) => `nn.init.normal_(module.weight, std=${py(init_std)})`,
  kaiming_uniform: () => 'nn.init.kaiming_uniform_(module.weight, nonlinearity="relu")',
  kaiming_normal: () => 'nn.init.kaiming_normal_(module.weight, nonlinearity="relu")',
};

// Lines that set the initial weights; none where they are PyTorch's own.
function resetOf(values, mixes) {
  const { init, bias, beta, gated } = values;
  const last = mixes ? ['self.mixing.out', 'self.ffn.down'] : ['self.ffn.down'];
  const each = (layers) => `for layer in (${layers.join(', ')}${layers.length === 1 ? ',' : ''}):`;
  const lines = [];
  if (INITS[init]) {
    const one = [INITS[init](values), ...(bias ? ['nn.init.zeros_(module.bias)'] : [])];
    lines.push('for module in self.modules():', ...indented(['if isinstance(module, nn.Linear):', ...indented(one)]));
  }
  if (init === 'gpt2') {
    lines.push(
      each(last),
      ...indented([`layer.weight.div_(math.sqrt(${additions(values)}))  # residual additions of a stack`]),
    );
  }
  if (init === 'zero') {
    lines.push(
      each(last),
      ...indented(['nn.init.zeros_(layer.weight)', ...(bias ? ['nn.init.zeros_(layer.bias)'] : [])]),
    );
  }
  if (beta !== 1) {
    const scaled = [
      ...(mixes ? ['self.mixing.value', 'self.mixing.out'] : []),
      ...(gated ? ['self.ffn.gate'] : []),
      'self.ffn.up',
      'self.ffn.down',
    ];
    lines.push(each(scaled), ...indented([`layer.weight.mul_(${py(beta)})`]));
  }
  return lines;
}
