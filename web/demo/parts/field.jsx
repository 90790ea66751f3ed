// One field of a configuration: label, control, typed value, reset, help, error. Everything follows from an.fields.
import { useEffect, useState } from 'preact/hooks';
import { defaultOf, fromPosition, isFixed, ownWidth, parseField, resetOf, toPosition } from '../fields.js';
import { fieldValue, plainFormula } from '../format.js';
import { catalog, picks, state, text, update } from '../session.js';
import { editField } from '../state.js';
import { activationName, lookOf } from './configs.jsx';

/** What is shown as the field's name: translated where there is a translation, a parameter's own name. */
export function labelOf(field, values) {
  const translated = text.value.fields[field.name]?.[0];
  const parameter = /^activation_p([01])$/.exec(field.name)?.[1];
  if (parameter !== undefined) {
    const { params } = catalog.value.activations.find(({ name }) => name === values.activation) ?? { params: [] };
    return params[parameter]?.name ?? translated ?? field.name;
  }
  return translated ?? field.name;
}

const helpOf = (field) => {
  const translated = text.value.fields[field.name]?.[1];
  return translated ? `${translated}（${field.name}）` : field.help;
};

/** @param props.reason why the field has no effect here */
export function Field({ field, index, values, resolved, differs, error, reason }) {
  const t = text.value;
  const config = picks.configs[index];
  const [asked, setAsked] = useState(false);
  const [typed, setTyped] = useState(null); // { error, detail } of what was typed last
  if (!config) return null; // it has been removed, and its group is about to be drawn anew
  const id = `field-${field.name}`;
  const name = labelOf(field, values);
  const matched = field.name === 'd_ff' && config.matched;
  const fixed = isFixed(config, field.name) || Boolean(matched);
  const { changed } = resetOf(config, field);
  const value = values[field.name];
  const edit = (next) => {
    setTyped(null);
    const chosen = typeof next === 'number' ? '' : next; // each choice is a step of undo, a slider's way is one
    update(editField(state.value, index, field.name, next), `${index} ${field.name} ${chosen}`);
  };
  const message = typed ? t.fieldErrors[typed.error](typed.detail ?? {}) : error;
  const control = {
    field,
    id,
    name,
    value,
    resolved,
    fixed,
    edit,
    index,
    onError: setTyped,
    describedBy: `${id}-help ${message ? `${id}-error` : ''}`,
  };
  return (
    <div
      class={`field ${differs ? 'differs' : ''} ${fixed ? 'fixed' : ''} ${message ? 'wrong' : ''} ${reason ? 'unused' : ''}`}
    >
      <span class="field-label">
        <label for={id} class={differs ? lookOf(index) : undefined}>
          {name}
        </label>
        <button
          type="button"
          class="ask"
          aria-expanded={asked}
          aria-label={t.inspector.help(name)}
          onClick={() => setAsked(!asked)}
        >
          ?
        </button>
        {differs && (
          <abbr class="not-a" title={t.inspector.differsLong}>
            {t.inspector.differs}
          </abbr>
        )}
      </span>
      {field.options || (field.type === 'bool' && defaultOf(field) === null) ? (
        <Select {...control} />
      ) : field.type === 'bool' ? (
        <Switch {...control} />
      ) : (
        <NumberControl {...control} />
      )}
      {changed && !fixed ? (
        <button
          type="button"
          class="reset"
          aria-label={t.inspector.reset(name)}
          title={t.inspector.reset(name)}
          onClick={() => edit(undefined)}
        >
          <svg viewBox="0 0 16 16" aria-hidden="true">
            <path d="M3.5 8a4.5 4.5 0 1 0 1.5-3.3M5 2v3h3" />
          </svg>
        </button>
      ) : (
        <span class="reset" />
      )}
      <p class={asked ? 'field-help' : 'visually-hidden'} id={`${id}-help`}>
        {helpOf(field)} {fixed && !matched && t.inspector.fixed}
        {field.name === 'placement' && ` ${catalog.value.placements.find((entry) => entry.name === value)?.help ?? ''}`}
      </p>
      {matched && <p class="note">{t.inspector.matched(ownWidth(config, catalog.value.fields), matched)}</p>}
      {reason && <p class="note">{reason}</p>}
      {message && (
        <p class="error-text" id={`${id}-error`} role="alert">
          {message}
        </p>
      )}
    </div>
  );
}

function optionText(field, option) {
  if (field.type !== 'placement') return fieldValue(option);
  const formula = catalog.value.placements.find(({ name }) => name === option)?.formula;
  return formula ? `${option}: ${plainFormula(formula)}` : option;
}

function Select({ field, id, value, resolved, fixed, edit, describedBy }) {
  const t = text.value;
  const automatic = defaultOf(field) === null;
  const options = field.options ?? [true, false];
  return (
    <span class="control">
      <select
        id={id}
        value={String(value ?? 'auto')}
        disabled={fixed}
        aria-describedby={describedBy}
        onChange={(event) => edit(options.find((option) => String(option) === event.target.value) ?? null)}
      >
        {automatic && (
          <option value="auto">{`${t.inspector.auto}${resolved === undefined ? '' : `: ${fieldValue(resolved)}`}`}</option>
        )}
        {!options.includes(value) && value !== null && <option value={String(value)}>{String(value)}</option>}
        {options.map((option) => (
          <option
            key={String(option)}
            value={String(option)}
            title={field.type === 'activation' ? activationName(option) : undefined}
          >
            {optionText(field, option)}
          </option>
        ))}
      </select>
    </span>
  );
}

function Switch({ id, value, fixed, edit, describedBy }) {
  const t = text.value;
  return (
    <span class="control">
      <button
        type="button"
        class="switch"
        role="switch"
        id={id}
        aria-checked={value === true}
        disabled={fixed}
        aria-describedby={describedBy}
        onClick={() => edit(!value)}
      >
        <span class="knob" aria-hidden="true" />
        <span class="switch-text">{value ? t.inspector.on : t.inspector.off}</span>
      </button>
    </span>
  );
}

const STEPS = 240;

function NumberControl({ field, id, name, value, resolved, fixed, edit, onError, describedBy }) {
  const t = text.value;
  const shown = typeof value === 'number' ? value : resolved;
  const usable = typeof shown === 'number';
  return (
    <span class="control number">
      <input
        type="range"
        id={id}
        min={0}
        max={STEPS}
        step={1}
        disabled={fixed}
        value={usable ? Math.round(STEPS * toPosition(field, shown)) : 0}
        aria-valuetext={usable ? fieldValue(shown) : t.inspector.auto}
        aria-describedby={describedBy}
        onInput={(event) => edit(fromPosition(field, event.target.valueAsNumber / STEPS))}
      />
      <TypedNumber
        label={t.inspector.typed(name)}
        value={value === null ? '' : fieldValue(value)}
        placeholder={value === null ? (usable ? `${t.inspector.auto} ${fieldValue(shown)}` : t.inspector.auto) : ''}
        disabled={fixed}
        describedBy={describedBy}
        onCommit={(typed) => {
          const parsed = typed.trim() === '' && defaultOf(field) === null ? { value: null } : parseField(field, typed);
          if (parsed.error) onError(parsed);
          else edit(parsed.value);
          return !parsed.error;
        }}
      />
    </span>
  );
}

/** A text field that hands over what was typed on Enter and on leaving; Escape gives it up. */
export function TypedNumber({ label, value, placeholder, disabled, describedBy, onCommit, id }) {
  const [draft, setDraft] = useState(null);
  // A value that changes elsewhere replaces the draft.
  useEffect(() => setDraft(null), [value]);
  const commit = () => {
    if (draft === null || draft === value) return;
    if (onCommit(draft)) setDraft(null);
  };
  return (
    <input
      type="text"
      id={id}
      class="typed"
      inputMode="decimal"
      autocomplete="off"
      aria-label={label}
      aria-describedby={describedBy}
      disabled={disabled}
      placeholder={placeholder}
      value={draft ?? value}
      onInput={(event) => setDraft(event.target.value)}
      onBlur={commit}
      onKeyDown={(event) => {
        if (event.key === 'Enter') commit();
        if (event.key === 'Escape') setDraft(null);
      }}
    />
  );
}
