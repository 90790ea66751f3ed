import { useEffect, useState } from 'preact/hooks';
import { seconds } from '../format.js';
import { cancel, cancelled, progress, runNow, text } from '../session.js';

const BAR_AFTER = 100;
const COUNT_AFTER = 500;

/** Nothing for 100 ms; then a thin bar; after half a second a count, the time left, and Cancel. */
export function RunProgress() {
  const t = text.value;
  const now = useClock(Boolean(progress.value));
  if (cancelled.value) {
    return (
      <div class="progress-note" role="status">
        {t.run.cancelled}{' '}
        <button type="button" class="link" onClick={runNow}>
          {t.run.again}
        </button>
      </div>
    );
  }
  const current = progress.value;
  const took = current ? now - current.since : 0;
  if (!current || took < BAR_AFTER) return null;
  const { step, done, total } = current;
  const share = total > 0 ? done / total : 0;
  const left = share > 0.05 && step === 'time' ? ((took / 1000) * (1 - share)) / share : null;
  return (
    <>
      <div class="progress-bar" role="progressbar" aria-label={t.run[step]} aria-valuemin={0} aria-valuemax={total} aria-valuenow={done}>
        <span style={{ transform: `scaleX(${share})` }} />
      </div>
      {took > COUNT_AFTER && (
        <div class="progress-note">
          {t.run[step]} {t.run.of(done, total)}
          {left !== null && ` · ${t.run.left(seconds(Math.max(left, 0.1)))}`}{' '}
          <button type="button" class="button small" onClick={cancel}>
            {t.run.cancel}
          </button>
        </div>
      )}
    </>
  );
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
