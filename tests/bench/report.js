// The report of a run: a page, the same as Markdown, and charts.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { table as accuracyTable, markdownTable } from './accuracy.js';
import { rowsText } from './cases.js';
import { barChart, lineChart, styles } from './charts.js';
import { barRows, errorOf, labelOf, nativeText, rate, size, time } from './text.js';

// ---- Tables ---------------------------------------------------------------------------------------------------------

const barTable = (report) => ({
  head: ['work', 'variant', 'bound', 'by the medians', 'by the minima', 'best peer', ''],
  rows: barRows(report).map((row) => [row.work, row.variant, row.need, row.median, row.minimum, row.peer, row.verdict]),
});

const groupTable = ({ jobs }) => ({
  head: ['', 'system', 'minimum', 'median', 'spread', 'rate', 'error'],
  rows: jobs.map((job) => {
    const measured = () => [
      time(job.min),
      time(job.median),
      `${(100 * job.spread).toFixed(0)} %`,
      rate(job),
      errorOf(job),
    ];
    return [labelOf(job), job.name ?? job.system, ...(job.skipped ? ['', '', '', '', job.skipped] : measured())];
  }),
});

/** Every system that took part, once. */
function systemsTable({ groups }) {
  const systems = new Map();
  for (const { jobs } of groups) {
    for (const { name, version, note } of jobs) {
      if (name && version) systems.set(name, [name, version, note ?? systems.get(name)?.[2] ?? '']);
    }
  }
  return { head: ['system', 'version', ''], rows: [...systems.values()] };
}

/** scalar, simd, relaxed, wherever all three were measured. */
function variantsTable({ groups }) {
  const rows = groups.flatMap(({ name, jobs }) =>
    jobs
      .filter(({ system, median }) => system === 'scalar' && median)
      .map((scalar) => {
        const of = (system) => jobs.find((job) => job.system === system && job.label === scalar.label)?.median;
        const times = (system) => (of(system) ? `${(scalar.median / of(system)).toFixed(2)} x` : '');
        return [`${name}: ${scalar.label}`, time(scalar.median), times('simd'), times('relaxed')];
      }),
  );
  return { head: ['work', 'scalar', 'simd', 'relaxed'], rows };
}

// ---- Charts ---------------------------------------------------------------------------------------------------------

const timed = (group, system, label) =>
  group?.jobs.find((job) => job.system === system && job.median && (label === undefined || job.label === label));
const flops = ({ work, median }) => work.flops / median / 1e9;

/** Median over all groups of a limit's rate. */
function limitOf({ groups }, system, what, bytes) {
  const rates = groups
    .flatMap(({ jobs }) => jobs)
    .filter((job) => job.system === system && job.median && (bytes === undefined || job.work.bytes === bytes))
    .map(({ work, median }) => work[what] / median / 1e9)
    .sort((a, b) => a - b);
  return rates[rates.length >> 1] ?? null;
}

/** The next round number. */
function nice(value) {
  const unit = 10 ** Math.floor(Math.log10(value));
  return unit * [1, 1.5, 2, 2.5, 3, 4, 5, 7.5, 10].find((factor) => factor * unit >= value);
}
const systemsIn = (groups) => Object.keys(styles).filter((name) => groups.some((group) => timed(group, name)));

/** GFLOP/s over operations a byte: an FFN by the number of its rows, under what the engine can do. */
function roofline(report) {
  const groups = report.groups.filter(({ name }) => name.startsWith('ffn bert'));
  const [fused, separate] = [limitOf(report, 'peak relaxed', 'flops'), limitOf(report, 'peak simd', 'flops')];
  const read = Math.max(
    ...groups
      .map((group) => timed(group, 'read'))
      .filter(Boolean)
      .map(({ work, median }) => work.bytes / median / 1e9),
  );
  if (groups.length < 2 || !fused || !(read > 0)) return null;
  const point = (job) => [job.work.flops / job.work.bytes, flops(job)];
  const series = systemsIn(groups)
    .map((name) => ({
      style: styles[name],
      points: groups
        .map((group) => timed(group, name, rowsText(Number(group.name.split(' ').at(-1)))))
        .filter(Boolean)
        .map(point),
    }))
    .filter(({ points }) => points.length > 0);
  const top = Math.max(...series.flatMap(({ points }) => points.map(([x]) => x))) * 1.15;
  const slope = [
    [0.4, 0.4 * read],
    [fused / read, fused],
  ];
  const roofs = [{ label: `multiply-adds ${fused.toFixed(0)}`, points: [...slope, [top, fused]] }];
  if (separate)
    roofs.push({
      label: `product and sum ${separate.toFixed(0)}`,
      points: [
        [separate / read, separate],
        [top, separate],
      ],
      dashed: true,
    });
  return lineChart({
    title: 'FFN 768/3072, GELU, 1 to 512 rows, under the limits of the engine',
    subtitle: `${report.engine}, one thread; the slope is reading the weights at ${read.toFixed(1)} GB/s`,
    x: {
      label: 'floating-point operations a byte',
      domain: [0.4, top],
      ticks: [0.5, 1, 2, 5, 10, 20, 50, 100, 200].filter((tick) => tick < top),
    },
    y: {
      label: 'GFLOP/s',
      log: true,
      domain: [0.5, nice(fused * 1.2)],
      ticks: [0.5, 1, 2, 5, 10, 20, 50, 100].filter((tick) => tick <= nice(fused * 1.2)),
    },
    series,
    roofs,
  });
}

const ffnNames = {
  bert: '768/3072 GELU',
  gpt2: '768/3072 GELU tanh',
  smollm2: '576/1536 SwiGLU',
  tinyllama: '2048/5632 SwiGLU',
  small: '64/256 GELU',
};
function titleOf(group, label) {
  const [kind, name, rows] = group.name.split(' ');
  return kind === 'ffn'
    ? `${ffnNames[name]}, ${rowsText(Number(rows))}`
    : group.name.includes('uniform')
      ? `${label}, uniform`
      : label;
}
/** The items of a group that peers took part in. */
const shared = (group) => [...new Set(group.jobs.filter(({ system }) => system === 'ort').map(({ label }) => label))];

/** How fast everyone is, relaxed being 1. */
function speed(report, title, wanted) {
  const groups = report.groups.filter(wanted);
  const rows = groups.flatMap((group) =>
    shared(group).flatMap((label) => {
      const ours = timed(group, 'relaxed', label);
      if (!ours) return [];
      const jobs = Object.keys(styles)
        .map((name) => timed(group, name, label))
        .filter(Boolean);
      const bars = jobs.map((job) => ({
        style: styles[job.system],
        value: ours.median / job.median,
        label:
          job === ours
            ? `${styles.relaxed.name}, ${time(job.median)}`
            : `${styles[job.system].name} ${(ours.median / job.median).toFixed(2)}`,
      }));
      return [{ label: titleOf(group, label), bars }];
    }),
  );
  if (rows.length === 0) return null;
  const highest = Math.max(1, ...rows.flatMap(({ bars }) => bars.map(({ value }) => value)));
  return barChart({
    title,
    subtitle: `${report.engine}, one thread; addnorm relaxed is 1, longer is faster`,
    rows,
    domain: [0, highest],
    goal: 1,
  });
}

/**
 * What holds a job back, and for how many seconds: multiply-adds, reading the weights, or copying as many bytes as it
 * must move; the longest of those that were measured.
 */
function limitOn(group, { system, work }) {
  const peak = timed(group, `peak ${system.split(' ')[0]}`);
  const on = (kind, bytes) =>
    bytes && group.jobs.find((job) => job.system === kind && job.median && job.work.bytes === bytes);
  const [read, copy] = [on('read', work.weights), on('copy', work.bytes)];
  const limits = [];
  if (peak && work.flops)
    limits.push({ seconds: work.flops / 1e9 / flops(peak), text: `${flops(peak).toFixed(0)} GFLOP/s` });
  if (read) limits.push({ seconds: read.median, text: `reading ${size(work.weights)}` });
  if (copy) limits.push({ seconds: copy.median, text: `copying ${size(work.bytes)}` });
  return limits.sort((a, b) => b.seconds - a.seconds)[0];
}

/** How much of its limit each work reaches; softmax and activations compute far more than they move. */
function shares(report) {
  const limited = report.groups.filter(({ name }) => /^(ffn|norm|linear|step)/.test(name));
  const rows = limited.flatMap((group) =>
    shared(group).flatMap((label) => {
      const bars = ['relaxed', 'simd'].flatMap((name) => {
        const job = timed(group, `${name} kernel`, label) ?? timed(group, name, label);
        const limit = job && limitOn(group, job);
        if (!limit) return [];
        const value = limit.seconds / job.median;
        return [{ style: styles[name], value, label: `${(100 * value).toFixed(0)} % of ${limit.text}` }];
      });
      return bars.length > 0 ? [{ label: titleOf(group, label), bars }] : [];
    }),
  );
  if (rows.length === 0) return null;
  return barChart({
    title: 'How much of its limit each work reaches',
    subtitle: `${report.engine}, one thread; limits measured in the same turns; orange relaxed, blue simd`,
    rows,
    domain: [0, Math.max(1.05, ...rows.flatMap(({ bars }) => bars.map(({ value }) => value)))],
    goal: 1,
  });
}

/** The rate over rows or over the size of the weights; level where cost is linear. */
function sweep(report, name, { title, label, x, ticks, format, marks }) {
  const group = report.groups.find((one) => one.name === name);
  if (!group) return null;
  const series = ['relaxed', 'simd']
    .map((system) => ({
      style: styles[system],
      points: group.jobs.filter((job) => job.system === system && job.median).map((job) => [x(job), flops(job)]),
    }))
    .filter(({ points }) => points.length > 1);
  const values = series.flatMap(({ points }) => points.map(([value]) => value));
  const domain = [Math.min(...values) / 1.2, Math.max(...values) * 1.2];
  const roofs = ['relaxed', 'simd'].flatMap((system) => {
    const peak = timed(group, `peak ${system}`);
    return peak
      ? [
          {
            label: `limit ${system} ${flops(peak).toFixed(0)}`,
            points: domain.map((value) => [value, flops(peak)]),
            dashed: system === 'simd',
          },
        ]
      : [];
  });
  const most = nice(1.05 * Math.max(...[...series, ...roofs].flatMap(({ points }) => points.map(([, y]) => y))));
  return lineChart({
    title,
    subtitle: `${report.engine}, one thread; a level line is a cost that grows linearly`,
    x: { label, domain, ticks: ticks.filter((tick) => tick >= domain[0] && tick <= domain[1]), format },
    y: { label: 'GFLOP/s', domain: [0, most], ticks: [0, 1, 2, 3, 4, 5].map((i) => (i * most) / 5) },
    series,
    roofs,
    marks: marks?.filter((mark) => mark.x > domain[0] && mark.x < domain[1]),
  });
}

const powers = (from, to) => Array.from({ length: Math.log2(to / from) + 1 }, (_, i) => from * 2 ** i);

const charts = {
  roofline,
  'speed-ffn': (report) =>
    speed(report, 'Speed of the FFN of BERT and GPT-2', ({ name }) => /^ffn (bert|gpt2)/.test(name)),
  'speed-shapes': (report) =>
    speed(report, 'Speed of an FFN in other shapes', ({ name }) => /^ffn (smollm2|tinyllama|small)/.test(name)),
  'speed-rows': (report) =>
    speed(report, 'Speed of norms, softmax, activations', ({ name }) => /^(norm|softmax|activation|glu)/.test(name)),
  limits: shares,
  'sweep-rows': (report) =>
    sweep(report, 'sweep rows', {
      title: 'FFN 768/3072 over the number of rows',
      label: 'rows',
      x: ({ label }) => Number.parseInt(label, 10),
      ticks: powers(1, 1024),
    }),
  'sweep-size': (report) =>
    sweep(report, 'sweep size', {
      title: 'FFN of 128 rows over the size of its weights',
      label: 'bytes of the weights, 8 d d_ff',
      x: ({ work }) => work.weights,
      ticks: powers(2 ** 15, 2 ** 30).filter((_, i) => i % 2 === 0),
      format: size,
      marks: report.caches?.map(({ level, bytes }) => ({ x: bytes, label: `L${level}` })),
    }),
};

// ---- Files ----------------------------------------------------------------------------------------------------------

const headings = (report) => [
  `${report.engine}, ${report.processor}, one thread, ${report.date.slice(0, 10)}${report.pace === 'quick' ? ', a quick run' : ''}.`,
  `Multiply-adds ${nativeText(report.native)}.`,
];

const sections = (report) => [
  { title: 'Bars', table: barTable(report) },
  { title: 'Systems', table: systemsTable(report) },
  { title: 'scalar, simd, relaxed', table: variantsTable(report) },
  ...(report.accuracy ? [{ title: 'accuracy', table: accuracyTable(report.accuracy) }] : []),
  ...report.groups.map((group) => ({ title: group.name, table: groupTable(group) })),
];

const markdown = (report, names) => [
  '# Benchmarks',
  ...headings(report),
  ...names.map((name) => `![${name}](${name}.svg)`),
  ...sections(report).flatMap(({ title, table }) => [`## ${title}`, markdownTable(table)]),
];

const escaped = (text) => String(text ?? '').replace(/[&<]/g, (c) => ({ '&': '&amp;', '<': '&lt;' })[c]);
const cells = (row, tag) => `<tr>${row.map((cell) => `<${tag}>${escaped(cell)}</${tag}>`).join('')}</tr>`;
const htmlTable = ({ head, rows }) =>
  `<table><thead>${cells(head, 'th')}</thead><tbody>${rows.map((row) => cells(row, 'td')).join('\n')}</tbody></table>`;
const html = (report, names) => `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>addnorm: benchmarks</title>
<style>
  :root { color-scheme: light dark; }
  body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
  table { border-collapse: collapse; display: block; overflow-x: auto; font-variant-numeric: tabular-nums; }
  th, td { text-align: left; padding: 0.15rem 0.9rem 0.15rem 0; white-space: nowrap; border-bottom: 1px solid #8884; }
  img { max-width: 100%; margin: 0.5rem 0; }
</style>
<h1>Benchmarks</h1>
${headings(report)
  .map((paragraph) => `<p>${escaped(paragraph)}</p>`)
  .join('\n')}
${names.map((name) => `<img src="${name}.svg" alt="${name}">`).join('\n')}
${sections(report)
  .map(({ title, table }) => `<h2>${escaped(title)}</h2>\n${htmlTable(table)}`)
  .join('\n')}
</html>
`;

export function writeReport(folder, report) {
  const names = Object.keys(charts).filter((name) => {
    const chart = charts[name](report);
    if (chart) writeFileSync(join(folder, `${name}.svg`), chart);
    return chart !== null;
  });
  writeFileSync(join(folder, 'report.md'), `${markdown(report, names).join('\n\n')}\n`);
  writeFileSync(join(folder, 'index.html'), html(report, names));
}
