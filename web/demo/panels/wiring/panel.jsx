// All blocks beside each other: drawing and formula, what differs, gradients, and code of the selected one.
import { drawnOf } from '../../fields.js';
import { BatchNote } from '../../parts/batch-note.jsx';
import { LETTERS } from '../../parts/configs.jsx';
import { Segmented } from '../../parts/controls.jsx';
import { catalog, panelResults, picks, set, text } from '../../session.js';
import { Card } from './card.jsx';
import { Code } from './code.jsx';
import { Gradients, Legend } from './gradient-table.jsx';
import { strokeScale } from './scale.js';
import { AGAINST, SHOWS } from './state.js';
import './style.css';

export function WiringPanel({ onEdit }) {
  const t = text.value.wiring;
  const { space } = text.value.sign;
  const { configs, selected, wiringShow, wiringAgainst } = picks;
  const all = configs.map((config) => drawnOf(config, catalog.value.fields));
  const entries = wiringShow === 'gradient' ? (panelResults.value.wiring?.value?.entries ?? []) : [];
  const strokes = strokeScale(entries);
  const gradientOf = (index) => wiringShow === 'gradient' && { ...entries[index], ...strokes };
  return (
    <>
      <Controls />
      <div class="wirings">
        {configs.map((config, index) => (
          <Card
            key={index}
            {...{ config, index, all, onEdit }}
            reference={referenceOf(index)}
            gradient={gradientOf(index) || null}
          />
        ))}
      </div>
      {wiringShow === 'gradient' && (
        <>
          {strokes && <Legend {...strokes} />}
          <Gradients entries={configs.map((_, index) => entries[index])} />
        </>
      )}
      <Code config={configs[selected]} index={selected} values={all[selected]} />
      <div class="explain">
        <p>
          {wiringShow === 'gradient' ? <GradientText entries={entries} /> : t.explain}
          {space}
          {t.where}
        </p>
        <BatchNote />
        <p class="note">
          {t.click}
          {space}
          {configs.length > 1 && wiringAgainst !== 'none' && t.shaded}
        </p>
      </div>
    </>
  );
}

/** The place of the configuration that one is compared with; null if with none. */
function referenceOf(index) {
  const { wiringAgainst } = picks;
  if (index === 0 || wiringAgainst === 'none') return null;
  return wiringAgainst === 'first' ? 0 : index - 1;
}

function Controls() {
  const t = text.value.wiring;
  const { configs, wiringShow, wiringAgainst } = picks;
  const letters = { first: LETTERS[0] };
  return (
    <div class="controls">
      <Segmented
        label={t.show}
        name="wiring-show"
        value={wiringShow}
        options={SHOWS.map((id) => ({ id, text: t.shows[id] }))}
        onChange={(id) => set({ wiringShow: id })}
      />
      {configs.length > 1 && (
        <Segmented
          label={t.against}
          name="wiring-against"
          value={wiringAgainst}
          options={AGAINST.map((id) => ({ id, text: letters[id] ?? t.againsts[id] }))}
          onChange={(id) => set({ wiringAgainst: id })}
        />
      )}
    </div>
  );
}

function GradientText({ entries }) {
  const rows = new Set(entries.flatMap((entry) => entry?.rows ?? []));
  const { seed } = picks;
  const list = [...rows].sort((a, b) => b - a);
  return text.value.wiring.gradientExplain(list.join('/') || '…', seed);
}
