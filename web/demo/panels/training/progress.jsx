// How far the training is, what an edit has done, and what has diverged: in words.
import { count, number } from '../../format.js';
import { nameOf } from '../../parts/chart.jsx';
import { LETTERS, lookOf } from '../../parts/look.js';
import { ModuleError } from '../../parts/module-error.jsx';
import { text } from '../../session.js';
import { furthest, goOn, isBehind, limit, notice, restart, rewind, runs, status, ticks } from './session.js';

export function Progress() {
  ticks.table.value;
  const t = text.value.training;
  const { phase, away, speed, steps } = status.value;
  const done = furthest();
  const stopped = phase === 'done' && done < steps;
  return (
    <div class="training-progress" aria-busy={isBehind.value}>
      <progress max={steps || 1} value={done} aria-label={t.progressLabel} />
      <p>
        <b data-phase={phase}>{phase === 'away' ? t.away[away] : t.phases[stopped ? 'stopped' : phase]}</b>
        {steps > 0 && <span> {(stopped ? t.progressStopped : t.progress)(count(done), count(steps))}</span>}
        {phase === 'running' && speed !== null && <span class="note"> {t.perSecond(number(speed, 2))}</span>}
      </p>
      <p class="note" role="status">
        {noticeText(t)}
      </p>
    </div>
  );
}

function noticeText(t) {
  const done = notice.value;
  if (!done) return t.hiddenNote;
  if (done.type === 'all') return t.startsAnew(done.names.map((name) => t.changed[name]));
  if (done.type === 'settings') return t.goesOn(done.names.map((name) => t.changed[name]));
  return t.catchesUp(done.places.map((place) => LETTERS[place]));
}

/** What diverged, what waits after it went back, what could not be made: each with what can be done. */
export function Incidents() {
  return (
    <>
      {runs.value.map((run, index) => (
        <Incident key={run.id} run={run} index={index} />
      ))}
    </>
  );
}

function Incident({ run, index }) {
  const t = text.value.training;
  const { id, status: state, divergence, good, steps, error } = run;
  if (state === 'learning') return null;
  const name = nameOf(index);
  const others = runs.value.some((other) => other.status === 'learning' && other.steps < limit.value);
  return (
    <div class={`card training-incident ${lookOf(index)}`} role="alert">
      {state === 'failed' && (
        <p>
          {t.failed(name)} <ModuleError error={error} /> <code>{error.code}</code>
        </p>
      )}
      {state === 'diverged' && (
        <p>
          {t.diverged(name, steps, divergenceText(divergence, t))}
          {text.value.sign.space}
          {t.stops(others)}
        </p>
      )}
      {state === 'rewound' && <p>{t.rewound(name, steps)}</p>}
      <span class="training-buttons">
        {state === 'diverged' && good > 0 && (
          <button type="button" class="button small" onClick={() => rewind(id)}>
            {t.rewindTo(good)}
          </button>
        )}
        {state === 'rewound' && (
          <button type="button" class="button small" onClick={() => goOn(id)}>
            {t.goOn}
          </button>
        )}
        {state !== 'failed' && (
          <button type="button" class="button small" onClick={() => restart(id)}>
            {t.restart}
          </button>
        )}
      </span>
    </div>
  );
}

/** "NaN in step 212, block 17, FFN down" */
export function divergenceText({ step, layer, tensor, value }, t) {
  const inLayer = /^layers\.(\d+)\.(.+)$/.exec(tensor);
  const block = layer ?? (inLayer ? Number(inLayer[1]) + 1 : null);
  // The stream's first layer that is not finite may be another than the tensor's.
  const part = !inLayer || block === Number(inLayer[1]) + 1 ? (inLayer?.[2] ?? tensor) : null;
  return t.notFinite(value, step, block, part && partText(part, t));
}

const FFN = ['up', 'gate', 'down'];
const MIXING = ['query', 'key', 'value', 'out'];

// "FFN down", "mixing value", "norm weight": what a parameter's name says.
function partText(name, t) {
  const stem = name.replace(/_bias$/, '');
  const group = FFN.includes(stem) ? t.parts.ffn : MIXING.includes(stem) ? t.parts.mixing : '';
  return [group, name.replaceAll('_', ' ')].filter(Boolean).join(' ');
}
