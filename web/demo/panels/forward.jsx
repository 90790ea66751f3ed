// What comes out of each block for the same input: distribution, size at every step, statistics.
import uPlot from 'uplot';
import { axisNumber, count, number, percent, spread } from '../format.js';
import { Chart, drawMarker, Table } from '../parts/chart.jsx';
import { LETTERS } from '../parts/configs.jsx';
import { ConfigName, Segmented } from '../parts/controls.jsx';
import { InputControl } from '../parts/input-control.jsx';
import { cancelled, distributions, keys, language, results, set, state, text } from '../session.js';
import { SIGNALS } from '../state.js';
import { STAGES } from '../trace.js';

export function ForwardPanel() {
  const t = text.value;
  const { signal } = state.value;
  return (
    <>
      <InputControl />
      <div class="controls">
        <Segmented
          label={t.forward.show}
          name="signal"
          value={signal}
          options={SIGNALS.map((id) => ({ id, text: t.signals[id] }))}
          onChange={(id) => set({ signal: id })}
        />
      </div>
      <div class="charts">
        <Histogram />
        <Sizes />
      </div>
      <Statistics />
      <div class="explain">
        <p>
          {t.forward.explain}{' '}
          <a href="https://arxiv.org/abs/2002.04745" target="_blank" rel="noopener noreferrer">
            {t.forward.source}
          </a>
        </p>
        <p class="note">{t.forward.method}</p>
      </div>
    </>
  );
}

const nameOf = (index) => `${LETTERS[index]} ${state.value.configs[index]?.name ?? ''}`;
const shortName = (index, limit = 16) => {
  const name = nameOf(index);
  return name.length > limit ? `${name.slice(0, limit - 1)}…` : name;
};

// From this width on lines are labelled with names, below with letters.
const ROOMY = 380;

// Many fills on top of each other say nothing.
const fillOf = (color, count) => (count > 4 ? undefined : `${color}${count > 2 ? '12' : '1f'}`);

// Shares of a configuration that is no longer there are not drawn.
const isCurrent = (index) => index < state.value.configs.length;

function Histogram() {
  const t = text.value;
  const { signal, logShare, configs } = state.value;
  const shared = distributions.value;
  const shown = shared?.histograms[signal];
  const series = (shown?.series ?? [])
    .map((entry, index) => ({ entry, index }))
    .filter(({ entry, index }) => entry && isCurrent(index));
  const { low = 0, high = 1, bins = 1 } = shown ?? {};
  const width = (high - low) / bins;
  const centers = Array.from({ length: bins }, (_, i) => low + (i + 0.5) * width);
  const shares = series.map(({ entry }) => entry.counts.map((n) => n / entry.total));
  const top = Math.max(1e-6, ...shares.flat());
  const floor = 10 ** Math.floor(Math.log10(Math.min(...series.map(({ entry }) => 1 / entry.total), top / 10)));

  const build = (colors, plotWidth) => ({
    data: [centers, ...shares.map((values) => (logShare ? values.map((value) => (value > 0 ? value : null)) : values))],
    options: {
      scales: {
        x: { time: false, range: [low, high] },
        y: logShare ? { distr: 3, range: [floor, top * 2] } : { range: [0, top * 1.12] },
      },
      axes: [
        { size: 30, space: 60, values: (_, splits) => splits.map(axisNumber) },
        {
          size: 52,
          space: 40,
          splits: logShare ? () => powers(floor, top * 2) : undefined,
          filter: (_, splits) => splits, // uPlot's own drops what is no power of ten
          values: (_, splits) => splits.map((value) => (logShare ? power(value) : `${axisNumber(100 * value)}\u202f%`)),
        },
      ],
      series: [
        {},
        ...series.map(({ index }) => ({
          stroke: colors.line[index],
          width: 2,
          fill: fillOf(colors.line[index], series.length),
          fillTo: logShare ? floor : 0,
          paths: uPlot.paths.stepped({ align: 0 }),
          points: { show: false },
        })),
      ],
    },
    labels: () => {
      const peak = shares.reduce((best, values) => Math.max(best, ...values), 0);
      return series.map(({ index }, s) => {
        const at = labelPlace(
          shares[s],
          shares.filter((_, other) => other !== s),
        );
        const share = shares[s][at];
        // Beside the curve on a flank, over it at the top.
        const align =
          share > 0.85 * peak ? 'center' : at < shares[s].indexOf(Math.max(...shares[s])) ? 'right' : 'left';
        return {
          index,
          name: plotWidth > ROOMY ? shortName(index) : LETTERS[index],
          x: centers[at],
          y: Math.max(share, logShare ? floor : 0),
          dy: align === 'center' ? -12 : 0,
          align,
        };
      });
    },
  });

  const readout = (i) =>
    `${axisNumber(centers[i] - width / 2)} … ${axisNumber(centers[i] + width / 2)}:  ${series.map(({ index }, s) => `${LETTERS[index]} ${percent(shares[s][i])}`).join('   ')}`;
  const broken = series
    .map(({ entry, index }) => [
      LETTERS[index],
      entry.total - entry.below - entry.above - entry.counts.reduce((a, b) => a + b, 0),
    ])
    .filter(([, n]) => n > 0);
  const outside = series.reduce((sum, { entry }) => sum + entry.below + entry.above, 0);
  return (
    <Chart
      title={`${t.forward.histogram}${t.sign.colon}${t.signalNames[signal]}`}
      note={[
        t.forward.histogramNote,
        outside > 0 && t.forward.outside(outside, count(outside)),
        broken.length > 0 &&
          `${t.forward.nonFinite}${t.sign.colon}${broken.map(([letter, n]) => `${letter} ${count(n)}`).join(t.sign.comma)}`,
      ]
        .filter(Boolean)
        .join(t.sign.semicolon)}
      empty={series.length === 0}
      build={build}
      deps={[shared, signal, logShare, configs.map(({ name }) => name).join('\n'), t]}
      readout={readout}
      controls={
        <label class="check">
          <input
            type="checkbox"
            checked={logShare}
            aria-label={t.forward.logShareLong}
            onChange={(event) => set({ logShare: event.target.checked })}
          />
          {t.forward.logShare}
        </label>
      }
      table={{
        head: [t.forward.bin, ...series.map(({ index }) => nameOf(index))],
        rows: centers.map((center, i) => [
          axisNumber(center - width / 2),
          ...shares.map((values) => percent(values[i])),
        ]),
      }}
    />
  );
}

// The bin where a curve stands out most from the others; its peak if it is alone.
function labelPlace(values, others) {
  let best = 0;
  let most = -Infinity;
  for (let i = 0; i < values.length; i++) {
    const lead = values[i] - 0.999 * Math.max(0, ...others.map((other) => other[i]));
    if (lead > most) [best, most] = [i, lead];
  }
  return best;
}

const powers = (low, high) => {
  const list = [];
  for (let exponent = Math.ceil(Math.log10(low) - 1e-9); 10 ** exponent <= high; exponent++) list.push(10 ** exponent);
  return list;
};
const SUPERSCRIPT = { '-': '⁻', 0: '⁰', 1: '¹', 2: '²', 3: '³', 4: '⁴', 5: '⁵', 6: '⁶', 7: '⁷', 8: '⁸', 9: '⁹' };
const power = (value) => `10${[...String(Math.round(Math.log10(value)))].map((sign) => SUPERSCRIPT[sign]).join('')}`;

function Sizes() {
  const t = text.value;
  const { configs } = state.value;
  const entries = results.value;
  const series = entries
    .map((entry, index) => ({ stages: entry?.result?.stages, index }))
    .filter(({ stages, index }) => stages && isCurrent(index));
  const present = STAGES.filter((stage) => series.some(({ stages }) => stages[stage]));
  const rms = series.map(({ stages }) => present.map((stage) => stages[stage]?.rms || null));
  const all = rms.flat().filter((value) => value > 0);
  const [low, high] = outward(Math.min(1, ...all) / 1.1, Math.max(1, ...all) * 1.1);
  const missing = entries.flatMap((entry, index) =>
    entry?.result && !entry.result.complete && isCurrent(index) ? LETTERS[index] : [],
  );

  const build = (colors, width) => {
    // Beside the lines' ends the names where there is room for them, the letters where not.
    const roomy = width > ROOMY;
    const room = roomy ? 24 + 7.4 * Math.max(...series.map(({ index }) => shortName(index).length)) : 20;
    const pitch = (width - room - 52) / Math.max(1, present.length - 0.65);
    const widths = present.map((stage) => [...t.stages[stage]].length * (language.value === 'zh' ? 12 : 6.4));
    const crowded = widths.some((own, i) => i > 0 && (own + widths[i - 1]) / 2 + 4 > pitch);
    return {
      data: [present.map((_, i) => i), ...rms],
      options: {
        padding: [8, room, 0, 0],
        scales: {
          x: { time: false, range: [-0.35, Math.max(1, present.length - 1)] },
          y: { distr: 3, range: [low, high] },
        },
        axes: [
          {
            size: crowded ? 52 : 30,
            rotate: crowded ? -50 : 0,
            splits: () => present.map((_, i) => i),
            values: (_, splits) => splits.map((i) => t.stages[present[i]] ?? ''),
            grid: { show: false },
          },
          {
            size: 52,
            splits: () => oneTwoFive(low, high),
            filter: (_, splits) => splits,
            values: (_, splits) =>
              splits.map((value) => (value < 1e-3 || value >= 1e4 ? power(value) : axisNumber(value))),
          },
        ],
        series: [
          {},
          ...series.map(({ index }) => ({
            stroke: colors.line[index],
            width: 2,
            spanGaps: true,
            points: { show: false },
          })),
        ],
      },
      marks: (u) => {
        for (const [s, { index }] of series.entries()) markPoints(u, s + 1, index, colors);
      },
      labels: () =>
        series
          .map(({ index }, s) => ({
            index,
            name: roomy ? shortName(index) : LETTERS[index],
            x: present.length - 1,
            y: rms[s][rms[s].length - 1],
            align: 'left',
          }))
          .filter(({ y }) => y),
    };
  };

  const readout = (i) =>
    `${t.stages[present[i]]}:  ${series.map(({ index }, s) => `${LETTERS[index]} ${number(rms[s][i])}`).join('   ')}`;
  return (
    <Chart
      title={t.forward.sizes}
      note={`${t.forward.sizesNote}${missing.length > 0 ? `${t.sign.semicolon}${t.forward.noSteps(missing.join(t.sign.list))}` : ''}`}
      empty={series.length === 0}
      build={build}
      deps={[entries, configs.map(({ name }) => name).join('\n'), t]}
      readout={readout}
      table={{
        head: ['RMS', ...series.map(({ index }) => nameOf(index))],
        rows: present.map((stage, i) => [t.stages[stage], ...rms.map((values) => number(values[i]))]),
      }}
    />
  );
}

function markPoints(u, s, index, colors) {
  const { ctx } = u;
  const scale = devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = colors.line[index];
  ctx.fillStyle = colors.surface;
  ctx.lineWidth = 2 * scale;
  u.data[s].forEach((value, i) => {
    if (value) drawMarker(ctx, index, u.valToPos(i, 'x', true), u.valToPos(value, 'y', true), 4 * scale);
  });
  ctx.restore();
}

// The next of 1, 2, 5 × 10ⁿ on both sides.
function outward(low, high) {
  const scale = (value) => 10 ** Math.floor(Math.log10(value));
  const below = [5, 2, 1].find((step) => step * scale(low) <= low * (1 + 1e-9)) ?? 1;
  const above = [1, 2, 5, 10].find((step) => step * scale(high) >= high * (1 - 1e-9)) ?? 10;
  return [below * scale(low), above * scale(high)];
}

// 0.1 0.2 0.5 1 ...; over many decades only powers, eight at most
function oneTwoFive(low, high) {
  const decades = Math.log10(high / low);
  const every = Math.max(1, Math.ceil(decades / 8));
  const list = [];
  for (let exponent = Math.floor(Math.log10(low)); 10 ** exponent <= high * 1.001; exponent++) {
    if (exponent % every !== 0) continue;
    for (const step of decades > 3 ? [1] : [1, 2, 5]) list.push(Number((step * 10 ** exponent).toPrecision(1)));
  }
  return list.filter((value) => value >= low * 0.999 && value <= high * 1.001);
}

function Statistics() {
  const t = text.value;
  const { configs } = state.value;
  const anyBroken = results.value.some(
    (entry) => entry?.result && entry.result.output.finite < entry.result.output.count,
  );
  const reduced = results.value.some((entry) => entry?.result && entry.result.rows < entry.result.given);
  const f = t.forward;
  const timed = results.value.find((entry) => entry?.times?.[entry.result?.variant]);
  const head = [
    f.configuration,
    f.tokens,
    f.mean,
    f.std,
    f.min,
    f.max,
    ...(anyBroken ? [f.nonFinite] : []),
    f.ratio,
    f.time,
  ];
  const rows = configs.map((_, index) => {
    const entry = results.value[index];
    const name = <ConfigName key="name" index={index} />;
    if (entry?.error)
      return [
        name,
        <span key="e" class="error-text">
          {entry.error.code}
        </span>,
        ...head.slice(2).map(() => '–'),
      ];
    if (!entry?.result) return [name, ...head.slice(1).map(() => (cancelled.value ? '–' : '…'))];
    const { output, stages, rows: used, given } = entry.result;
    const time = entry.times?.[entry.result.variant];
    const old = entry.key !== keys.value[index];
    const broken = output.count - output.finite;
    const cells = [
      name,
      used < given ? f.reducedRows(count(used), count(given)) : count(used),
      ...[output.mean, output.std, output.min, output.max].map((value) => number(value)),
      ...(anyBroken
        ? [
            broken > 0 ? (
              <span key="b" class="error-text">
                {brokenText(output)}
              </span>
            ) : (
              '0'
            ),
          ]
        : []),
      stages?.branch && stages.x.rms > 0 ? number(stages.branch.rms / stages.x.rms) : '–',
      time ? spread(time.median, time.half, 's') : cancelled.value || entry.timeError ? '–' : '…',
    ];
    return old
      ? cells.map((cell, i) =>
          i === 0 ? (
            cell
          ) : (
            <span key={i} class="old">
              {cell}
            </span>
          ),
        )
      : cells;
  });
  const notes = [timed && f.timeNote(timed.times[timed.result.variant].count), reduced && f.reducedNote].filter(
    Boolean,
  );
  return (
    <section class="card">
      <h2 class="visually-hidden">{f.tableTitle}</h2>
      <Table head={head} rows={rows} caption={f.tableTitle} />
      {notes.length > 0 && <p class="note table-note">{notes.join(t.sign.stop)}</p>}
    </section>
  );
}

function brokenText({ nan, plusInfinity, minusInfinity, count: total }) {
  const parts = [
    nan > 0 && `NaN ${count(nan)}`,
    plusInfinity > 0 && `∞ ${count(plusInfinity)}`,
    minusInfinity > 0 && `−∞ ${count(minusInfinity)}`,
  ];
  return text.value.forward.nonFiniteOf(parts.filter(Boolean).join(', '), count(total));
}
