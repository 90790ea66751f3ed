import { roughPercent, si, spread } from '../format.js';
import { standing } from '../roofline.js';
import { notices, reference } from '../served.js';
import { catalog, picks, results, text } from '../session.js';
import { LETTERS, lookOf } from './look.js';

/** Rate of a forward pass: null until it has been timed. */
export const rateOf = (entry, variant = entry?.result?.variant) => {
  const time = entry?.times?.[variant];
  return time ? entry.result.cost.flops / time.median : null;
};

export function StatusBar() {
  const t = text.value;
  const { selected, seed } = picks;
  const entry = results.value[selected];
  const variant = entry?.result?.variant ?? catalog.value?.variant;
  const rate = rateOf(entry);
  const memory = Math.max(0, ...results.value.map((other) => other?.result?.memory ?? 0));
  return (
    <footer class="status-bar">
      <span class="strong">{variant ? t.speed.longNames[variant] : ' '}</span>
      {rate !== null && (
        <span>
          <i class={`letter ${lookOf(selected)}`}>{LETTERS[selected]}</i> {si(rate, 'FLOP/s')}
          <Share place={standing(entry.result.cost, entry.times[entry.result.variant])} />
        </span>
      )}
      {memory > 0 && (
        <span>
          {si(memory, 'B')} {t.status.memory}
        </span>
      )}
      <span>
        {t.status.seed} {seed}
      </span>
      <span class="spacer" />
      {reference && <a {...reference}>{t.status.reference}</a>}
      <a {...notices}>{t.status.notice}</a>
      {catalog.value && <span>{t.status.version(catalog.value.version)}</span>}
    </footer>
  );
}

/** How near to this browser's peak; where memory bounds a block, also how near to what that allows. */
function Share({ place }) {
  const t = text.value.status;
  if (!place) return null;
  const { peak, read, ofPeak, ofRoof, bound } = place;
  return (
    <span class="share" title={t.limits(spread(peak, 'FLOP/s'), peak.count, spread(read, 'B/s'), read.count)}>
      {' = '}
      {t.ofPeak(roughPercent(ofPeak))}
      {bound === 'memory' && t.ofMemory(roughPercent(ofRoof))}
      <span class="meter" aria-hidden="true">
        <span style={{ width: `${100 * Math.min(1, ofRoof)}%` }} />
      </span>
    </span>
  );
}
