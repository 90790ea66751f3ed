// Presets, trained weights and copies of what is there. A native dialog: it keeps the focus and closes on Escape.
import { useEffect, useRef, useState } from 'preact/hooks';
import { estimate } from '../compute.js';
import { valuesOf } from '../fields.js';
import { si } from '../format.js';
import { weightFiles } from '../panels/weights/opened.js';
import { layerConfig } from '../panels/weights/subject.js';
import { counterpart, PRESET_GROUPS, PRESETS, TRAINED } from '../presets.js';
import { catalog, state, text, update } from '../session.js';
import { addConfig, duplicateConfig } from '../state.js';
import { LETTERS, Letter, summaryOf } from './configs.jsx';
import { omitsText } from './inspector.jsx';

const ofPreset = ({ id, name }) => ({ name, preset: id, weights: '', values: {} });
const ofTrained = ({ id, name }) => ({ name, preset: '', weights: id, values: {} });

/** Of a file with more layers the others have to be searched for. */
const LISTED = 12;

// Every word of the query is looked for in the name and in what the block is made of.
const finder = (query) => {
  const words = query.trim().toLowerCase().split(/\s+/);
  return (...texts) => words.every((word) => texts.join(' ').toLowerCase().includes(word));
};

export function AddDialog({ onClose }) {
  const t = text.value;
  const dialog = useRef(null);
  const [query, setQuery] = useState('');
  useEffect(() => dialog.current.showModal(), []);
  const find = finder(query);
  const add = (next) => {
    update(next, 'add');
    dialog.current.close();
  };
  const items = (list, toConfig) =>
    list
      .map((entry) => ({ entry, config: toConfig(entry) }))
      .filter(({ config }) => find(config.name, summaryOf(config), placementOf(config)))
      .map(({ entry, config }) => (
        <PresetItem key={entry.id} {...{ entry, config }} onAdd={(chosen) => add(addConfig(state.value, chosen))} />
      ));
  const copies = state.value.configs
    .map((config, index) => ({ config, index }))
    .filter(({ config }) => find(config.name, summaryOf(config)))
    .map(({ config, index }) => (
      <CopyItem key={index} {...{ config, index }} onAdd={() => add(duplicateConfig(state.value, index))} />
    ));
  const layers = weightFiles.value.map((file) => {
    const found = file.summary.layers.filter(({ usable, key }) => usable && find(file.name, key));
    const shown = found.slice(0, LISTED).map((layer) => {
      const config = layerConfig(file, layer);
      return (
        <PresetItem
          key={layer.key}
          entry={{ id: layer.key, name: config.name, omits: [] }}
          config={config}
          onAdd={() => add(addConfig(state.value, config))}
        />
      );
    });
    return [t.dialog.ofFile(file.name), shown, found.length - shown.length];
  });
  const groups = [
    ...layers,
    ...PRESET_GROUPS.map((group) => [
      t.dialog[group],
      items(
        PRESETS.filter((entry) => entry.group === group),
        ofPreset,
      ),
    ]),
    [t.dialog.trained, items(TRAINED, ofTrained)],
    [t.dialog.current, copies],
  ].filter(([, found]) => found.length > 0);
  const count = groups.reduce((sum, [, found]) => sum + found.length, 0);
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
        <span class="note" aria-live="polite">
          {count > 0 && t.dialog.count(count)}
        </span>
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
        {groups.map(([title, found, more]) => (
          <section key={title}>
            <h3>{title}</h3>
            <ul class="preset-list">{found}</ul>
            {more > 0 && <p class="note">{t.dialog.more(more)}</p>}
          </section>
        ))}
        {groups.length === 0 && <p class="note">{t.dialog.none}</p>}
      </div>
    </dialog>
  );
}

const placementOf = (config) => valuesOf(config, catalog.value.fields).placement;

function PresetItem({ entry, config, onAdd }) {
  const t = text.value;
  const { bytes } = estimate(valuesOf(config, catalog.value.fields));
  const layer = counterpart(entry.id);
  return (
    <li class="preset-item">
      <button type="button" onClick={() => onAdd(config)}>
        <span>
          <b>{config.name}</b>{' '}
          <span class="figure">
            {si(bytes / 4)} {t.dialog.weights}
          </span>
        </span>
        <small>{summaryOf(config)}</small>
        {entry.omits.length > 0 && (
          <small class="preset-omits" title={omitsText(entry.omits)}>
            {t.dialog.leavesOut}
            {omitsText(entry.omits)}
          </small>
        )}
      </button>
      {(layer || entry.source) && (
        <div class="preset-foot">
          {entry.source && <Source of={entry} short />}
          {layer && (
            <button
              type="button"
              class="link"
              aria-label={t.dialog.addWithAttention(entry.name)}
              title={`${t.dialog.leavesOut}${omitsText(layer.omits) || '–'}`}
              onClick={() => onAdd(ofPreset(layer))}
            >
              {t.dialog.withAttention}
            </button>
          )}
        </div>
      )}
    </li>
  );
}

/** Where a preset's figures come from. */
export function Source({ of: { name, source }, short }) {
  const t = text.value.dialog;
  const [title, address] = source;
  return (
    <a
      href={address}
      target="_blank"
      rel="noopener noreferrer"
      title={short ? title : undefined}
      aria-label={`${t.sourceOf(name)}: ${title}`}
    >
      {short ? t.source : title}
    </a>
  );
}

function CopyItem({ config, index, onAdd }) {
  const t = text.value.dialog;
  return (
    <li class="preset-item">
      <button type="button" aria-label={t.copyOf(LETTERS[index], config.name)} onClick={onAdd}>
        <span>
          <Letter index={index} /> <b>{config.name}</b>
        </span>
        <small>{summaryOf(config)}</small>
      </button>
    </li>
  );
}
