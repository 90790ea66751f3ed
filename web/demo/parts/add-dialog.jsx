// Presets, trained weights and copies of what is there.
import { useState } from 'preact/hooks';
import { estimate } from '../compute.js';
import { valuesOf } from '../fields.js';
import { si } from '../format.js';
import { weightFiles } from '../panels/weights/opened.js';
import { layerConfig } from '../panels/weights/subject.js';
import { counterpart, PRESET_GROUPS, PRESETS, TRAINED } from '../presets.js';
import { catalog, picks, state, text, update } from '../session.js';
import { Gradually, Staged, useAfterPaint, useLater } from '../shell/later.js';
import { addConfig, duplicateConfig } from '../state.js';
import { LETTERS, Letter, summaryOf } from './configs.jsx';
import { Dialog } from './dialog.jsx';
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
  const [query, setQuery] = useState('');
  const shown = useAfterPaint(query); // what is typed is seen before the list follows
  const complete = useLater(true);
  const add = (next) => {
    update(next, 'add');
    onClose();
  };
  const presets = (find, title, list, toConfig) => [
    title,
    list
      .filter((entry) => find(wordsOf(entry, toConfig)))
      .map((entry) => {
        const onAdd = (chosen) => add(addConfig(state.value, chosen));
        return <PresetItem key={entry.id} entry={entry} config={toConfig(entry)} onAdd={onAdd} />;
      }),
  ];
  const groupsOf = (find, all) => {
    const [first, ...others] = PRESET_GROUPS.map((group) => () => {
      const list = PRESETS.filter((entry) => entry.group === group);
      return presets(find, t.dialog[group], list, ofPreset);
    });
    const rest = () => [
      ...others.map((group) => group()),
      presets(find, t.dialog.trained, TRAINED, ofTrained),
      copiesOf(find, t, add),
    ];
    return [...weightFiles.value.map((file) => layersOf(file, find, t, add)), first(), ...(all ? rest() : [])];
  };
  // Of what has been typed, though the list may not have followed yet.
  const addFirst = (typed) => {
    const [first] = groupsOf(finder(typed), true).flatMap(([, items]) => items);
    first?.props.onAdd(first.props.config);
  };
  const found = groupsOf(finder(shown), complete).filter(([, items]) => items.length > 0);
  const count = found.reduce((sum, [, items]) => sum + items.length, 0);
  return (
    <Dialog class={`add-dialog ${complete ? '' : 'filling'}`} labelledby="add-title" onClose={onClose}>
      <div class="dialog-head">
        <h2 id="add-title">{t.dialog.title}</h2>
        <span class="note" aria-live="polite">
          {complete && count > 0 && t.dialog.count(count)}
        </span>
        <input
          type="search"
          placeholder={t.dialog.search}
          aria-label={t.dialog.search}
          value={query}
          onInput={(event) => setQuery(event.target.value)}
          onKeyDown={({ key, isComposing, target: { value } }) => {
            if (key === 'Enter' && !isComposing && value.trim()) addFirst(value);
          }}
        />
        <button type="button" class="quiet" onClick={onClose}>
          {t.configs.close}
        </button>
      </div>
      <div class="dialog-body">
        <Gradually>
          {found.map(([title, items, more]) => (
            <Staged key={title}>
              <section>
                <h3>{title}</h3>
                <ul class="preset-list">{items}</ul>
                {more > 0 && <p class="note">{t.dialog.more(more)}</p>}
              </section>
            </Staged>
          ))}
        </Gradually>
        {complete && found.length === 0 && <p class="note">{t.dialog.none}</p>}
      </div>
    </Dialog>
  );
}

function copiesOf(find, t, add) {
  const copies = picks.configs
    .map((config, index) => ({ config, index }))
    .filter(({ config }) => find(config.name, summaryOf(config)))
    .map(({ config, index }) => (
      <CopyItem key={index} {...{ config, index }} onAdd={() => add(duplicateConfig(state.value, index))} />
    ));
  return [t.dialog.current, copies];
}

function layersOf(file, find, t, add) {
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
}

// What a preset is found by, made once in each language.
const known = new WeakMap();
function wordsOf(entry, toConfig) {
  const t = text.value;
  if (known.get(entry)?.t !== t) {
    const config = toConfig(entry);
    const { placement } = valuesOf(config, catalog.value.fields);
    known.set(entry, { t, words: [config.name, summaryOf(config), placement].join(' ') });
  }
  return known.get(entry).words;
}

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
