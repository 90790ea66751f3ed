// What the Depth panel asks for: how deep, how many seeds, and what is switched for all configurations at once.
import { useState } from 'preact/hooks';
import { LabelledNumber, Segmented } from '../../parts/controls.jsx';
import { picks, set, text } from '../../session.js';
import { DEPTH_PROPS } from './state.js';

const EDITS = DEPTH_PROPS.filter(({ view }) => !view);
const identity = (value) => value;

function Count({ name, id, label, hint, slider }) {
  const { min, max } = DEPTH_PROPS.find((prop) => prop.name === name).type;
  return (
    <LabelledNumber
      id={id}
      label={label}
      hint={hint}
      value={picks[name]}
      min={min}
      max={max}
      integer
      slider={slider && { min, max, to: identity, from: identity }}
      onChange={(value) => set({ [name]: value }, name)}
    />
  );
}

export function Controls() {
  const d = text.value.depth;
  const { depthResidual, depthMixing } = picks;
  const [open, setOpen] = useState(false);
  const changed = EDITS.some(({ name, initial }) => picks[name] !== initial);
  const choices = (texts) => Object.entries(texts).map(([id, label]) => ({ id, text: label }));
  return (
    <div class="depth-controls">
      <div class="controls">
        <Segmented
          label={d.residual}
          hint={d.residualHint}
          name="depth-residual"
          value={depthResidual}
          options={choices(d.residuals)}
          onChange={(value) => set({ depthResidual: value }, 'depthResidual')}
        />
        <Segmented
          label={d.mixing}
          hint={d.mixingHint}
          name="depth-mixing"
          value={depthMixing}
          options={choices(d.mixings)}
          onChange={(value) => set({ depthMixing: value }, 'depthMixing')}
        />
      </div>
      <div class="controls">
        <Count name="depthBlocks" id="depth-blocks" label={d.blocks} hint={d.blocksHint} slider />
        <Count name="depthSeeds" id="depth-seeds" label={d.seeds} hint={d.seedsHint} slider />
        <SizesButton open={open} onClick={() => setOpen(!open)} />
        {changed && (
          <button
            type="button"
            class="quiet small"
            title={d.resetHint}
            onClick={() => set(Object.fromEntries(EDITS.map(({ name, initial }) => [name, initial])), 'depth reset')}
          >
            {d.reset}
          </button>
        )}
      </div>
      {open && (
        <div class="controls" id="depth-sizes">
          <Count name="depthWidth" id="depth-width" label={d.width} hint={d.widthHint} slider />
          <Count name="depthSequences" id="depth-sequences" label={d.sequences} slider />
          <Count name="depthLength" id="depth-length" label={d.length} slider />
        </div>
      )}
    </div>
  );
}

function SizesButton({ open, onClick }) {
  const d = text.value.depth;
  const { depthWidth, depthSequences, depthLength } = picks;
  return (
    <button
      type="button"
      class="quiet small depth-sizes"
      aria-expanded={open}
      aria-controls="depth-sizes"
      title={d.sizesHint}
      onClick={onClick}
    >
      {d.sizes(depthWidth, depthSequences, depthLength)} {open ? '▴' : '▾'}
    </button>
  );
}
