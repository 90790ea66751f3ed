// The list of configurations (wide) and the strip of chips (narrow).
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { valuesOf } from '../fields.js';
import { catalog, results, set, state, text, update } from '../session.js';
import { cleanName, duplicateConfig, editConfig, MAX_CONFIGS, removeConfig } from '../state.js';
import { LETTERS, lookOf } from './look.js';

export { LETTERS, lookOf };

const NORM_NAMES = {
  layer_norm: 'LayerNorm',
  layer_norm_std: 'LayerNorm (std)',
  rms_norm: 'RMSNorm',
  rms_norm_outside: 'RMSNorm (outside)',
  batch_norm: 'BatchNorm',
  group_norm: 'GroupNorm',
  instance_norm: 'InstanceNorm',
  dyt: 'DyT',
};
const ACTIVATION_NAMES = {
  relu: 'ReLU',
  gelu_erf: 'GELU',
  gelu_tanh: 'GELU tanh',
  gelu_quick: 'QuickGELU',
  silu: 'SiLU',
  relu_squared: 'ReLU²',
};
const GATED_NAMES = {
  silu: 'SwiGLU',
  gelu_erf: 'GEGLU',
  gelu_tanh: 'GEGLU tanh',
  relu: 'ReGLU',
  sigmoid: 'GLU',
  identity: 'Bilinear',
};

/** The field's usual name where it has one, the module's otherwise. */
export const normName = (name) => NORM_NAMES[name] ?? name;
export const activationName = (name, gated) =>
  gated ? (GATED_NAMES[name] ?? `${ACTIVATION_NAMES[name] ?? name} GLU`) : (ACTIVATION_NAMES[name] ?? name);

/** "LayerNorm · GELU · 128 × 512" */
export function summaryOf(config) {
  if (!catalog.value) return '\u00a0';
  const values = valuesOf(config, catalog.value.fields);
  const norm = ['none', 'rezero'].includes(values.placement) || values.norm === 'none' ? null : normName(values.norm);
  const sizes = `${values.d_model} × ${values.d_ff ?? 4 * values.d_model}`;
  return [norm, activationName(values.activation, values.gated), sizes].filter(Boolean).join(' · ');
}

/** A letter in the configuration's colour. */
export const Letter = ({ index }) => <b class={`letter ${lookOf(index)}`}>{LETTERS[index]}</b>;

export function ConfigList({ onAdd }) {
  const t = text.value;
  const { configs, selected } = state.value;
  return (
    <section aria-label={t.configs.title}>
      <ul class="config-list">
        {configs.map((config, index) => (
          <ConfigCard key={index} config={config} index={index} selected={index === selected} />
        ))}
      </ul>
      <div class="pad">
        <AddButton onAdd={onAdd} label={`+ ${t.configs.add}`} />
      </div>
    </section>
  );
}

function AddButton({ onAdd, label }) {
  const t = text.value;
  const full = state.value.configs.length >= MAX_CONFIGS;
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

function ConfigCard({ config, index, selected }) {
  const [renaming, setRenaming] = useState(false);
  const error = results.value[index]?.error;
  return (
    <li class={`config-card ${lookOf(index)} ${selected ? 'selected' : ''}`}>
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
  return (
    <p class="error-text config-error" role="alert">
      {t.run.failed} {error.message.replace(/\.?$/, '.')}
      {error.code === 'OUT_OF_MEMORY' && ` ${t.run.memoryHint}`} <code>{error.code}</code>
    </p>
  );
}

function NameField({ index, onDone }) {
  const t = text.value;
  const field = useRef(null);
  const done = useRef(false);
  useLayoutEffect(() => field.current.select(), []);
  const finish = (keep) => {
    if (done.current) return;
    done.current = true;
    if (keep) update(editConfig(state.value, index, { name: cleanName(field.current.value) }), `rename ${index}`);
    onDone();
  };
  return (
    <input
      ref={field}
      class="name-field"
      aria-label={t.configs.name}
      maxLength={40}
      defaultValue={state.value.configs[index].name}
      onBlur={() => finish(true)}
      onKeyDown={(event) => {
        if (event.key === 'Enter') finish(true);
        if (event.key === 'Escape') finish(false);
      }}
    />
  );
}

function ConfigMenu({ index, onRename }) {
  const t = text.value;
  const [open, setOpen] = useState(false);
  const root = useRef(null);
  const { configs } = state.value;
  // Before the next key arrives.
  useLayoutEffect(() => {
    if (!open) return undefined;
    root.current.querySelector('[role=menuitem]:not(:disabled)').focus();
    const outside = (event) => root.current.contains(event.target) || setOpen(false);
    addEventListener('pointerdown', outside);
    return () => removeEventListener('pointerdown', outside);
  }, [open]);
  const close = () => {
    setOpen(false);
    root.current.querySelector('button').focus();
  };
  const onKeyDown = (event) => {
    if (event.key === 'Escape' && open) close();
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!open || !step) return;
    event.preventDefault();
    const items = [...root.current.querySelectorAll('[role=menuitem]:not(:disabled)')];
    items[(items.indexOf(document.activeElement) + step + items.length) % items.length].focus();
  };
  const item = (label, act, disabled) => (
    <button
      type="button"
      role="menuitem"
      disabled={disabled}
      onClick={() => {
        setOpen(false);
        act();
      }}
    >
      {label}
    </button>
  );
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: keys of the menu inside
    <div class="menu" ref={root} onKeyDown={onKeyDown}>
      <button
        type="button"
        class="quiet dots"
        aria-haspopup="menu"
        aria-expanded={open}
        aria-label={t.configs.menu(configs[index].name)}
        onClick={() => setOpen(!open)}
      >
        ⋯
      </button>
      {open && (
        <div role="menu" class="menu-items">
          {item(t.configs.rename, onRename)}
          {item(
            t.configs.duplicate,
            () => update(duplicateConfig(state.value, index), 'duplicate'),
            configs.length >= MAX_CONFIGS,
          )}
          {item(t.configs.remove, () => update(removeConfig(state.value, index), 'remove'), configs.length <= 1)}
        </div>
      )}
    </div>
  );
}

/** For the sheet, where there is room for buttons and no list. */
export function ConfigActions() {
  const t = text.value;
  const { configs, selected } = state.value;
  const [renaming, setRenaming] = useState(false);
  if (renaming) return <NameField index={selected} onDone={() => setRenaming(false)} />;
  return (
    <div class="config-actions">
      <button type="button" class="button small" onClick={() => setRenaming(true)}>
        {t.configs.rename}
      </button>
      <button
        type="button"
        class="button small"
        disabled={configs.length >= MAX_CONFIGS}
        onClick={() => update(duplicateConfig(state.value, selected), 'duplicate')}
      >
        {t.configs.duplicate}
      </button>
      <button
        type="button"
        class="button small"
        disabled={configs.length <= 1}
        onClick={() => update(removeConfig(state.value, selected), 'remove')}
      >
        {t.configs.remove}
      </button>
    </div>
  );
}

/** Chips: a tap selects, a tap on the selected one opens its inspector. */
export function ConfigChips({ onAdd, onEdit }) {
  const t = text.value;
  const { configs, selected } = state.value;
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
