// npm run bench -- [--node | --firefox] [--only text] [--quick] [--no-peers] [--out folder]
// Measures addnorm against its peers and the limits of the engine; docs/benchmarks.md says what and how. Results go to
// dist/bench/: results.json with every sample, report.md, index.html and charts.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { markdownTable, notable, table } from './accuracy.js';
import { groups } from './cases.js';
import { caches, chromium, firefox, node, processor } from './engines.js';
import { writeReport } from './report.js';
import { barLines, groupLines, nativeText } from './text.js';

const { values: given } = parseArgs({
  options: {
    node: { type: 'boolean' },
    firefox: { type: 'boolean' },
    only: { type: 'string', default: '' },
    quick: { type: 'boolean', default: false },
    'no-peers': { type: 'boolean', default: false },
    out: { type: 'string' },
  },
});

const kind = given.node ? 'node' : given.firefox ? 'firefox' : 'chromium';
const named = groups.filter(({ name }) => name.includes(given.only));
// A quick run leaves out what is not marked so, unless nothing else was asked for.
const marked = named.filter(({ quick }) => given.quick && quick);
const chosen = marked.length > 0 ? marked : named;
const accuracy = 'accuracy'.includes(given.only) && !given.quick;
if (chosen.length === 0 && !accuracy) {
  const names = [...groups.map(({ name }) => name), 'accuracy'];
  console.error(`no group's name contains "${given.only}"; there are: ${names.join(', ')}`);
  process.exit(1);
}
// What is not the whole suite in Chromium has a folder of its own.
const partial = given.only || given.quick || given['no-peers'] ? 'partial' : '';
const folder =
  given.out ??
  fileURLToPath(new URL(join('../../dist/bench', kind === 'chromium' ? '' : kind, partial), import.meta.url));

/** The same multiply-adds natively, or why not. */
function native() {
  const scratch = mkdtempSync(join(tmpdir(), 'addnorm-bench-'));
  const program = join(scratch, 'native');
  try {
    const source = fileURLToPath(new URL('native.c', import.meta.url));
    execFileSync('gcc', ['-O2', '-mfma', '-ffp-contract=off', source, '-o', program], { stdio: 'pipe' });
    return JSON.parse(execFileSync(program, { encoding: 'utf8' }));
  } catch (error) {
    const why = error.code === 'ENOENT' ? 'there is no gcc' : 'no gcc for this processor, or no fused multiply-add';
    return { skipped: why };
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

const engine = await { chromium, firefox, node }[kind]();
const report = {
  engine: engine.name,
  processor: processor(),
  caches: caches(),
  date: new Date().toISOString(),
  pace: given.quick ? 'quick' : 'full',
  native: native(),
  groups: [],
};
console.log(`${report.engine}, ${report.processor}, ${chosen.length} groups; ${nativeText(report.native)}`);
try {
  for (const { name } of chosen) {
    const start = performance.now();
    const result = await engine.run(name, { peers: !given['no-peers'], pace: report.pace });
    report.groups.push(result);
    console.log(`\n${name}  (${((performance.now() - start) / 1000).toFixed(0)} s)`);
    for (const line of groupLines(result)) console.log(line);
  }
  if (accuracy) {
    report.accuracy = await engine.accuracy({ peers: !given['no-peers'] });
    console.log(`\naccuracy, over ${report.accuracy.points} inputs\n${markdownTable(table(report.accuracy, notable))}`);
  }
} finally {
  await engine.close();
}
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, 'results.json'), `${JSON.stringify(report)}\n`);
writeReport(folder, report);
console.log(`\n${barLines(report).join('\n')}\n\nwritten to ${folder}`);
// A result of ours that is wrong is an error; a bar that is not met is a fact.
if (
  report.groups.some(({ jobs }) => jobs.some(({ system, skipped }) => /^(relaxed|simd|scalar)/.test(system) && skipped))
) {
  console.error('a result of addnorm is wrong or missing');
  process.exitCode = 1;
}
