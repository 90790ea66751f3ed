// The list of configurations (wide) and the strip of chips (narrow).
import { useComputed } from '@preact/signals';
import { useState } from 'preact/hooks';
import { hasNorm, ownWidth, valuesOf } from '../fields.js';
import { activationName, normName } from '../names.js';
import { catalog, picks, results, set, text } from '../session.js';
import { MAX_CONFIGS } from '../state.js';
import { ConfigMenu, move, NameField } from './config-menu.jsx';
import { LETTERS, lookOf } from './look.js';
import { ModuleError } from './module-error.jsx';

export { activationName, LETTERS, lookOf, normName };

/** "LayerNorm · attention · GELU · 128 × 512"; where equal parameters change d_ff, "512 → 341". */
export function summaryOf(config) {
  if (!catalog.value) return '\u00a0';
  const { fields } = catalog.value;
  const values = valuesOf(config, fields);
  const norm = hasNorm(values) ? normName(values.norm) : null;
  const mixing = values.mixing === 'none' ? null : text.value.mixings[values.mixing];
  const width = values.d_ff ?? 4 * values.d_model;
  const sizes = `${values.d_model} × ${config.matched ? `${ownWidth(config, fields)} → ` : ''}${width}`;
  return [norm, mixing, activationName(values.activation, values.gated), sizes].filter(Boolean).join(' · ');
}

/** A letter in the configuration's colour. */
export const Letter = ({ index }) => <b class={`letter ${lookOf(index)}`}>{LETTERS[index]}</b>;

export function ConfigList({ onAdd }) {
  const t = text.value;
  const { configs, selected } = picks;
  const [drag, setDrag] = useState(null); // { from, to }
  // Before which card the dragged one would come to stand.
  const before = drag && (drag.to > drag.from ? drag.to + 1 : drag.to);
  return (
    <section aria-label={t.configs.title}>
      <h2 class="visually-hidden">{t.configs.title}</h2>
      <ul class={`config-list ${before === configs.length ? 'drop-last' : ''}`}>
        {configs.map((config, index) => (
          <ConfigCard
            key={index}
            {...{ config, index, setDrag }}
            selected={index === selected}
            mark={index === drag?.from ? 'dragged' : index === before ? 'drop-before' : ''}
          />
        ))}
      </ul>
      <div class="pad list-foot">
        <AddButton onAdd={onAdd} label={`+ ${t.configs.add}`} />
        <EqualParameters />
      </div>
    </section>
  );
}

/** Sizes the FFNs of all configurations alike, and says which it has changed. */
export function EqualParameters() {
  const t = text.value.configs;
  const { configs, equalParameters } = picks;
  if (configs.length < 2 || !catalog.value) return null;
  const { fields } = catalog.value;
  const changed = configs.flatMap((config, index) =>
    config.matched ? `${LETTERS[index]} ${ownWidth(config, fields)} → ${config.matched}` : [],
  );
  return (
    <div class="equal-parameters">
      <button
        type="button"
        class="switch"
        role="switch"
        aria-checked={equalParameters}
        title={t.equalHelp}
        onClick={() => set({ equalParameters: !equalParameters }, 'equal parameters')}
      >
        <span class="knob" aria-hidden="true" />
        <span class="switch-text">{t.equal}</span>
      </button>
      <p class="note">
        {equalParameters
          ? changed.length > 0
            ? t.equalChanged(changed.join(text.value.sign.comma))
            : t.equalAlready
          : t.equalHelp}
      </p>
    </div>
  );
}

// The place at which a dragged card is let go: below every other one whose middle is above the pointer.
const placeAt = (list, from, y) =>
  [...list.children].filter((card, i) => {
    const { top, height } = card.getBoundingClientRect();
    return i !== from && top + height / 2 < y;
  }).length;

/** Drags its card along the list; the menu does the same by keyboard. */
function Handle({ index, setDrag }) {
  const t = text.value;
  const onPointerDown = (event) => {
    if (event.button !== 0) return;
    event.preventDefault();
    const handle = event.currentTarget;
    const list = handle.closest('ul');
    let to = index;
    const follow = ({ clientY }) => {
      to = placeAt(list, index, clientY);
      setDrag({ from: index, to });
    };
    const end = ({ type }) => {
      handle.removeEventListener('pointermove', follow);
      for (const name of ['pointerup', 'pointercancel']) handle.removeEventListener(name, end);
      setDrag(null);
      if (type === 'pointerup') move(index, to);
    };
    handle.setPointerCapture(event.pointerId);
    handle.addEventListener('pointermove', follow);
    for (const name of ['pointerup', 'pointercancel']) handle.addEventListener(name, end);
  };
  return (
    <span class="handle" aria-hidden="true" title={t.configs.drag} onPointerDown={onPointerDown}>
      <svg viewBox="0 0 8 16" aria-hidden="true">
        <path d="M2 4h0M6 4h0M2 8h0M6 8h0M2 12h0M6 12h0" />
      </svg>
    </span>
  );
}

function AddButton({ onAdd, label }) {
  const t = text.value;
  const full = picks.configs.length >= MAX_CONFIGS;
  return (
    <button
      type="button"
      class="button wide-button"
      disabled={full || !catalog.value}
      title={full ? t.configs.full(MAX_CONFIGS) : undefined}
      onClick={onAdd}
    >
      {label}
    </button>
  );
}

function ConfigCard({ config, index, selected, setDrag, mark }) {
  const [renaming, setRenaming] = useState(false);
  const error = useComputed(() => results.value[index]?.error).value; // not for every other news of a run
  return (
    <li class={`config-card ${lookOf(index)} ${selected ? 'selected' : ''} ${mark}`}>
      <Handle index={index} setDrag={setDrag} />
      {renaming ? (
        <div class="config-main">
          <Letter index={index} />
          <NameField index={index} onDone={() => setRenaming(false)} />
        </div>
      ) : (
        <button
          type="button"
          class="config-main"
          aria-pressed={selected}
          onClick={() => set({ selected: index })}
          onDblClick={() => setRenaming(true)}
        >
          <Letter index={index} />
          <span class="config-text">
            <b>{config.name}</b>
            <small>{summaryOf(config)}</small>
          </span>
        </button>
      )}
      <ConfigMenu index={index} onRename={() => setRenaming(true)} />
      {error && <ConfigError error={error} />}
    </li>
  );
}

export function ConfigError({ error }) {
  const t = text.value;
  const ofFile = t.weights.errors[error.code]?.(error.detail ?? {});
  return (
    <p class="error-text config-error" role="alert">
      {t.run.failed}
      {t.sign.space}
      {ofFile ? (
        ofFile.replace(/[.。]?$/, t.sign.stop.trim())
      ) : (
        <ModuleError error={error} hint={error.code === 'OUT_OF_MEMORY' ? t.run.memoryHint : ''} />
      )}{' '}
      <code>{error.code}</code>
    </p>
  );
}

/** Chips: a tap selects, a tap on the selected one opens its inspector. */
export function ConfigChips({ onAdd, onEdit }) {
  const t = text.value;
  const { configs, selected } = picks;
  return (
    <section class="chips" aria-label={t.configs.title}>
      {configs.map((config, index) => (
        <button
          key={index}
          type="button"
          class={`chip ${lookOf(index)} ${index === selected ? 'selected' : ''} ${results.value[index]?.error ? 'failed' : ''}`}
          aria-pressed={index === selected}
          onClick={() => (index === selected ? onEdit() : set({ selected: index }))}
        >
          <Letter index={index} /> <span class="chip-name">{config.name}</span>
          {index === selected && (
            <svg viewBox="0 0 16 16" class="pencil" role="img" aria-label={t.configs.edit(LETTERS[index])}>
              <path d="m3 13 .6-2.8L10.5 3.3l2.2 2.2-6.9 6.9z" />
            </svg>
          )}
        </button>
      ))}
      <button type="button" class="chip add" disabled={configs.length >= MAX_CONFIGS || !catalog.value} onClick={onAdd}>
        + {t.configs.addShort}
      </button>
    </section>
  );
}
