// A block's formulas as TeX, put together from what the module gives for placement, norm and activation. No DOM.
//
// A line is a list of pieces { key, tex }: two blocks are compared piece by piece.
import { hasNorm } from './fields.js';
import { short } from './wiring.js';

const find = (list, name) => list.find((entry) => entry.name === name);

/**
 * Lines of pieces: the block, then what its letters mean.
 * @param {object} values every field, with what auto stands for
 */
export function formulaLines(values, catalog) {
  const mixes = values.mixing !== 'none';
  const sum = placement(values, catalog, mixes);
  return [
    ...(mixes ? [sublayerLine('x^{\\prime}', mixingPlacement(values, catalog), 'mixing_')] : []),
    sublayerLine('y', sum, ''),
    ...(mixes ? mixing(values) : []),
    ...feedForward(values, catalog),
    ...(sum.includes('\\mathrm{N}') ? [[left('\\mathrm{N}(x) ='), piece('norm', normOf(values, catalog))]] : []),
  ];
}

const normOf = (values, { norms }) => (hasNorm(values) ? (find(norms, values.norm)?.formula ?? '') : 'x');
const piece = (key, tex) => ({ key, tex });
// What a line is about, which is never marked.
const left = (tex) => ({ key: 'left', tex });
const sublayerLine = (name, right, prefix) => [left(`${name} =`), piece(`${prefix}placement`, right)];

// Without the residual a sublayer is its branch alone.
function placement({ placement: name, residual }, { placements }, mixes) {
  const formula = find(placements, name)?.formula ?? '';
  const own = residual ? formula : formula.replace(/(\\alpha )?x \+ /, '');
  return mixes ? own.replace(/\bx\b/g, 'x^{\\prime}') : own;
}

// The mixing sublayer has norms and scales of its own.
const mixingPlacement = (values, catalog) =>
  placement(values, catalog, false)
    .replaceAll('\\mathrm{F}', '\\mathrm{M}')
    .replace(/\\mathrm\{N\}_(\d)/g, '\\mathrm{N}_{\\mathrm{m}$1}')
    .replaceAll('\\mathrm{N}(', '\\mathrm{N}_{\\mathrm m}(')
    .replace('\\gamma', '\\gamma_{\\mathrm m}')
    .replace('a\\,', 'a_{\\mathrm m}\\,');

const affine = (bias, matrix, offset, of) => (bias ? `${matrix} ${of} + ${offset}` : `${matrix} ${of}`);
const dropped = (p, inner) => (p > 0 ? `\\mathrm{D}_{${short(p)}}\\bigl(${inner}\\bigr)` : inner);

function mixing({ mixing: kind, bias, heads, causal, qk_norm, d_model, residual_dropout }) {
  const out = (of) => dropped(residual_dropout, affine(bias, 'W_O', 'b_O', of));
  if (kind === 'mean') {
    const mean = causal ? '\\tfrac1t \\textstyle\\sum_{s \\le t} x_s' : '\\tfrac1T \\textstyle\\sum_s x_s';
    return [
      [left('\\mathrm{M}(x)_t ='), piece('out', out(`\\bigl(${affine(bias, 'W_V', 'b_V', '\\bar x_t')}\\bigr)`))],
      [piece('mean', `\\bar x_t = ${mean}`)],
    ];
  }
  const [q, k] = qk_norm ? ['\\mathrm{R}(q_i)', '\\mathrm{R}(k_i)'] : ['q_i', 'k_i'];
  const softmax = causal ? '\\mathrm{softmax}_{s \\le t}' : '\\mathrm{softmax}';
  const list = heads > 2 ? `o_1; \\dots; o_{${heads}}` : heads === 2 ? 'o_1; o_2' : 'o_1';
  return [
    [left('\\mathrm{M}(x) ='), piece('out', out(`[${list}]`))],
    [left('o_i ='), piece('scores', `${softmax}\\bigl(${q}\\,${k}^\\top / \\sqrt{${d_model / heads}}\\bigr)\\,v_i`)],
    [piece('qkv', affine(bias, '[q\\ k\\ v] = [W_Q\\ W_K\\ W_V]', 'b', '\\,x'))],
    ...(qk_norm ? [[piece('R', '\\mathrm{R}(z) = z / \\sqrt{\\overline{z^2} + \\varepsilon} \\odot \\gamma')]] : []),
  ];
}

function feedForward(values, { activations }) {
  const { bias, gated, dropout, residual_dropout } = values;
  const up = affine(bias, 'W_1', 'b_1', 'x');
  const hidden = gated ? 'h' : `\\varphi(${up})`;
  const inner = affine(bias, 'W_2', 'b_2', `\\,${dropped(dropout, hidden)}`);
  return [
    [left('\\mathrm{F}(x) ='), piece('ffn', dropped(residual_dropout, inner))],
    ...(gated ? [[left('h ='), piece('gate', `\\varphi(${affine(bias, 'W_g', 'b_g', 'x')}) \\odot (${up})`)]] : []),
    [left('\\varphi(x) ='), piece('activation', find(activations, values.activation)?.formula ?? '')],
  ];
}

/** Each line as TeX; pieces that the reference does not have alike are of class `changed`. */
export function formulaOf(lines, reference) {
  const former = reference && new Set(reference.flat().map(({ key, tex }) => `${key} ${tex}`));
  return lines.map((line) =>
    line
      .map(({ key, tex }) =>
        !former || key === 'left' || former.has(`${key} ${tex}`) ? tex : `\\class{changed}{${tex}}`,
      )
      .join(' '),
  );
}
