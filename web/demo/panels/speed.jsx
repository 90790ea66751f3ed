// How long a forward pass takes, in every variant that this browser runs, and what it costs.
import { batchesText, count, hasSpread, number, roughPercent, si, spread } from '../format.js';
import { lookOf } from '../parts/configs.jsx';
import { ConfigName, Segmented } from '../parts/controls.jsx';
import { ExactTable } from '../parts/exact-table.jsx';
import { InputControl } from '../parts/input-control.jsx';
import { errorWords } from '../parts/module-error.jsx';
import { Roofline } from '../parts/roofline.jsx';
import { rateOf } from '../parts/status-bar.jsx';
import { standing } from '../roofline.js';
import { cancelled, catalog, picks, results, set, text } from '../session.js';
import { VARIANTS } from '../state.js';
import { addTexts } from '../texts/index.js';
import { Norms, names, Parts, Sweep, waiting } from './speed/cards.jsx';
import en from './speed/en.js';
import { exactCosts, exactTimings } from './speed/figures.js';
import zh from './speed/zh.js';

addTexts('parts', { en, zh });

export function SpeedPanel() {
  const t = text.value;
  const { variant } = picks;
  const { capabilities } = catalog.value;
  return (
    <>
      <InputControl />
      <div class="controls">
        <Segmented
          label={t.speed.runWith}
          name="variant"
          value={variant}
          options={['auto', ...VARIANTS].map((id) => ({
            id,
            text: t.speed.names[id],
            disabled: id !== 'auto' && !capabilities[id].available,
            title: capabilities[id]?.reason,
          }))}
          onChange={(id) => set({ variant: id }, 'variant')}
        />
      </div>
      <div class="charts">
        <Bars />
        <Roofline />
      </div>
      <Timings />
      <Parts />
      <div class="charts">
        <Sweep of="rows" />
        <Sweep of="width" />
      </div>
      <Norms />
      <Costs />
      <div class="explain">
        <p>
          {t.roofline.explain}{' '}
          <a href="https://doi.org/10.1145/1498765.1498785" target="_blank" rel="noopener noreferrer">
            {t.forward.source('Williams et al. 2009')}
          </a>
        </p>
        <p>{t.speed.explain}</p>
        <p class="note">{t.speed.hiddenNote}</p>
      </div>
    </>
  );
}

function Bars() {
  const t = text.value;
  const { configs } = picks;
  const { capabilities } = catalog.value;
  const rates = configs.map((_, index) =>
    Object.fromEntries(VARIANTS.map((variant) => [variant, rangeOf(results.value[index], variant)])),
  );
  const top = Math.max(1, ...rates.flatMap((group) => VARIANTS.map((variant) => group[variant]?.high ?? 0)));
  return (
    <section class="card">
      <div class="card-head">
        <div>
          <h2>{t.speed.chart}</h2>
          <p class="note">{t.speed.chartNote}</p>
        </div>
      </div>
      <div class="bars" aria-hidden="true">
        {configs.map((_, index) => (
          <div key={index} class={`bar-group ${lookOf(index)}`}>
            <ConfigName index={index} />
            {VARIANTS.map((variant) => (
              <Bar
                key={variant}
                variant={variant}
                range={rates[index][variant]}
                scalar={rates[index].scalar}
                top={top}
                capability={capabilities[variant]}
                error={results.value[index]?.error ?? results.value[index]?.timeError}
              />
            ))}
          </div>
        ))}
      </div>
    </section>
  );
}

// FLOP/s at the median and at the quartiles of the time.
function rangeOf(entry, variant) {
  const time = entry?.times?.[variant];
  if (!time || !entry.result) return null;
  const { flops } = entry.result.cost;
  const rate = flops / time.median;
  return hasSpread(time) ? { rate, high: flops / time.low, low: flops / time.high } : { rate, high: rate, low: rate };
}

function Bar({ variant, range, scalar, top, capability, error }) {
  const t = text.value;
  const at = (value) => `${(100 * value) / top}%`;
  return (
    <div class={`bar-row ${variant}`}>
      <span class="bar-name">{variant}</span>
      {range ? (
        <>
          <span class="bar-track">
            <span class="bar" style={{ width: at(range.rate) }} />
            {range.high > range.low && (
              <span class="whisker" style={{ left: at(range.low), width: at(range.high - range.low) }} />
            )}
          </span>
          <span class="bar-value">
            {si(range.rate, 'FLOP/s')}
            {scalar && variant !== 'scalar' && <small>{t.speed.times(number(range.rate / scalar.rate, 2))}</small>}
          </span>
        </>
      ) : (
        <span class="bar-reason">
          {!capability.available
            ? `${t.speed.refused} ${capability.reason}`
            : error
              ? errorWords(error)
              : t.speed.pending}
        </span>
      )}
    </div>
  );
}

function Timings() {
  const t = text.value;
  const s = t.speed;
  const { capabilities } = catalog.value;
  const batches = results.value.flatMap((entry) => VARIANTS.flatMap((variant) => entry?.times?.[variant]?.count ?? []));
  const rows = picks.configs.flatMap((_, index) =>
    VARIANTS.map((variant) => {
      const entry = results.value[index];
      const time = entry?.times?.[variant];
      const name = <ConfigName key="name" index={index} />;
      if (!time || !entry.result)
        return [
          name,
          variant,
          '–',
          capabilities[variant].available ? waiting() : s.refusedShort,
          ...Array(4).fill('–'),
        ];
      const rate = rateOf(entry, variant);
      const place = standing(entry.result.cost, time);
      return [
        name,
        variant,
        count(entry.result.rows),
        spread(time, 's'),
        number(rate / 1e9),
        place ? roughPercent(place.ofPeak) : time.limits?.error || cancelled.value ? '–' : '…',
        si(entry.result.rows / time.median),
        `${time.count} × ${count(time.repeats)}`,
      ];
    }),
  );
  return (
    <section class="card">
      <h2>{s.table}</h2>
      <ExactTable
        head={[s.configuration, s.variant, s.tokens, s.time, s.rate, s.ofPeak, s.tokensPerSecond, s.batches]}
        rows={rows}
        exact={() => exactTimings(results.value, names(), capabilities, t)}
        caption={s.table}
      />
      {batches.length > 0 && <p class="note table-note">{t.forward.timeNote(batchesText(batches))}</p>}
    </section>
  );
}

function Costs() {
  const t = text.value;
  const s = t.speed;
  const rows = picks.configs.map((_, index) => {
    const result = results.value[index]?.result;
    const name = <ConfigName key="name" index={index} />;
    if (!result) return [name, ...Array(6).fill(results.value[index]?.error ? '–' : waiting())];
    const { parameters, flops, bytes } = result.cost;
    return [
      name,
      count(result.rows),
      si(parameters),
      si(flops),
      si(4 * parameters, 'B'),
      si(bytes, 'B'),
      si(result.memory, 'B'),
    ];
  });
  return (
    <section class="card">
      <h2>{s.cost}</h2>
      <p class="note">{s.costNote}</p>
      <ExactTable
        head={[s.configuration, s.tokens, s.parameters, s.flops, s.weights, s.bytes, s.memory]}
        rows={rows}
        exact={() => exactCosts(results.value, names(), t)}
        caption={s.cost}
      />
    </section>
  );
}
