// The drawing of a block, from bottom to top: the residual stream as one thick line, each sublayer's branch beside it. What
// is drawn follows from the fields alone; figures are added where they have been measured.
import { resolved } from '../fields.js';
import { number, plainFormula } from '../format.js';
import { catalog, text } from '../session.js';
import { compare, diagramOf, short } from '../wiring.js';
import { BRANCH, layout, STREAM, textWidth, WIDTH, widths } from '../wiring-layout.js';

/** The drawing of these values as a structure. */
export const drawingOf = (values) => diagramOf(resolved(values, catalog.value), text.value.wiring);

/**
 * @param {object} props
 * @param props.values every field
 * @param props.reference the values that it is compared with: what is other is shaded
 * @param props.stages what was measured on the way forward
 * @param props.gradient { edges, scale }: norms relative to the output's, and scale(norm) → { width, opacity, dash }
 * @param props.onEdit (field) => void
 */
export function Wiring({ values, reference, stages, gradient, name, onEdit, compact }) {
  const t = text.value;
  const full = resolved(values, catalog.value);
  const sublayers = diagramOf(full, t.wiring);
  const changed = reference ? compare(sublayers, drawingOf(reference)).changed : new Set();
  const { height, nodes, lines, spans, tip } = layout(sublayers, widths(full));
  const formula = catalog.value.placements.find((entry) => entry.name === values.placement)?.formula ?? '';
  const y = values.residual ? plainFormula(formula) : t.wiring.noResidual;
  return (
    // biome-ignore lint/a11y/useSemanticElements: SVG has no fieldset
    <svg
      class={`wiring ${compact ? 'compact' : ''} ${gradient ? 'gradient' : ''}`}
      viewBox={`0 0 ${WIDTH} ${height}`}
      role="group"
      aria-label={`${t.wiring.drawing(name)}${t.sign.colon}${y}`}
    >
      {[...lines].sort(streamLast).map((line, i) => (
        <Line key={i} line={line} gradient={gradient} />
      ))}
      <path class="arrow" d={`M${STREAM - 6} ${tip}h12l-6-12z`} />
      {nodes.map((node, i) => (
        <Part key={i} node={node} changed={changed.has(node.id)} onEdit={onEdit} />
      ))}
      <text class="annotation" x={STREAM + 14} y={tip - 2}>
        {spans.length > 1 ? 'y' : y}
      </text>
      {full.beta !== 1 && (
        <text class="annotation" x={WIDTH - 4} y={tip - 2} text-anchor="end">
          {`β = ${short(full.beta)}`}
          <title>{t.wiring.beta}</title>
        </text>
      )}
      {spans.map((span) => (
        <Figures key={span.prefix} {...{ span, stages, gradient, values, many: spans.length > 1 }} />
      ))}
    </svg>
  );
}

const streamLast = (a, b) => Number(Boolean(a.stream)) - Number(Boolean(b.stream));

// Not transparent, so that lines which meet are not darker there.
const shade = (share) => `color-mix(in srgb, var(--config) ${Math.round(100 * share)}%, var(--surface))`;

function Line({ line, gradient }) {
  const { edge, d, stream, broken } = line;
  const kind = `${stream ? 'stream' : 'branch'} ${broken ? 'broken' : ''}`;
  if (!gradient?.edges || broken) return <path class={kind} d={d} />;
  const norm = gradient.edges[edge];
  const look = gradient.scale(norm);
  return (
    <path
      class={kind}
      d={d}
      style={{ strokeWidth: look.width, stroke: shade(look.opacity), strokeDasharray: look.dash }}
    >
      {norm !== undefined && <title>{number(norm)}</title>}
    </path>
  );
}

// What is measured where a sublayer leaves the stream, beside it, and where it comes back.
function Figures({ span, stages, gradient, values, many }) {
  const t = text.value;
  const { prefix, join, leave, enters, leaves } = span;
  const [before, after] = [enters, leaves].map((stage) => stages?.[stage]?.rms);
  const branch = stages?.[`${prefix}branch`]?.rms;
  const edges = gradient?.edges;
  const change = before !== undefined && after !== undefined ? `${number(before)} → ${number(after)}` : null;
  const whole = `${t.wiring.stream}${t.sign.comma}${t.wiring.rms(change)}`;
  const room = leave - join + 40;
  const beside = !change ? t.wiring.stream : textWidth(whole) < room ? whole : t.wiring.rms(change);
  const flow = edges && (values.residual ? `${number(edges[leaves])} → ${number(edges[enters])}` : '');
  const arriving = edges
    ? number(edges[`${prefix}branch`])
    : branch && before > 0 && t.wiring.ofX(number(branch / before));
  return (
    <>
      {arriving && (
        <text class="annotation" x={BRANCH + 8} y={join - 7} text-anchor="middle">
          {arriving}
        </text>
      )}
      {edges && (
        <text class="annotation" x={STREAM + 14} y={leave - 8}>
          {number(edges[`${prefix}enter`])}
        </text>
      )}
      <text class="annotation" x={STREAM + 14} y={leave + (prefix || !many ? 26 : 19)}>
        {prefix || !many ? 'x' : 'x′'}
        {edges ? ` · ${number(edges[enters])}` : before !== undefined && ` · ${t.wiring.rms(number(before))}`}
      </text>
      <text class="annotation" transform={`translate(20 ${(leave + join) / 2}) rotate(-90)`} text-anchor="middle">
        {gradient ? (flow ? `${t.wiring.gradient} ${flow}` : t.wiring.gradient) : beside}
      </text>
    </>
  );
}

// A box that leads to its field in the inspector.
function Node({ field, label, changed, onEdit, children }) {
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
      class={`node ${changed ? 'changed' : ''}`}
      role="button"
      tabindex={0} // as SVG spells it
      aria-label={`${label}${t.sign.comma}${changed ? `${t.wiring.changed}${t.sign.comma}` : ''}${t.wiring.edit}`}
      onClick={act}
      onKeyDown={onKeyDown}
    >
      {children}
    </g>
  );
}

function Part({ node, changed, onEdit }) {
  const { shape, x, y, height, label, field } = node;
  if (shape === 'product') {
    return (
      <>
        <circle class="box" cx={x} cy={y} r="8" />
        <path class="sign" d={`M${x - 3} ${y - 3}l6 6m0-6l-6 6`} />
      </>
    );
  }
  const named = node.full ? `${label} ${node.full}` : label;
  return (
    <Node {...{ field, label: named, changed, onEdit }}>
      {shape === 'sum' ? (
        <>
          <circle class="box sum" cx={x} cy={y} r="11" />
          <path class="sign" d={`M${x - 5} ${y}h10M${x} ${y - 5}v10`} />
        </>
      ) : (
        <>
          <Outline {...node} />
          <text class="label" x={node.causal ? x - 7 : x} y={y + height / 2} dy="0.36em" text-anchor="middle">
            {label}
          </text>
          {node.causal && <Causal x={x + textWidth(label) / 2 - 8} y={y + height / 2} />}
        </>
      )}
    </Node>
  );
}

function Outline({ shape, x, y, width, height, below, above }) {
  if (shape === 'widen' || shape === 'narrow') {
    const bottom = y + height;
    return (
      <path class="box" d={`M${x - above / 2} ${y}H${x + above / 2}L${x + below / 2} ${bottom}H${x - below / 2}Z`} />
    );
  }
  const rounded = { scale: 9, dashed: 10 }[shape] ?? 3;
  return <rect class={`box ${shape}`} x={x - width / 2} y={y} width={width} height={height} rx={rounded} />;
}

// The mask of those who see no later token: the lower triangle of a matrix.
const Causal = ({ x, y }) => (
  <path class="causal" d={`M${x} ${y - 5}h3.5v3.5h3.5v3.5h3.5v3.5h-10.5z`}>
    <title>{text.value.wiring.causal}</title>
  </path>
);
