// Presets, trained weights and copies of what is there. A native dialog: it keeps the focus and closes on Escape.
import { useEffect, useRef, useState } from 'preact/hooks';
import { estimate } from '../compute.js';
import { valuesOf } from '../fields.js';
import { si } from '../format.js';
import { PRESETS, TRAINED } from '../presets.js';
import { catalog, state, text, update } from '../session.js';
import { addConfig, duplicateConfig } from '../state.js';
import { LETTERS, Letter, summaryOf } from './configs.jsx';
import { omitsText } from './inspector.jsx';

export function AddDialog({ onClose }) {
  const t = text.value;
  const dialog = useRef(null);
  const [query, setQuery] = useState('');
  useEffect(() => dialog.current.showModal(), []);
  const matches = ({ name }) => name.toLowerCase().includes(query.trim().toLowerCase());
  const add = (next) => {
    update(next, 'add');
    dialog.current.close();
  };
  const entries = (list, toConfig) =>
    list
      .filter(matches)
      .map((entry) => (
        <PresetItem
          key={entry.id}
          config={toConfig(entry)}
          omits={entry.omits}
          onAdd={(config) => add(addConfig(state.value, config))}
        />
      ));
  const groups = [
    ...['wiring', 'model', 'large'].map((group) => [
      t.dialog[group],
      entries(
        PRESETS.filter((preset) => preset.group === group),
        ({ id, name }) => ({ name, preset: id, weights: '', values: {} }),
      ),
    ]),
    [t.dialog.trained, entries(TRAINED, ({ id, name }) => ({ name, preset: '', weights: id, values: {} }))],
    [
      t.dialog.current,
      state.value.configs
        .map((config, index) => ({ ...config, index }))
        .filter(matches)
        .map(({ name, index }) => (
          <li key={index}>
            <button
              type="button"
              aria-label={t.dialog.copyOf(LETTERS[index], name)}
              onClick={() => add(duplicateConfig(state.value, index))}
            >
              <span>
                <Letter index={index} /> <b>{name}</b>
              </span>
              <small>{summaryOf(state.value.configs[index])}</small>
            </button>
          </li>
        )),
    ],
  ].filter(([, items]) => items.length > 0);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: a click beside the dialog; Escape is the dialog's own key
    <dialog
      class="add-dialog"
      ref={dialog}
      aria-labelledby="add-title"
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && dialog.current.close()}
    >
      <div class="dialog-head">
        <h2 id="add-title">{t.dialog.title}</h2>
        <input
          type="search"
          placeholder={t.dialog.search}
          aria-label={t.dialog.search}
          value={query}
          onInput={(event) => setQuery(event.target.value)}
        />
        <button type="button" class="quiet" onClick={() => dialog.current.close()}>
          {t.configs.close}
        </button>
      </div>
      <div class="dialog-body">
        {groups.map(([title, items]) => (
          <section key={title}>
            <h3>{title}</h3>
            <ul class="preset-list">{items}</ul>
          </section>
        ))}
        {groups.length === 0 && <p class="note">{t.dialog.none}</p>}
      </div>
    </dialog>
  );
}

function PresetItem({ config, omits, onAdd }) {
  const t = text.value;
  const { bytes } = estimate(valuesOf(config, catalog.value.fields));
  return (
    <li>
      <button type="button" onClick={() => onAdd(config)}>
        <span>
          <b>{config.name}</b>{' '}
          <span class="figure">
            {si(bytes / 4)} {t.dialog.weights}
          </span>
        </span>
        <small>{summaryOf(config)}</small>
        {omits.length > 0 && (
          <small>
            {t.dialog.leavesOut}
            {omitsText(omits)}
          </small>
        )}
      </button>
    </li>
  );
}
