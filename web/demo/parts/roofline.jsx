// The roofline: how fast each block ran, over how many operations it does a byte, under what this browser can do at most.
import { number, power, powers, roughPercent, si, spread } from '../format.js';
import { standing } from '../roofline.js';
import { cancelled, catalog, picks, results, text } from '../session.js';
import { VARIANTS } from '../state.js';
import { Chart, FAMILY, labelWidth, nameOf, ROOMY, shortName } from './chart.jsx';
import { LETTERS } from './configs.jsx';
import { ConfigName } from './controls.jsx';
import { inUnit, quartileHeads, quartiles } from './exact.js';
import { drawMarker } from './marker.jsx';
import { errorWords } from './module-error.jsx';

/** From this width on a roof has its figure, with its unit. */
const WIDE = 560;

export function Roofline() {
  const t = text.value;
  const r = t.roofline;
  const { configs, selected, variant } = picks;
  const main = variant === 'auto' ? catalog.value.variant : variant;
  const places = configs.flatMap((_, index) => VARIANTS.flatMap((name) => placeOf(index, name) ?? []));
  const shown = places.filter((place) => place.variant === main);
  const roofs = roofsOf(places, selected, main);
  const error = results.value.flatMap((entry) => entry?.times?.[main]?.limits?.error ?? [])[0];
  const stops = merged(shown.map(({ intensity }) => intensity));
  const [xLow, xHigh] = decades(
    [...stops, ...roofs.map(({ peak, read }) => (0.5 * peak.median) / read.median)],
    [...stops, ...roofs.map(({ peak, read }) => (2 * peak.median) / read.median)],
  );
  const [yLow, yHigh] = decades(
    places.map(({ rate }) => rate),
    [...places.map(({ rate }) => 0.8 * rate), ...roofs.map(({ peak }) => 0.8 * peak.median)],
  );

  const build = (colors, width) => {
    const roomy = width > ROOMY;
    const ends = roofs
      .filter(({ extra }) => !extra)
      .map(({ variant: name, peak }) => ({
        name: width > WIDE ? `${name} ${number(peak.median / 1e9)}\u202fGFLOP/s` : name,
        x: xHigh,
        y: peak.median,
        align: 'left',
      }));
    const axis = { label: '', labelSize: 20, labelGap: 0, labelFont: `${colors.size}px ${FAMILY}` };
    const ticks = { filter: (_, splits) => splits };
    return {
      data: [stops, stops.map(() => null)],
      options: {
        padding: [8, 16 + Math.max(0, ...ends.map(({ name }) => labelWidth(name, colors.size))), 0, 0],
        scales: {
          x: { time: false, distr: 3, range: [xLow, xHigh] },
          y: { distr: 3, range: [yLow, yHigh] },
        },
        // A read-out is of a block: the cursor goes to the next one.
        cursor: {
          move: (u, left, top) => [
            left < 0
              ? left
              : nearest(
                  stops.map((x) => u.valToPos(x, 'x')),
                  left,
                ),
            top,
          ],
        },
        axes: [
          {
            ...axis,
            ...ticks,
            label: r.intensityAxis,
            size: 28,
            splits: () => powers(xLow, xHigh),
            values: (_, splits) => splits.map(power),
          },
          {
            ...axis,
            ...ticks,
            label: 'GFLOP/s',
            size: 36,
            splits: () => powers(yLow, yHigh),
            values: (_, splits) => splits.map((value) => power(value / 1e9)),
          },
        ],
        series: [{}, { show: false }],
      },
      marks: (u) => {
        const own = roofs.find((roof) => roof.variant === main);
        for (const roof of [...roofs.filter((other) => other !== own), own]) drawRoof(u, roof, roof === own, colors);
        labelSlopes(
          u,
          roofs.filter((roof) => roof.variant === main),
          stops,
          r.reading,
          colors,
        );
        for (const place of [...places].sort((a, b) => (a.variant === main) - (b.variant === main)))
          drawPlace(u, place, place.variant === main, colors);
      },
      labels: () => [
        ...ends,
        ...shown.map(({ index, intensity, rate, bound }) => ({
          index,
          name: roomy ? shortName(index) : LETTERS[index],
          x: intensity,
          y: rate,
          align: bound === 'memory' ? 'left' : 'right',
        })),
      ],
    };
  };

  const readout = (i) => {
    const here = shown.filter(({ intensity }) => isSame(intensity, stops[i]));
    const figures = here.map(
      ({ index, rate, ofRoof }) => `${LETTERS[index]}\u00a0${number(rate / 1e9)}\u00a0=\u00a0${roughPercent(ofRoof)}`,
    );
    return `${r.readout(number(stops[i]))}  ${figures.join('   ')}`;
  };
  return (
    <Chart
      title={r.title}
      note={r.note(main)}
      empty={shown.length === 0 && (error?.message ?? (cancelled.value ? t.run.cancelled : true))}
      build={build}
      deps={[results.value, configs.map(({ name }) => name).join('\n'), selected, main, t]}
      readout={readout}
      table={{ head: r.head, rows: configs.flatMap((_, index) => rowsOf(index)), exact: () => exactPlaces(places, t) }}
    />
  );
}

/** Where a configuration stands in a variant; null until it has been measured. */
function placeOf(index, variant) {
  const entry = results.value[index];
  const place = entry?.result && standing(entry.result.cost, entry.times?.[variant]);
  return place ? { index, variant, time: entry.times[variant], ...place } : null;
}

/**
 * The roofs to draw. Of each variant that of the selected configuration; of the variant that runs also the slope of each
 * other working set, up to the same peak.
 */
function roofsOf(places, selected, main) {
  const roofs = [];
  for (const { variant, peak, read } of [...places].sort((a, b) => (b.index === selected) - (a.index === selected))) {
    const known = roofs.filter((roof) => roof.variant === variant);
    if (known.length === 0) roofs.push({ variant, peak, read });
    else if (variant === main && known.every((roof) => roof.read.bytes !== read.bytes))
      roofs.push({ variant, peak: known[0].peak, read, extra: true });
  }
  return roofs;
}

const isSame = (a, b) => Math.abs(Math.log(a / b)) < 0.01;

// In ascending order, those that no pixel keeps apart as one.
const merged = (values) =>
  [...values].sort((a, b) => a - b).filter((value, i, sorted) => i === 0 || !isSame(value, sorted[i - 1]));

const nearest = (positions, left) =>
  positions.reduce((best, position) => (Math.abs(position - left) < Math.abs(best - left) ? position : best), Infinity);

// Half a decade's room on both sides, and two powers of ten at least.
function decades(lows, highs) {
  const high = 2 * Math.max(...highs);
  const low = Math.min(...lows) / 2;
  return [Math.min(low, 0.8 * 10 ** (Math.floor(Math.log10(high)) - 1)), high];
}

function drawRoof(u, { peak, read }, strong, colors) {
  const { ctx, bbox } = u;
  const at = (x, y) => [u.valToPos(x, 'x', true), u.valToPos(y, 'y', true)];
  const { min, max } = u.scales.x;
  const ridge = peak.median / read.median;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.beginPath();
  ctx.moveTo(...at(min, min * read.median));
  ctx.lineTo(...at(ridge, peak.median));
  ctx.lineTo(...at(max, peak.median));
  ctx.strokeStyle = strong ? colors.ink : colors.edge;
  ctx.lineWidth = (strong ? 2 : 1) * devicePixelRatio;
  ctx.lineJoin = 'round';
  ctx.stroke();
  ctx.restore();
}

/**
 * Along each slope, above it, the bandwidth, where no block's point or name stands. Without such a place, and next to a
 * slope that has its label, the table has to do.
 */
function labelSlopes(u, roofs, stops, textOf, colors) {
  const { ctx } = u;
  const scale = devicePixelRatio;
  const { x, y } = u.scales;
  const taken = stops.map((at) => u.valToPos(at, 'x', true));
  const labelled = [];
  ctx.save();
  ctx.font = `600 ${colors.size * scale}px ${FAMILY}`;
  ctx.textAlign = 'center';
  ctx.textBaseline = 'bottom';
  ctx.lineWidth = 4 * scale;
  ctx.lineJoin = 'round';
  ctx.strokeStyle = colors.surface;
  ctx.fillStyle = colors.muted;
  for (const { peak, read, extra } of roofs) {
    if (labelled.some((other) => Math.abs(Math.log(other / read.median)) < 0.4)) continue;
    const from = Math.max(x.min, y.min / read.median);
    const to = peak.median / read.median;
    const [left, right] = [from, to].map((at) => u.valToPos(at, 'x', true));
    const [bottom, top] = [from, to].map((at) => u.valToPos(at * read.median, 'y', true));
    const length = Math.hypot(right - left, bottom - top);
    const rate = si(read.median, 'B/s');
    const places = [textOf(rate, si(read.bytes, 'B', 1)), rate].flatMap((name) => {
      const half = (ctx.measureText(name).width / 2 + 8 * scale) / length;
      return [0.5, 1 - half, half].filter((at) => at >= half && at <= 1 - half).map((at) => ({ name, at, half }));
    });
    const isFree = ({ at, half }) =>
      taken.every(
        (own) => own + 24 * scale < left + (at - half) * (right - left) || own > left + (at + half) * (right - left),
      );
    const place = places.find(isFree) ?? (extra ? undefined : places[0]);
    if (!place) continue;
    labelled.push(read.median);
    ctx.save();
    ctx.translate(left + place.at * (right - left), bottom + place.at * (top - bottom));
    ctx.rotate(Math.atan2(top - bottom, right - left));
    ctx.strokeText(place.name, 0, -4 * scale);
    ctx.fillText(place.name, 0, -4 * scale);
    ctx.restore();
  }
  ctx.restore();
}

// As strong as the bars are; the variant that runs is larger, with its quartiles.
const STRENGTH = { relaxed: 1, simd: 0.65, scalar: 0.35 };

function drawPlace(u, { index, variant, intensity, rate, time }, strong, colors) {
  const { ctx } = u;
  const scale = devicePixelRatio;
  const x = u.valToPos(intensity, 'x', true);
  const y = (value) => u.valToPos(value, 'y', true);
  ctx.save();
  ctx.strokeStyle = colors.line[index];
  ctx.lineWidth = 1.5 * scale;
  if (strong) {
    ctx.beginPath();
    ctx.moveTo(x, y((rate * time.median) / time.high));
    ctx.lineTo(x, y((rate * time.median) / time.low));
    ctx.stroke();
  }
  const mark = () => drawMarker(ctx, index, x, y(rate), (strong ? 4.5 : 3.5) * scale);
  ctx.fillStyle = colors.surface;
  mark();
  ctx.fillStyle = colors.line[index];
  ctx.globalAlpha = STRENGTH[variant];
  mark();
  ctx.restore();
}

function rowsOf(index) {
  const r = text.value.roofline;
  const entry = results.value[index];
  const name = <ConfigName key="name" index={index} />;
  const rest = (cells) => [...cells, ...Array(r.head.length - 1 - cells.length).fill('–')];
  const rows = VARIANTS.flatMap((variant) => {
    const error = entry?.times?.[variant]?.limits?.error;
    if (error) return [[name, ...rest([variant, errorWords(error)])]];
    const place = placeOf(index, variant);
    if (!place) return [];
    const { intensity, rate, peak, read, roof, ofRoof, ofPeak, bound } = place;
    return [
      [
        name,
        variant,
        roughPercent(ofRoof),
        r.bound[bound],
        roughPercent(ofPeak),
        number(rate / 1e9),
        number(roof / 1e9),
        number(intensity),
        spread(peak, 'FLOP/s'),
        r.over(spread(read, 'B/s'), si(read.bytes, 'B', 1)),
        `${peak.count} · ${read.count}`,
      ],
    ];
  });
  if (rows.length > 0) return rows;
  const reason = (entry?.error ?? entry?.timeError)?.message;
  return [[name, ...rest([reason ?? (cancelled.value ? '–' : '…')])]];
}

// The same as it is saved.
function exactPlaces(places, { roofline: r, speed }) {
  const [configuration, variant, ofRoof, bound, ofPeak, rate, roof, intensity, peak, reading] = r.head;
  const limit = (what, unit) => [...quartileHeads(what, unit, speed.quartiles), r.measurements(what)];
  return [
    [
      configuration,
      variant,
      inUnit(ofRoof, '%'),
      bound,
      inUnit(ofPeak, '%'),
      rate,
      roof,
      intensity,
      ...limit(peak, 'GFLOP/s'),
      ...limit(reading, 'GB/s'),
      inUnit(r.workingSet, 'B'),
    ],
    ...places.map((place) => [
      nameOf(place.index),
      place.variant,
      100 * place.ofRoof,
      r.bound[place.bound],
      100 * place.ofPeak,
      place.rate / 1e9,
      place.roof / 1e9,
      place.intensity,
      ...quartiles(place.peak, 1e-9),
      place.peak.count,
      ...quartiles(place.read, 1e-9),
      place.read.count,
      place.read.bytes,
    ]),
  ];
}
