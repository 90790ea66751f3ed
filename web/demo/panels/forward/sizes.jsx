// The size of the signal at each step through a block.
import { number } from '../../format.js';
import { logAxis } from '../../parts/axes.js';
import { Chart, FAMILY, labelWidth, nameOf, ROOMY, shortName } from '../../parts/chart.jsx';
import { LETTERS } from '../../parts/configs.jsx';
import { drawMarker } from '../../parts/marker.jsx';
import { language, picks, results, text } from '../../session.js';
import { STAGES } from '../../trace.js';

// Shares of a configuration that is no longer there are not drawn.
const isCurrent = (index) => index < picks.configs.length;

export function Sizes() {
  const t = text.value;
  const { configs } = picks;
  const entries = results.value;
  const series = entries
    .map((entry, index) => ({ stages: entry?.result?.stages, index }))
    .filter(({ stages, index }) => stages && isCurrent(index));
  const present = STAGES.filter((stage) => series.some(({ stages }) => stages[stage]));
  const rms = series.map(({ stages }) => present.map((stage) => stages[stage]?.rms));
  // A line goes on over a step that its block does not have, and breaks where there is nothing that a log scale could show.
  const drawn = rms.map((values) => values.map((value) => (value === undefined ? value : value || null)));
  const all = rms.flat().filter((value) => value > 0);
  const sizes = logAxis(() => [Math.min(1, ...all) / 1.1, Math.max(1, ...all) * 1.1]);
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
      data: [present.map((_, i) => i), ...drawn],
      options: {
        padding: [8, room, 0, 0],
        scales: {
          x: { time: false, range: [-0.35, Math.max(1, present.length - 1)] },
          y: sizes.scale,
        },
        axes: [
          {
            size: crowded ? 52 : 30,
            rotate: crowded ? -50 : 0,
            splits: () => present.map((_, i) => i),
            values: (_, splits) => splits.map((i) => t.stages[present[i]] ?? ''),
            grid: { show: false },
          },
          sizes.axis,
        ],
        series: [
          {},
          ...series.map(({ index }) => ({
            stroke: colors.line[index],
            width: 2,
            points: { show: false },
          })),
        ],
      },
      marks: (u) => {
        for (const [s, { index }] of series.entries()) {
          markPoints(u, s + 1, index, colors);
          markZeros(u, rms, s, index, colors);
        }
      },
      labels: (u) =>
        series
          .map(({ index }, s) => ({
            index,
            name: roomy ? shortName(index) : LETTERS[index],
            x: present.length - 1,
            y: rms[s][rms[s].length - 1] === 0 ? u.scales.y.min : rms[s][rms[s].length - 1],
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
      note={`${t.forward.sizesNote}${rms.flat().includes(0) ? `${t.sign.semicolon}${t.forward.sizeZero}` : ''}${missing.length > 0 ? `${t.sign.semicolon}${t.forward.noSteps(missing.join(t.sign.list))}` : ''}`}
      empty={series.length === 0}
      build={build}
      deps={[entries, configs.map(({ name }) => name).join('\n'), t]}
      readout={readout}
      table={{
        head: ['RMS', ...series.map(({ index }) => nameOf(index))],
        rows: present.map((stage, i) => [t.stages[stage], ...rms.map((values) => values[i])]),
      }}
    />
  );
}

// What is 0 stands at the lower edge, where a log scale ends; those of several configurations beside each other.
function markZeros(u, rms, s, index, colors) {
  const { ctx, bbox } = u;
  const scale = devicePixelRatio;
  ctx.save();
  const bottom = bbox.top + bbox.height;
  ctx.strokeStyle = colors.line[index];
  ctx.lineWidth = 2 * scale;
  ctx.font = `${colors.size * scale}px ${FAMILY}`;
  ctx.textAlign = 'center';
  ctx.textBaseline = 'alphabetic';
  rms[s].forEach((value, i) => {
    if (value !== 0) return;
    const before = rms.slice(0, s).filter((values) => values[i] === 0).length;
    const x = u.valToPos(i, 'x', true) - 14 * before * scale;
    ctx.fillStyle = colors.surface;
    drawMarker(ctx, index, x, bottom - 6 * scale, 4 * scale);
    ctx.fillStyle = colors.text[index];
    ctx.fillText('0', x, bottom - 14 * scale);
  });
  ctx.restore();
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
