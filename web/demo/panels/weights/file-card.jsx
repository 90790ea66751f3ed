// An open file: what it is, its metadata, and its feed-forward layers to choose from.
import { useState } from 'preact/hooks';
import { referenceTo } from '../../files/reference.js';
import { count, si } from '../../format.js';
import { Table } from '../../parts/chart.jsx';
import { activationName, Letter, normName } from '../../parts/configs.jsx';
import { catalog, picks, state, text, update } from '../../session.js';
import { MAX_CONFIGS } from '../../state.js';
import { closeWeights } from './open-file.js';
import { isFull, switchLayer, withLayer } from './subject.js';
import { errorText } from './words.js';

const LISTED = 64;

export function FileCard({ file, newest }) {
  const t = text.value.weights;
  const { summary, name } = file;
  const [asked, setAsked] = useState(null);
  const shown = asked ?? newest; // of several files the older ones are only named
  const usable = summary.layers.filter((layer) => layer.usable);
  const dtypes = summary.dtypes.map(([dtype, n]) => `${dtype} ${count(n)}`).join(', ');
  return (
    <section class="card weights-file" aria-label={name}>
      <div class="card-head">
        <div>
          <h2>{name}</h2>
          <p class="note">
            {[
              `${summary.format} ${summary.version}`.trim(),
              si(summary.size, 'B'),
              t.file.tensors(summary.tensors, count(summary.tensors)),
              dtypes,
              t.file.layers(summary.layers.length, usable.length),
            ]
              .filter(Boolean)
              .join(' · ')}
          </p>
        </div>
        <div class="card-tools">
          <button
            type="button"
            class="quiet small"
            aria-expanded={shown}
            aria-label={t.layersOf(shown ? t.hide : t.show, name)}
            onClick={() => setAsked(!shown)}
          >
            {shown ? t.hide : t.show}
          </button>
          <button
            type="button"
            class="quiet icon"
            aria-label={t.close(name)}
            title={t.close(name)}
            onClick={() => closeWeights(file.key)}
          >
            ✕
          </button>
        </div>
      </div>
      {shown && (summary.layers.length === 0 ? <NoLayers summary={summary} /> : <Layers file={file} />)}
      {shown && summary.metadata.length > 0 && (
        <details class="weights-metadata">
          <summary>{t.file.metadata(summary.metadata.length)}</summary>
          <Table head={[t.file.key, t.file.value]} rows={summary.metadata} caption={t.file.metadata('')} />
        </details>
      )}
    </section>
  );
}

function NoLayers({ summary: { format, quantised } }) {
  const { noLayers, noLayersHow: how } = text.value.weights.file;
  const isGraph = format === 'ONNX';
  return (
    <p class="error-text" role="alert">
      {noLayers} {isGraph ? how.graph : how.names} {quantised.length > 0 && how.quantised(quantised.join(', '))}
    </p>
  );
}

function Layers({ file }) {
  const t = text.value.weights.file;
  const [query, setQuery] = useState('');
  const { layers } = file.summary;
  const wanted = query.trim().toLowerCase();
  const found = layers.filter(({ key }) => key.toLowerCase().includes(wanted));
  const shown = found.slice(0, LISTED);
  return (
    <>
      {layers.length > 12 && (
        <input
          type="search"
          class="weights-find"
          placeholder={t.find}
          aria-label={t.find}
          value={query}
          onInput={(event) => setQuery(event.target.value)}
        />
      )}
      <div class="weights-layers">
        <Table
          head={[t.layer, t.block, t.size, t.type, t.bytes, t.used]}
          rows={shown.map((layer) => rowOf(file, layer))}
          caption={t.layers(layers.length, layers.length)}
        />
      </div>
      {found.length > shown.length && <p class="note">{t.shown(shown.length, count(found.length))}</p>}
      <Guess layers={layers} />
      <Unused layers={layers} />
    </>
  );
}

function rowOf(file, layer) {
  const { key, fixed, dtypes, bytes, problem } = layer;
  if (!layer.usable) {
    return [
      key,
      <span key="why" class="weights-problem">
        {problem ? errorText(problem) : ''}
      </span>,
      fixed.d_model ? `${fixed.d_model} × ${fixed.d_ff}` : '–',
      dtypes.join(', '),
      '–',
      '',
    ];
  }
  return [
    <Use key="use" file={file} layer={layer} />,
    blockText(layer),
    `${fixed.d_model} × ${fixed.d_ff}`,
    dtypes.join(', '),
    si(bytes, 'B'),
    <UsedBy key="used" file={file} layer={layer} />,
  ];
}

const GREEK = { weight: 'γ', bias: 'β' };

/** "RMSNorm (γ not in this file) · SwiGLU · pre" */
function blockText({ fixed, start, initial, unused }) {
  const t = text.value.weights.file;
  const own = start.norm === 'none' ? t.noNorm : normName(start.norm);
  const symbols = [...new Set(initial.map((name) => GREEK[name.replace(/^.*_/, '')]))].join(text.value.sign.list);
  const norm = initial.length > 0 ? (unused.length > 0 ? t.initial : t.without)(own, symbols) : own;
  const placement = start.placement === 'none' ? '' : start.placement;
  return [norm, activationName(start.activation, fixed.gated), placement].filter(Boolean).join(' · ');
}

function Use({ file, layer }) {
  const t = text.value.weights.file;
  const { configs, selected } = picks;
  const reference = referenceTo(file.name, layer);
  const chosen = configs[selected].weights === reference;
  const next = switchLayer(state.value, file, layer);
  return (
    <button
      type="button"
      class="link weights-use"
      aria-label={t.use(layer.key)}
      aria-pressed={chosen}
      disabled={next === state.value && !chosen}
      title={next === state.value && !chosen ? t.full(MAX_CONFIGS) : undefined}
      onClick={() => update(next, `layer ${selected}`)}
    >
      {layer.key}
    </button>
  );
}

function UsedBy({ file, layer }) {
  const t = text.value.weights.file;
  const { configs } = picks;
  const reference = referenceTo(file.name, layer);
  const users = configs.flatMap(({ weights }, index) => (weights === reference ? [index] : []));
  if (users.length > 0) return users.map((index) => <Letter key={index} index={index} />);
  return (
    <button
      type="button"
      class="link"
      aria-label={t.addLong(layer.key)}
      disabled={isFull(state.value) || !catalog.value}
      onClick={() => update(withLayer(state.value, file, layer), 'add')}
    >
      {t.add}
    </button>
  );
}

// What is known only by a name is said to be so.
function Guess({ layers }) {
  const t = text.value.weights.file;
  const usable = layers.filter((layer) => layer.usable);
  if (usable.length === 0) return null;
  const guessed = usable.filter(({ guessed }) => guessed.length > 0);
  if (guessed.length === 0) return <p class="note">{t.fromGraph}</p>;
  const families = [...new Set(guessed.map(({ family }) => family || t.unknownFamily))].join(text.value.sign.list);
  const withEps = guessed.every(({ guessed: fields }) => !fields.includes('eps'));
  const doubts = [...new Set(guessed.flatMap(({ doubt }) => doubt ?? []))].map((doubt) => t.doubts[doubt]);
  return <p class="note">{[(withEps ? t.guessEps : t.guess)(families), ...doubts].join(text.value.sign.space)}</p>;
}

// Norms that are in the file, of layers whose names say nothing.
function Unused({ layers }) {
  const names = [...new Set(layers.flatMap(({ usable, unused }) => (usable ? unused : [])))];
  return names.length > 0 && <p class="note">{text.value.weights.file.unused(names.slice(0, 8))}</p>;
}
