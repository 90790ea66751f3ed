import { useEffect, useState } from 'preact/hooks';
import { si } from '../format.js';
import { cancel, cancelled, progress, runNow, text } from '../session.js';

const BAR_AFTER = 100;
const COUNT_AFTER = 500;

/** Nothing for 100 ms, then a thin bar at the panel's edge. */
export function RunBar() {
  const t = text.value;
  const { took, step, done, total, bytes } = useRun();
  if (took < BAR_AFTER) return null;
  if (step === 'make') {
    // One long call: how far it is cannot be known.
    return (
      <div class="progress-bar unknown" role="progressbar" aria-label={t.run.make(si(bytes, 'B'))}>
        <span />
      </div>
    );
  }
  return (
    <div
      class="progress-bar"
      role="progressbar"
      aria-label={t.run[step]}
      aria-valuemin={0}
      aria-valuemax={total}
      aria-valuenow={done}
    >
      <span style={{ transform: `scaleX(${total > 0 ? done / total : 0})` }} />
    </div>
  );
}

/** After half a second: how far it is, the time left, Cancel. After Cancel: a way to go on. */
export function RunNote() {
  const t = text.value;
  const { took, step, done, total, bytes } = useRun();
  if (cancelled.value) {
    return (
      <p class="run-note">
        {t.run.cancelled}{' '}
        <button type="button" class="link" onClick={runNow}>
          {t.run.again}
        </button>
      </p>
    );
  }
  if (took < COUNT_AFTER) return null;
  const share = total > 0 ? done / total : 0;
  const left = share > 0.05 && step === 'time' ? ((took / 1000) * (1 - share)) / share : null;
  return (
    <p class="run-note">
      {step === 'make' ? t.run.make(si(bytes, 'B')) : `${t.run[step]} ${t.run.of(done, total)}`}
      {left !== null && ` · ${t.run.left(si(Math.max(left, 0.1), 's', 2))}`}{' '}
      <button type="button" class="button small" onClick={cancel}>
        {t.run.cancel}
      </button>
    </p>
  );
}

function useRun() {
  const now = useClock(Boolean(progress.value));
  const { since, ...rest } = progress.value ?? {};
  return { took: progress.value ? now - since : 0, ...rest };
}

function useClock(on) {
  const [now, setNow] = useState(() => performance.now());
  useEffect(() => {
    if (!on) return undefined;
    setNow(performance.now());
    const timer = setInterval(() => setNow(performance.now()), 100);
    return () => clearInterval(timer);
  }, [on]);
  return now;
}
