// The report of a run: a page, the same as Markdown, and charts.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { barRows, errorOf, labelOf, rate, time } from './text.js';

const barTable = (report) => ({
  head: ['work', 'variant', 'bound', 'measured', 'best peer', ''],
  rows: barRows(report).map(({ work, variant, need, measured, best, verdict }) => [
    work,
    variant,
    need,
    measured,
    best ?? '',
    verdict,
  ]),
});

const groupTable = ({ jobs }) => ({
  head: ['', 'system', 'minimum', 'median', 'spread', 'rate', 'error'],
  rows: jobs.map((job) => [
    labelOf(job),
    job.name ?? job.system,
    ...(job.skipped
      ? [job.skipped, '', '', '', '']
      : [time(job.min), time(job.median), `${(100 * job.spread).toFixed(0)} %`, rate(job), errorOf(job)]),
  ]),
});

const markdown = ({ head, rows }) =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');

export function writeReport(folder, report) {
  const parts = [
    `# Benchmarks\n\n${report.engine}, ${report.processor}, ${report.date}`,
    '## Bars',
    markdown(barTable(report)),
  ];
  for (const group of report.groups) parts.push(`## ${group.name}`, markdown(groupTable(group)));
  writeFileSync(join(folder, 'report.md'), `${parts.join('\n\n')}\n`);
}
