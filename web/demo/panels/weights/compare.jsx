// The same weights in blocks that are wired otherwise: one click adds one, the table says how far its output is away.
import { completed, valuesOf } from '../../fields.js';
import { fieldValue, number } from '../../format.js';
import { Table } from '../../parts/chart.jsx';
import { activationName, normName } from '../../parts/configs.jsx';
import { ConfigName } from '../../parts/controls.jsx';
import { labelOf } from '../../parts/field.jsx';
import { ModuleError } from '../../parts/module-error.jsx';
import { catalog, picks, state, text, update } from '../../session.js';
import { MAX_CONFIGS } from '../../state.js';
import { isMissing } from './opened.js';
import { isFull, sharing, swapsOf, withSwap, withTrained } from './subject.js';

export function Compare({ subject, result }) {
  const t = text.value.weights.compare;
  const { trained, original } = subject;
  const values = completed(original, catalog.value.fields);
  const indices = sharing(state.value, trained);
  return (
    <section class="card">
      <h2>{t.title}</h2>
      <p class="note">{t.note}</p>
      <div class="controls weights-swaps">
        <span class="labelled" title={t.swapNote}>
          <span class="caption">{t.swap}</span>
          {swapsOf(values).map((swap) => (
            <Swap key={`${swap.field} ${swap.value}`} {...{ swap, subject, gated: values.gated }} />
          ))}
        </span>
      </div>
      {indices.length === 0 ? (
        <p class="note">
          {t.none}{' '}
          <button
            type="button"
            class="link"
            disabled={isFull(state.value)}
            onClick={() => update(withTrained(state.value, trained), 'add')}
          >
            {t.add}
          </button>
        </p>
      ) : (
        <>
          <Table
            head={[t.configuration, t.changed, t.output, t.outputCosine, t.branch, t.branchCosine, t.rms]}
            rows={indices.map((index) => rowOf(index, values, result.differences, isMissing(trained) ? '–' : '…'))}
            caption={t.title}
          />
          {result.differences?.some(isZero) && <p class="note table-note">{t.zero}</p>}
        </>
      )}
    </section>
  );
}

const isZero = ({ output, branch }) => output?.cosine === null || branch?.cosine === null;

function Swap({ swap, subject, gated }) {
  const t = text.value.weights;
  const label = swapText(swap.field, swap.value, gated);
  const next = withSwap(state.value, subject, swap, label);
  return (
    <button
      type="button"
      class="button small"
      disabled={next === state.value}
      title={isFull(state.value) ? t.file.full(MAX_CONFIGS) : t.compare.swapNote}
      onClick={() => update(next, 'swap')}
    >
      {label}
    </button>
  );
}

/** What a field's value is called by itself: "RMSNorm", "Post-Norm", "no residual"; undefined where it needs its field. */
function swapText(field, value, gated) {
  const { names } = text.value.weights.compare;
  if (field === 'norm') return names.norm[value] ?? normName(value);
  if (field === 'activation') return activationName(value, gated);
  if (field === 'placement') return names.placement[value] ?? String(value);
  if (field === 'residual' && value === false) return names.residual;
  return undefined;
}

const MOST = 3;

function changedText(index, values) {
  const t = text.value.weights.compare;
  const { fields } = catalog.value;
  const own = valuesOf(picks.configs[index], fields);
  const changed = fields.filter(({ name }) => own[name] !== values[name]);
  if (changed.length === 0) return t.asIs;
  const said = changed.slice(0, MOST).map((field) => {
    const { name } = field;
    return swapText(name, own[name], own.gated) ?? `${labelOf(field, own)} ${fieldValue(own[name])}`;
  });
  if (changed.length > MOST) said.push(t.more(changed.length - MOST));
  return said.join(text.value.sign.list);
}

function rowOf(index, values, differences = [], waiting = '…') {
  const found = differences.find((entry) => entry.index === index);
  const name = <ConfigName key="name" index={index} />;
  const changed = changedText(index, values);
  if (!found) return [name, changed, ...Array(5).fill(waiting)];
  if (found.error)
    return [
      name,
      changed,
      <span key="why" class="error-text">
        <ModuleError error={found.error} />
      </span>,
      ...Array(4).fill('–'),
    ];
  const { output, branch } = found;
  return [
    name,
    changed,
    number(output.relative),
    number(output.cosine, 4),
    branch ? number(branch.relative) : '–',
    branch ? number(branch.cosine, 4) : '–',
    number(output.rms),
  ];
}
