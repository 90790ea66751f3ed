// The drawing of a block, from bottom to top: the residual stream as one thick line, the branch beside it. What is drawn
// follows from the fields alone; RMS figures are added where they have been measured.
import { automatic } from '../fields.js';
import { fieldValue, number, plainFormula } from '../format.js';
import { catalog, text } from '../session.js';
import { activationName, normName } from './configs.jsx';

const WIDTH = 300;
const STREAM = 84;
const BRANCH = 206;
const WIDEST = 148;
const NARROWEST = 62;
const BOX = 24;
const GAP = 12;

// The narrower of d_model and d_ff by the root of their ratio, so that 1 : 4 and 1 : 1 are told apart and text fits.
function widths({ d_model, d_ff }) {
  const ratio = (d_ff ?? 4 * d_model) / d_model;
  const narrow = Math.max(NARROWEST, WIDEST * Math.sqrt(Math.min(ratio, 1 / ratio)));
  return ratio >= 1 ? { model: narrow, hidden: WIDEST } : { model: WIDEST, hidden: narrow };
}

/** The steps of branch and stream from bottom to top, as the placement has them. */
function steps(values) {
  const t = text.value;
  const { placement, norm: kind, gated } = values;
  const ff = values.d_ff ?? 4 * values.d_model;
  const w = widths(values);
  const norm = (subscript = '') => ({
    shape: 'box',
    field: 'norm',
    label: `${normName(kind)}${subscript}`,
    width: w.model,
  });
  const hasNorm = kind !== 'none';
  const branch = [];
  const stream = [];
  if (hasNorm && ['pre', 'peri', 'lns', 'layer_scale'].includes(placement))
    branch.push(norm(placement === 'peri' ? ' 1' : ''));
  if (placement === 'lns') branch.push({ shape: 'scale', field: 'layer', label: `÷ √${values.layer}` });
  if (gated)
    branch.push({ shape: 'gates', w, sizes: `${values.d_model}→${ff}`, activation: activationName(values.activation) });
  else {
    branch.push({
      shape: 'trapezoid',
      field: 'd_ff',
      label: `${t.wiring.up} ${values.d_model}→${ff}`,
      below: w.model,
      above: w.hidden,
    });
    branch.push({ shape: 'box', field: 'activation', label: activationName(values.activation), width: w.hidden });
  }
  branch.push({
    shape: 'trapezoid',
    field: 'd_ff',
    label: `${t.wiring.down} ${ff}→${values.d_model}`,
    below: w.hidden,
    above: w.model,
  });
  if (hasNorm && placement === 'peri') branch.push(norm(' 2'));
  if (hasNorm && placement === 'output') branch.push(norm());
  const alpha = short(values.alpha ?? automatic('alpha', values, catalog.value));
  if (placement === 'rezero') branch.push({ shape: 'scale', field: 'alpha', label: `× a = ${alpha}` });
  if (placement === 'layer_scale') branch.push({ shape: 'scale', field: 'alpha', label: `⊙ γ = ${alpha}` });
  if (hasNorm && (placement === 'post' || placement === 'deepnorm')) stream.push(norm());
  return { branch, stream, alpha: placement === 'deepnorm' ? alpha : null };
}

// 2.21, 1e-4
const short = (value) => fieldValue(Number(value.toPrecision(3)));

const heightOf = ({ shape }) => (shape === 'gates' ? 2 * BOX + 2 * GAP + 8 : shape === 'scale' ? 18 : BOX);

export function Wiring({ values, stages, name, onEdit, compact }) {
  const t = text.value;
  const { branch, stream, alpha } = steps(values);
  const { residual } = values;
  const inside = branch.reduce((sum, step) => sum + heightOf(step) + GAP, 0) + 2 * GAP;
  const top = 20;
  const above = stream.length > 0 ? BOX + 2 * GAP : GAP + 6;
  const join = top + above + 12;
  const leave = join + inside + 10;
  const height = leave + 34;
  const formula = catalog.value.placements.find((entry) => entry.name === values.placement)?.formula ?? '';
  const y = residual ? plainFormula(formula) : t.wiring.noResidual;
  const rms = (stage) => (stages?.[stage] ? number(stages[stage].rms) : null);
  const ratio = stages?.branch && stages.x.rms > 0 ? stages.branch.rms / stages.x.rms : null;

  let at = leave - 2 * GAP;
  const drawn = branch.map((step, i) => {
    const size = heightOf(step);
    const node = <Step key={i} step={step} x={BRANCH} y={at - size} onEdit={onEdit} />;
    at -= size + GAP;
    return node;
  });
  const change = rms('y') && t.wiring.rms(`${rms('x')} → ${rms('y')}`);
  const whole = `${t.wiring.stream}${t.sign.comma}${change}`;
  const vertical = change ? (textWidth(whole) < leave - join + 60 ? whole : change) : t.wiring.stream;
  return (
    // biome-ignore lint/a11y/useSemanticElements: SVG has no fieldset
    <svg
      class={`wiring ${compact ? 'compact' : ''}`}
      viewBox={`0 0 ${WIDTH} ${height}`}
      role="group"
      aria-label={`${t.wiring.drawing(name)}: ${y}`}
    >
      {residual ? (
        <path class="stream" d={`M${STREAM} ${height - 4}V${top}`} />
      ) : (
        <>
          <path class="stream" d={`M${STREAM} ${height - 4}V${leave - 3}M${STREAM} ${join}V${top}`} />
          <path class="stream broken" d={`M${STREAM} ${leave - 22}V${join + 22}`} />
        </>
      )}
      <path class="arrow" d={`M${STREAM - 6} ${top}h12l-6-12z`} />
      <path class="branch" d={`M${STREAM} ${leave}H${BRANCH}V${join}H${STREAM + (residual ? 11 : 0)}`} />
      {drawn}
      {stream.map((step, i) => (
        <Step key={`s${i}`} step={step} x={STREAM} y={top + GAP - 2} onEdit={onEdit} />
      ))}
      {alpha !== null && residual && (
        <Step
          step={{ shape: 'scale', field: 'alpha', label: `× α = ${alpha}` }}
          x={STREAM}
          y={join + 22}
          onEdit={onEdit}
        />
      )}
      {residual && <Sum x={STREAM} y={join} onEdit={onEdit} />}
      <text class="annotation" x={STREAM + 14} y={top - 5}>
        {y}
      </text>
      <text class="annotation" x={STREAM + 14} y={height - 8}>
        x{rms('x') && ` · ${t.wiring.rms(rms('x'))}`}
      </text>
      {ratio !== null && (
        <text class="annotation" x={BRANCH + 8} y={join - 7} text-anchor="middle">
          {t.wiring.ofX(number(ratio))}
        </text>
      )}
      <text class="annotation" transform={`translate(20 ${(leave + join) / 2}) rotate(-90)`} text-anchor="middle">
        {vertical}
      </text>
    </svg>
  );
}

// A box that leads to its field in the inspector.
function Node({ field, label, onEdit, children }) {
  const t = text.value;
  const act = () => onEdit(field);
  const onKeyDown = (event) => {
    if (event.key !== 'Enter' && event.key !== ' ') return;
    event.preventDefault();
    act();
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: SVG has no button element
    <g
      class="node"
      role="button"
      tabindex={0} // as SVG spells it
      aria-label={`${label}, ${t.wiring.edit}`}
      onClick={act}
      onKeyDown={onKeyDown}
    >
      {children}
    </g>
  );
}

function Step({ step, x, y, onEdit }) {
  const { shape, field, label } = step;
  if (shape === 'gates') return <Gates step={step} x={x} y={y} onEdit={onEdit} />;
  const size = heightOf(step);
  if (shape === 'trapezoid') {
    const { below, above } = step;
    return (
      <Node {...{ field, label, onEdit }}>
        <path
          class="box"
          d={`M${x - above / 2} ${y}H${x + above / 2}L${x + below / 2} ${y + size}H${x - below / 2}Z`}
        />
        <Label x={x} y={y + size / 2}>
          {label}
        </Label>
      </Node>
    );
  }
  const width = shape === 'scale' ? textWidth(label) : Math.max(step.width, textWidth(label));
  return (
    <Node {...{ field, label, onEdit }}>
      <rect
        class={shape === 'scale' ? 'box scale' : 'box'}
        x={x - width / 2}
        y={y}
        width={width}
        height={size}
        rx={shape === 'scale' ? 9 : 3}
      />
      <Label x={x} y={y + size / 2}>
        {label}
      </Label>
    </Node>
  );
}

// gate and up beside each other, the activation over the gate, joined by ×.
function Gates({ step, x, y, onEdit }) {
  const t = text.value;
  const { w, sizes, activation } = step;
  const half = w.hidden / 2 - 4;
  const foot = w.model / 2 - 4;
  const left = x - w.hidden / 4 - 2;
  const right = x + w.hidden / 4 + 2;
  const low = y + heightOf(step) - BOX - 6;
  const high = low - BOX - GAP + 4;
  const lane = (center, label) => (
    <Node field="gated" label={`${label} ${sizes}`} onEdit={onEdit}>
      <path class="box" d={`M${center - half / 2} ${low}h${half}L${center + foot / 2} ${low + BOX}h${-foot}Z`} />
      <Label x={center} y={low + BOX / 2}>
        {label}
      </Label>
    </Node>
  );
  return (
    <>
      <rect class="mask" x={x - 4} y={y + 8} width="8" height={heightOf(step) - 8} />
      <path
        class="branch"
        d={`M${x} ${y + heightOf(step) + 2}V${low + BOX + 5}M${left} ${low + BOX}v5H${right}v-5M${left} ${low}V${y + 6}H${x - 8}M${right} ${low}V${y + 6}H${x + 8}`}
      />
      {lane(left, t.wiring.gate)}
      {lane(right, t.wiring.up)}
      <Node field="activation" label={activation} onEdit={onEdit}>
        <rect
          class="box"
          x={left - Math.max(half, textWidth(activation)) / 2}
          y={high}
          width={Math.max(half, textWidth(activation))}
          height={BOX - 4}
          rx="3"
        />
        <Label x={left} y={high + BOX / 2 - 2}>
          {activation}
        </Label>
      </Node>
      <circle class="box" cx={x} cy={y + 6} r="8" />
      <path class="sign" d={`M${x - 3} ${y + 3}l6 6m0-6l-6 6`} />
    </>
  );
}

function Sum({ x, y, onEdit }) {
  return (
    <Node field="residual" label="+" onEdit={onEdit}>
      <circle class="box sum" cx={x} cy={y} r="11" />
      <path class="sign" d={`M${x - 5} ${y}h10M${x} ${y - 5}v10`} />
    </Node>
  );
}

const Label = ({ x, y, children }) => (
  <text class="label" x={x} y={y} dy="0.36em" text-anchor="middle">
    {children}
  </text>
);

// About right for 11 px; a CJK sign is as wide as two others.
const textWidth = (label) => [...label].reduce((sum, sign) => sum + (sign > '\u2e80' ? 11 : 6.4), 16);
