// What is chosen above the charts: the activations, the range of x, when one counts as flat.
import { activationName, Letter } from '../../parts/configs.jsx';
import { LabelledNumber } from '../../parts/controls.jsx';
import { TypedNumber } from '../../parts/field.jsx';
import { FACTOR, moved, zoomed } from '../../parts/zoom.js';
import { catalog, picks, set, text } from '../../session.js';
import { curvesOfConfigs } from './job.js';
import { FAR, NAMES } from './state.js';
import { lettersOf, pointing, resetRange, setRange } from './view.js';

// A configuration's is shown unless it has been switched off, another one if it has been chosen.
function toggle(name, isOwn, isShown) {
  const { activations, activationsOff } = picks;
  const without = (list) => list.filter((other) => other !== name);
  const inOrder = (list) => NAMES.filter((other) => list.includes(other));
  if (isShown) {
    set({
      activations: without(activations),
      activationsOff: isOwn ? inOrder([...activationsOff, name]) : activationsOff,
    });
  } else {
    set({
      activations: isOwn ? activations : inOrder([...activations, name]),
      activationsOff: without(activationsOff),
    });
  }
}

export function Chips() {
  const t = text.value.activations;
  const { configs, activations, activationsOff } = picks;
  const own = curvesOfConfigs(configs, catalog.value);
  return (
    <fieldset class="acts-chips">
      <legend class="visually-hidden">{t.choose}</legend>
      {NAMES.map((name) => {
        const owners = own.flatMap((curve, index) => (curve?.name === name ? [index] : []));
        const shown = !activationsOff.includes(name) && (owners.length > 0 || activations.includes(name));
        const label = activationName(name);
        return (
          <button
            key={name}
            type="button"
            class="acts-chip"
            aria-pressed={shown}
            title={owners.length > 0 ? t.ofConfigs(lettersOf(owners)) : undefined}
            {...pointing(name)}
            onClick={() => toggle(name, owners.length > 0, shown)}
          >
            {label}
            {owners.map((index) => (
              <span key={index}>
                {' '}
                <Letter index={index} />
              </span>
            ))}
          </button>
        );
      })}
    </fieldset>
  );
}

const ICONS = { zoomIn: 'M8 3v10M3 8h10', zoomOut: 'M3 8h10', left: 'M10 3 5 8l5 5', right: 'm6 3 5 5-5 5' };

export function RangeControl({ range }) {
  const t = text.value.activations;
  const { flat } = picks;
  const actions = {
    zoomIn: () => setRange(...zoomed(range, 1 / FACTOR)),
    zoomOut: () => setRange(...zoomed(range, FACTOR)),
    left: () => setRange(...moved(range, -0.25)),
    right: () => setRange(...moved(range, 0.25)),
  };
  const commit = (end) => (typed) => {
    const value = Number(typed.trim().replace('\u2212', '-'));
    if (typed.trim() === '' || !Number.isFinite(value)) return false;
    set({ [end]: Math.min(FAR, Math.max(-FAR, value)) });
    return true;
  };
  const [low, high] = range.map((value) => String(Number(value.toPrecision(6))));
  return (
    <div class="controls acts-range">
      <span class="labelled">
        <span class="caption">{t.range}</span>
        <TypedNumber label={t.low} value={low} onCommit={commit('actLow')} />
        <span class="caption">{t.to}</span>
        <TypedNumber label={t.high} value={high} onCommit={commit('actHigh')} />
      </span>
      <span class="acts-zoom">
        {Object.entries(actions).map(([name, act]) => (
          <button key={name} type="button" class="quiet icon" aria-label={t[name]} title={t[name]} onClick={act}>
            <svg viewBox="0 0 16 16" aria-hidden="true">
              <path d={ICONS[name]} />
            </svg>
          </button>
        ))}
        <button type="button" class="quiet small" onClick={resetRange}>
          {t.reset}
        </button>
      </span>
      <LabelledNumber
        id="acts-flat"
        label={t.flat}
        value={flat}
        min={0}
        max={1}
        onChange={(value) => set({ flat: value })}
      />
    </div>
  );
}
