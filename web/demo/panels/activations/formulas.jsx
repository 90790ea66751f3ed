// The activations that are shown, one by one: formula, parameters, where it is flat, source.
import { fromPosition, isFixed, toPosition } from '../../fields.js';
import { number } from '../../format.js';
import { Letter } from '../../parts/configs.jsx';
import { LabelledNumber } from '../../parts/controls.jsx';
import { TeX } from '../../parts/formula.jsx';
import { lookOf } from '../../parts/look.js';
import { ModuleError } from '../../parts/module-error.jsx';
import { catalog, picks, set, state, text, update } from '../../session.js';
import { editField } from '../../state.js';
import { MAX_PARAM, paramProp } from './state.js';
import { curveName, pointing, symbol } from './view.js';

export function Formulas({ curves }) {
  const t = text.value.activations;
  if (curves.length === 0) return null;
  return (
    <section class="card" aria-labelledby="acts-formulas">
      <h2 id="acts-formulas">{t.formulas}</h2>
      <ul class="acts-list">
        {curves.map((curve) => (
          <Entry key={curve.id.split(' ')[0] + curve.owners.join()} curve={curve} />
        ))}
      </ul>
    </section>
  );
}

function Entry({ curve }) {
  const { formula, source, params } = catalog.value.activations.find(({ name }) => name === curve.name);
  const { owners, result } = curve;
  return (
    <li class={`acts-entry ${owners.length > 0 ? lookOf(owners[0]) : ''}`} {...pointing(curve.name)}>
      <span class="acts-name">
        <Swatch curve={curve} />
        {owners.map((index) => (
          <Letter key={index} index={index} />
        ))}{' '}
        <b>{curveName(curve)}</b>
      </span>
      <TeX tex={`\\varphi(x) = ${formula}`} />
      <span class="acts-facts">
        {params.map(({ name }, i) => (
          <Param key={name} curve={curve} name={name} place={i} />
        ))}
        {result?.error && (
          <span class="error-text" role="alert">
            <ModuleError error={result.error} />
          </span>
        )}
        {result?.tails && <small>{tailText(result.tails)}</small>}
        <Source source={source} />
      </span>
    </li>
  );
}

const Swatch = ({ curve }) => (
  <svg class="acts-swatch" viewBox="0 0 28 8" aria-hidden="true">
    <path d="M1 4h26" stroke-dasharray={curve.dash?.join(' ')} />
  </svg>
);

const field = { type: 'float', min: -MAX_PARAM, max: MAX_PARAM };
const slider = {
  to: (value) => 100 * toPosition(field, value),
  from: (position) => fromPosition(field, position / 100),
};

// A configuration's parameter is one of its fields: it is set in all that share the curve.
function Param({ curve, name, place }) {
  const t = text.value;
  const { configs } = picks;
  const free = curve.owners.filter((index) => !isFixed(configs[index], `activation_p${place}`));
  const change = (value) => {
    if (curve.owners.length === 0) return set({ [paramProp(curve.name, name)]: value }, `${curve.name} ${name}`);
    const next = free.reduce((from, index) => editField(from, index, `activation_p${place}`, value), state.value);
    return update(next, `${free.join()} activation_p${place}`);
  };
  return (
    <LabelledNumber
      id={`acts-${curve.name}-${curve.owners.join('')}-${name}`}
      label={[symbol(name), ...curve.owners.map((index) => 'ABCDEF'[index])].join(t.sign.space)}
      value={Number(curve.params[name].toPrecision(6))}
      min={-MAX_PARAM}
      max={MAX_PARAM}
      slider={slider}
      onChange={change}
    />
  );
}

function tailText({ left, right }) {
  const t = text.value;
  const { tail, neverFlat } = t.activations;
  if (left?.at === Infinity) return tail.all;
  const said = [left && tail.left[left.kind](number(left.at)), right && tail.right[right.kind](number(right.at))];
  return said.filter(Boolean).join(t.sign.comma) || neverFlat;
}

/** The source with a link where it has a number in arXiv. */
function Source({ source }) {
  const t = text.value.activations;
  const [, said, id] = /^(.*?)(?:,? arXiv (\d{4}\.\d{4,5}))?$/.exec(source);
  if (!said) return <small>{t.noSource}</small>;
  return id ? (
    <a href={`https://arxiv.org/abs/${id}`} target="_blank" rel="noopener noreferrer">
      {said}
    </a>
  ) : (
    <small>{said}</small>
  );
}
