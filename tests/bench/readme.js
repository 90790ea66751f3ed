// Prints the README's two tables from dist/bench/results.json, what the whole suite measured last:
//   node tests/bench/readme.js
import { readFileSync } from 'node:fs';
import { markdownTable, notable, table } from './accuracy.js';
import { time } from './text.js';

const report = JSON.parse(readFileSync(new URL('../../dist/bench/results.json', import.meta.url), 'utf8'));

/** What is worth a place: its name there, the group, the item. */
const rows = [
  ['FFN 768/3072, bias, GELU; 1 row', 'ffn bert 1', '1 row'],
  ['8 rows', 'ffn bert 8', '8 rows'],
  ['128 rows', 'ffn bert 128', '128 rows'],
  ['512 rows', 'ffn bert 512', '512 rows'],
  ['SwiGLU 576/1536, 128 rows', 'ffn smollm2 128', '128 rows'],
  ['SwiGLU 2048/5632, 128 rows', 'ffn tinyllama 128', '128 rows'],
  ['linear 768 → 3072, dX and dW, 128 rows', 'linear backward', 'dX and dW'],
  ['FFN 256/1024, forward, backward, Adam; 512 rows', 'step', 'forward, backward, Adam'],
  ['LayerNorm 512 × 768', 'norm', 'layer_norm'],
  ['RMSNorm', 'norm', 'rms_norm'],
  ['x + y and LayerNorm of it', 'norm', 'add + layer_norm'],
  ['softmax 512 × 768', 'softmax', 'softmax'],
  ['GELU erf, a million values', 'activation N(0,1)', 'gelu_erf'],
  ['GELU tanh', 'activation N(0,1)', 'gelu_tanh'],
  ['SiLU', 'activation N(0,1)', 'silu'],
  ['GELU of 16 values', 'call', '16 values'],
];
const systems = ['relaxed', 'simd', 'ort', 'tfjs', 'jax'];

const jobsOf = (group) => report.groups.find(({ name }) => name === group)?.jobs ?? [];
const find = (group, system, label) => jobsOf(group).find((job) => job.system === system && job.label === label);

/** The median, of ours with the share of the multiply-add peak that the same variant reached in the same turns. */
function cell(group, system, label) {
  const job = find(group, system, label);
  if (!job?.median) return '–';
  const peak = find(group, `peak ${system}`, 'limit');
  const share = peak && job.work.flops ? (job.work.flops / job.median) * (peak.median / peak.work.flops) : 0;
  return time(job.median).replace('us', 'µs') + (share > 0.5 ? ` (${Math.round(100 * share)} %)` : '');
}

const names = systems.map((system) => {
  const job = report.groups.flatMap(({ jobs }) => jobs).find((one) => one.system === system);
  return `${job?.name ?? system} ${job?.version ?? ''}`.trim();
});
const speed = {
  head: ['median', ...names],
  rows: rows.map(([name, group, label]) => [name, ...systems.map((system) => cell(group, system, label))]),
};
console.log(`${report.engine}, ${report.processor}, ${report.date.slice(0, 10)}\n\n${markdownTable(speed)}`);
if (report.accuracy) console.log(`\n${markdownTable(table(report.accuracy, notable))}`);
