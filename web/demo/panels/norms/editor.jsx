// The matrix and the norms' parameters, typed in.
import { axisNumber } from '../../format.js';
import { LabelledNumber, Segmented } from '../../parts/controls.jsx';
import { TypedNumber } from '../../parts/field.jsx';
import { picks, set, text } from '../../session.js';
import { cell, looking } from './cell.js';
import { EXAMPLES, MOST, parse, print, readNumber, resized, vectorOf, vectorTextOf } from './matrix.js';
import { STEPS } from './state.js';

const edit = (matrix) => set({ normMatrix: print(matrix) }, 'norm matrix');

export function Examples() {
  const t = text.value.norms;
  const { normMatrix } = picks;
  return (
    <fieldset class="norms-examples">
      <legend class="caption">{t.examples}</legend>
      {Object.keys(EXAMPLES).map((name) => (
        <button
          key={name}
          type="button"
          class="button small"
          aria-pressed={normMatrix === name}
          onClick={() => set({ normMatrix: name }, 'norm example')}
        >
          {t.example[name]}
        </button>
      ))}
    </fieldset>
  );
}

export function StepControl() {
  const t = text.value.norms;
  const { normStep } = picks;
  return (
    <Segmented
      label={t.step}
      name="norm-step"
      value={normStep}
      options={STEPS.map((id, i) => ({ id, text: `${i + 1} ${t.steps[id]}` }))}
      onChange={(id) => set({ normStep: id })}
    />
  );
}

export function Settings() {
  const t = text.value.norms;
  const { normMatrix, normEps, normGroups } = picks;
  const matrix = parse(normMatrix);
  return (
    <div class="norms-settings">
      {Object.keys(MOST).map((axis) => (
        <LabelledNumber
          key={axis}
          id={`norms-${axis}`}
          label={t.axes[axis]}
          value={matrix[axis]}
          min={1}
          max={MOST[axis]}
          integer
          onChange={(value) => edit(resized(matrix, { [axis]: value }))}
        />
      ))}
      <LabelledNumber
        id="norms-eps"
        label="ε"
        value={normEps}
        min={0}
        max={1}
        onChange={(value) => set({ normEps: value }, 'norm eps')}
      />
      <LabelledNumber
        id="norms-groups"
        label={t.groups}
        value={normGroups}
        min={1}
        max={MOST.d}
        integer
        onChange={(value) => set({ normGroups: value }, 'norm groups')}
      />
    </div>
  );
}

export function Editor() {
  const t = text.value.norms;
  const { normWeight, normBias } = picks;
  const matrix = parse(picks.normMatrix);
  const { b, d } = matrix;
  const features = Array.from({ length: d }, (_, c) => c);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: keys of the fields inside
    <div class="norms-editor table-box" {...looking} onKeyDown={moveByArrow}>
      <table aria-label={t.matrix}>
        <thead>
          <tr>
            <th scope="col">{t.x}</th>
            {features.map((c) => (
              <th key={c} scope="col">
                {t.feature(c + 1)}
              </th>
            ))}
            <th scope="col">{t.padding}</th>
          </tr>
        </thead>
        {Array.from({ length: b }, (_, s) => (
          <Sequence key={s} matrix={matrix} s={s} />
        ))}
        <tbody>
          <Vector name="γ" prop="normWeight" values={vectorOf(normWeight, d, 1)} />
          <Vector name="β" prop="normBias" values={vectorOf(normBias, d, 0)} />
        </tbody>
      </table>
    </div>
  );
}

function Sequence({ matrix, s }) {
  const t = text.value.norms;
  const { l, d, data, padding } = matrix;
  const write = (at) => (typed) => {
    const value = readNumber(typed);
    if (value !== undefined) edit({ ...matrix, data: data.map((old, i) => (i === at ? value : old)) });
    return value !== undefined;
  };
  const pad = (token, is) => edit({ ...matrix, padding: padding.map((old, i) => (i === token ? is : old)) });
  return (
    <tbody>
      {Array.from({ length: l }, (_, token) => {
        const row = s * l + token;
        return (
          <tr key={token} class={padding[row] ? 'norms-padding' : ''}>
            <th scope="row">{t.token(s + 1, token + 1)}</th>
            {Array.from({ length: d }, (_, c) => {
              const at = row * d + c;
              return (
                <td key={c} data-cell={at} class={at === cell.value ? 'norms-here' : ''}>
                  <TypedNumber
                    label={t.cell(s + 1, token + 1, c + 1)}
                    value={axisNumberOf(data[at])}
                    onCommit={write(at)}
                  />
                </td>
              );
            })}
            <td>
              <input
                type="checkbox"
                aria-label={t.paddingOf(s + 1, token + 1)}
                checked={padding[row]}
                onChange={(event) => pad(row, event.target.checked)}
              />
            </td>
          </tr>
        );
      })}
    </tbody>
  );
}

// As it was typed, if that is short.
const axisNumberOf = (value) => (String(value).length <= 8 ? String(value) : axisNumber(value));

function Vector({ name, prop, values }) {
  const t = text.value.norms;
  const write = (c) => (typed) => {
    const value = readNumber(typed);
    if (value === undefined) return false;
    set({ [prop]: vectorTextOf(values.map((old, i) => (i === c ? value : old))) }, prop);
    return true;
  };
  return (
    <tr class="norms-vector">
      <th scope="row">{name}</th>
      {values.map((value, c) => (
        <td key={c}>
          <TypedNumber label={t.vector(name, c + 1)} value={axisNumberOf(value)} onCommit={write(c)} />
        </td>
      ))}
      <td />
    </tr>
  );
}

// Up and down go from row to row, as in a spreadsheet; left and right stay the text's.
function moveByArrow(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step || event.target.type !== 'text') return;
  const rows = [...event.currentTarget.querySelectorAll('tbody tr')];
  const row = event.target.closest('tr');
  const next = rows[rows.indexOf(row) + step];
  const input = next?.cells[event.target.closest('td').cellIndex].querySelector('input');
  if (!input) return;
  event.preventDefault();
  input.focus();
  input.select();
}
