// One block: its name, what is other than in the block it is compared with, drawing and formula.
import { differences, noEffect } from '../../fields.js';
import { fieldValue, si } from '../../format.js';
import { LETTERS, lookOf, summaryOf } from '../../parts/configs.jsx';
import { ConfigName } from '../../parts/controls.jsx';
import { labelOf } from '../../parts/field.jsx';
import { Formula } from '../../parts/formula.jsx';
import { drawingOf, Wiring } from '../../parts/wiring.jsx';
import { catalog, picks, results, set, text } from '../../session.js';
import { compare } from '../../wiring.js';
import { MAX_BYTES } from './gradients.js';

/** @param props.reference the place of the configuration that it is compared with, or null */
export function Card({ config, index, all, reference, gradient, onEdit }) {
  const t = text.value;
  const { selected } = picks;
  const values = all[index];
  const other = reference === null ? null : all[reference];
  const edit = (field) => {
    set({ selected: index });
    onEdit(field);
  };
  return (
    <section
      class={`card wiring-card ${lookOf(index)} ${index === selected ? 'current' : ''}`}
      aria-label={t.wiring.drawing(config.name)}
    >
      <header>
        <h2>
          <ConfigName index={index} />
        </h2>
        <p class="note">{summaryOf(config)}</p>
        {other && <Changes {...{ index, reference, values, other }} />}
        {gradient?.error && <WhyNot {...gradient.error} />}
      </header>
      <Wiring
        {...{ values, gradient }}
        reference={other}
        stages={results.value[index]?.result?.stages}
        name={config.name}
        onEdit={edit}
      />
      <Formula values={values} reference={other} />
    </section>
  );
}

// Why there are no gradients: too large is no fault.
function WhyNot({ code, message, detail }) {
  const t = text.value;
  if (code === 'TOO_LARGE') return <p class="note">{t.wiring.tooLarge(si(detail.bytes, 'B'), si(MAX_BYTES, 'B'))}</p>;
  return <p class="error-text">{`${t.run.failed} ${message}`}</p>;
}

const MOST = 6;

// The fields that differ, from → to, and the parts that only the other drawing has, where these are few.
function Changes({ index, reference, values, other }) {
  const t = text.value;
  const { fields } = catalog.value;
  const { configs } = picks;
  const differing = differences(configs[reference], configs[index], fields);
  const letter = LETTERS[reference];
  if (differing.size === 0) return <p class="note">{t.wiring.same(letter)}</p>;
  const isFelt = (name) => [values, other].some((any) => !noEffect(name, any, catalog.value, false, 'training'));
  const show = (value) => (value === null ? t.inspector.auto : fieldValue(value));
  const list = fields
    .filter(({ name }) => differing.has(name) && isFelt(name))
    .map((field) => `${labelOf(field, values)} ${show(other[field.name])} → ${show(values[field.name])}`);
  const { gone } = compare(drawingOf(values), drawingOf(other));
  const more = list.length - MOST;
  return (
    <p class="note changes">
      {t.wiring.differs(letter)}
      {list.slice(0, MOST).join(t.sign.semicolon)}
      {more > 0 && t.wiring.more(more)}
      {gone.length > 0 && gone.length < MOST && `${t.sign.stop}${t.wiring.gone(gone.join(t.sign.list))}`}
    </p>
  );
}
