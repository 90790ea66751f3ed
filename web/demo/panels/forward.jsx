// What comes out of each block for the same input: distribution, size at every step, statistics.
import { explanations } from '../explain.js';
import { valuesOf } from '../fields.js';
import { axisNumber, batchesText, count, number, percent, power, powers, spread } from '../format.js';
import { Chart, labelWidth, nameOf, ROOMY, shortName, Table } from '../parts/chart.jsx';
import { LETTERS } from '../parts/configs.jsx';
import { ConfigName, Segmented } from '../parts/controls.jsx';
import { InputControl } from '../parts/input-control.jsx';
import { drawMarker } from '../parts/marker.jsx';
import { trainedOf } from '../presets.js';
import { cancelled, catalog, distributions, file, keys, language, results, set, state, text } from '../session.js';
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
      <Explanation />
    </>
  );
}

function Explanation() {
  const t = text.value;
  const f = t.forward;
  const { configs, selected, seed } = state.value;
  const values = configs.map((config) => valuesOf(config, catalog.value.fields));
  const trained = configs.map(({ weights }) => Boolean(trainedOf(weights)));
  const lettersOf = (indices) => indices.map((index) => LETTERS[index]).join(t.sign.list);
  const withTrained = trained.flatMap((own, index) => (own ? [index] : []));
  const said = explanations(values, trained, selected);
  const sources = new Map(said.flatMap(({ source }) => (source ? [source] : [])));
  return (
    <div class="explain">
      <p>
        {file.value ? f.sameFile(seed) : f.sameSeed(seed)}
        {withTrained.length > 0 && f.trainedWeights(lettersOf(withTrained))}
        {said.map(({ letters, key, toOne }) => f.placements[key](lettersOf(letters), toOne)).join(t.sign.space)}{' '}
        {[...sources].map(([name, address], i) => (
          <>
            {i > 0 && ' · '}
            <a href={address} target="_blank" rel="noopener noreferrer">
              {f.source(name)}
            </a>
          </>
        ))}
      </p>
      <p class="note">{f.method}</p>
    </div>
  );
}

// Many fills on top of each other say nothing.
const fillOf = (color, count) => (count > 4 ? undefined : `${color}${count > 2 ? '12' : '1f'}`);

// Most of what the axis holds is in one bin.
const isSpike = (counts) => Math.max(...counts) > 0.6 * counts.reduce((a, b) => a + b, 0);

// Shares of a configuration that is no longer there are not drawn.
const isCurrent = (index) => index < state.value.configs.length;

function Histogram() {
  const t = text.value;
  const { signal, logShare, sigma, configs } = state.value;
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
          paths: (u, s) => outline(u, u.data[s], low, width),
          points: { show: false },
        })),
      ],
    },
    marks: (u) => {
      if (series.length > 1) for (const [s, { index }] of series.entries()) markCurve(u, s + 1, index, colors);
    },
    labels: (u) =>
      placeNames(
        u,
        series.map(({ index }) => ({ index, name: plotWidth > ROOMY ? shortName(index) : LETTERS[index] })),
        colors.size,
      ),
  });

  const readout = (i) =>
    `${axisNumber(centers[i] - width / 2)} … ${axisNumber(centers[i] + width / 2)}:  ${series.map(({ index }, s) => `${LETTERS[index]} ${percent(shares[s][i])}`).join('   ')}`;
  const broken = series
    .map(({ entry, index }) => [
      LETTERS[index],
      entry.total - entry.below - entry.above - entry.counts.reduce((a, b) => a + b, 0),
    ])
    .filter(([, n]) => n > 0);
  // So much narrower than the widest that the shared bins do not show their shape.
  const narrow =
    series.length > 1 && !shared.sigma
      ? series.filter(({ entry }) => isSpike(entry.counts)).map(({ index }) => LETTERS[index])
      : [];
  const outside = series.reduce((sum, { entry }) => sum + entry.below + entry.above, 0);
  return (
    <Chart
      title={`${t.forward.histogram}${t.sign.colon}${t.signalNames[signal]}`}
      note={[
        shared?.sigma ? t.forward.sigmaNote : t.forward.histogramNote,
        narrow.length > 0 && t.forward.narrow(narrow.join(t.sign.list)),
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
        <>
          <label class="check">
            <input
              type="checkbox"
              checked={sigma}
              aria-label={t.forward.sigmaLong}
              onChange={(event) => set({ sigma: event.target.checked })}
            />
            {t.forward.sigma}
          </label>
          <label class="check">
            <input
              type="checkbox"
              checked={logShare}
              aria-label={t.forward.logShareLong}
              onChange={(event) => set({ logShare: event.target.checked })}
            />
            {t.forward.logShare}
          </label>
        </>
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

/** A histogram's outline: each bin flat from edge to edge (uPlot's own steps change at the points, half a bin aside). */
function outline(u, values, low, width) {
  const stroke = new Path2D();
  const ground = u.bbox.top + u.bbox.height;
  const at = (edge) => Math.round(u.valToPos(low + edge * width, 'x', true));
  values.forEach((value, i) => {
    const y = value > 0 ? Math.round(u.valToPos(value, 'y', true)) : ground;
    stroke[i === 0 ? 'moveTo' : 'lineTo'](at(i), y);
    stroke.lineTo(at(i + 1), y);
  });
  const fill = new Path2D(stroke);
  fill.lineTo(at(values.length), ground);
  fill.lineTo(at(0), ground);
  fill.closePath();
  return { stroke, fill, clip: null, band: null, gaps: null, flags: 0 };
}

/**
 * Where the curves' names stand, in pixels of the plot: at the curve, where it is the outermost and the name covers
 * none; what finds no such place is listed with its marker in the emptier upper corner.
 */
function placeNames(u, items, size) {
  const [xs, ...values] = u.data;
  const { width, height } = { width: u.bbox.width / devicePixelRatio, height: u.bbox.height / devicePixelRatio };
  const px = xs.map((x) => u.valToPos(x, 'x'));
  const step = px.length > 1 ? px[1] - px[0] : width;
  const tops = values.map((list) => list.map((value) => (value > 0 ? u.valToPos(value, 'y') : height)));
  const envelope = px.map((_, i) => Math.min(...tops.map((top) => top[i])));
  const half = 0.65 * size;
  let taken = [];
  // The highest point of all curves between two abscissas.
  const skyline = (from, to) =>
    envelope.reduce(
      (best, top, i) => (px[i] + step / 2 > from && px[i] - step / 2 < to ? Math.min(best, top) : best),
      height,
    );
  const isFree = ({ from, to, top }) =>
    from >= 0 &&
    to <= width &&
    top - half >= 0 &&
    skyline(from, to) >= top + half &&
    taken.every((other) => to + 8 < other.from || other.to + 8 < from || Math.abs(other.top - top) >= 2 * half);

  const find = (s, own) => {
    const curve = tops[s];
    const rest = px.map((_, i) => Math.min(height, ...tops.filter((_, other) => other !== s).map((top) => top[i])));
    const peak = curve.indexOf(Math.min(...curve));
    let best = null;
    const consider = (place, lead) => {
      if (lead >= 4 && (!best || lead > best.lead) && isFree(place)) best = { ...place, lead };
    };
    const over = { align: 'center', from: px[peak] - own / 2, to: px[peak] + own / 2 };
    const top = skyline(over.from, over.to) - half - 4;
    if (curve[peak] - top < 3.2 * half) consider({ ...over, top }, rest[peak] - curve[peak]);
    for (let i = 0; i < px.length; i++) {
      const lead = rest[i] - curve[i];
      const left = px[i] - step / 2 - 8;
      const right = px[i] + step / 2 + 8;
      consider({ align: 'right', from: left - own, to: left, top: curve[i] }, lead);
      consider({ align: 'left', from: right, to: right + own, top: curve[i] }, lead);
    }
    return best;
  };

  const byHeight = items.map((_, s) => s).sort((a, b) => Math.min(...tops[a]) - Math.min(...tops[b]));
  const keyOf = (listed) => {
    const room = 20 + Math.max(...listed.map((s) => labelWidth(items[s].name, size)));
    const from = skyline(width - room, width) >= skyline(0, room) ? width - room : 0;
    return { from, to: from + room, rows: listed.map((s, i) => ({ s, top: 8 + half + 1.35 * size * i })) };
  };
  // The list takes room, which may drive another name into it.
  let key = null;
  for (;;) {
    taken = (key?.rows ?? []).map(({ top }) => ({ from: key.from, to: key.to, top }));
    const inKey = (s) => key?.rows.some((row) => row.s === s);
    const placed = [];
    const homeless = [];
    for (const s of byHeight) {
      const place = inKey(s) ? null : find(s, labelWidth(items[s].name, size));
      if (place) {
        taken.push(place);
        const left = { left: place.from, center: (place.from + place.to) / 2, right: place.to }[place.align];
        placed.push({ ...items[s], left, top: place.top, align: place.align });
      } else homeless.push(s);
    }
    if (homeless.length === (key?.rows.length ?? 0)) {
      const rows = key?.rows ?? [];
      return [
        ...placed,
        ...rows.map(({ s, top }) => ({ ...items[s], left: key.from + 20, top, align: 'left', marked: true })),
      ];
    }
    key = keyOf(homeless);
  }
}

// Six markers along a curve, where it is above the ground; each curve's at other bins.
function markCurve(u, s, index, colors) {
  const { ctx } = u;
  const scale = devicePixelRatio;
  const values = u.data[s];
  const ground = u.valToPos(u.scales.y.min, 'y', true) - 4 * scale;
  const every = values.length / 8;
  ctx.save();
  ctx.strokeStyle = colors.line[index];
  ctx.fillStyle = colors.surface;
  ctx.lineWidth = 1.5 * scale;
  for (let at = every * (0.5 + ((0.37 * s) % 1)); at < values.length; at += every) {
    const i = Math.floor(at);
    const y = values[i] > 0 ? u.valToPos(values[i], 'y', true) : ground;
    if (y < ground) drawMarker(ctx, index, u.valToPos(u.data[0][i], 'x', true), y, 3.25 * scale);
  }
  ctx.restore();
}

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
    // Beside the lines' ends the names, or the letters where the names would crowd the steps.
    const widths = present.map(
      (stage) => [...t.stages[stage]].length * (language.value === 'zh' ? 1 : 0.54) * colors.size,
    );
    const fits = (room) => {
      const pitch = (width - room - 44) / Math.max(1, present.length - 0.65);
      return widths.every((own, i) => i === 0 || (own + widths[i - 1]) / 2 + 4 <= pitch);
    };
    const named = 16 + Math.max(...series.map(({ index }) => labelWidth(shortName(index), colors.size)));
    const roomy = width > ROOMY && fits(named);
    const room = roomy ? named : 24;
    const crowded = !fits(room);
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
            size: 44,
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
  const batches = results.value.flatMap((entry) => entry?.times?.[entry.result?.variant]?.count ?? []);
  const nearZero = results.value.some((entry) => entry?.result && isRounding(entry.result.output));
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
          {f.notComputed}
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
      isRounding(output) ? (
        <abbr key="mean" title={number(output.mean)}>
          ≈ 0
        </abbr>
      ) : (
        number(output.mean)
      ),
      ...[output.std, output.min, output.max].map((value) => number(value)),
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
      time ? spread(time, 's') : cancelled.value || entry.timeError ? '–' : '…',
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
  const notes = [
    batches.length > 0 && f.timeNote(batchesText(batches)),
    reduced && f.reducedNote,
    nearZero && f.nearZero,
  ].filter(Boolean);
  return (
    <section class="card">
      <h2>{f.tableTitle}</h2>
      <Table head={head} rows={rows} caption={f.tableTitle} />
      {notes.length > 0 && <p class="note table-note">{notes.join(t.sign.stop)}</p>}
    </section>
  );
}

/** Whether a mean is less than the rounding of the largest value in float32, so that its digits say nothing. */
const isRounding = ({ mean, min, max }) =>
  mean !== 0 && Math.abs(mean) < 2 ** -24 * Math.max(Math.abs(min), Math.abs(max));

function brokenText({ nan, plusInfinity, minusInfinity, count: total }) {
  const parts = [
    nan > 0 && `NaN ${count(nan)}`,
    plusInfinity > 0 && `∞ ${count(plusInfinity)}`,
    minusInfinity > 0 && `−∞ ${count(minusInfinity)}`,
  ];
  return text.value.forward.nonFiniteOf(parts.filter(Boolean).join(', '), count(total));
}
