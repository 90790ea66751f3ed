// Every activation, its derivative (<name>_grad), and the elementary functions under them, over every float32 against
// double precision, plain and fused.
//
//   npm run test:exhaustive [-- names] [--stride n] [--jobs n] [--markdown]
//
// Errors are in ULP, of derivatives in units of 1e-6. Writes dist/exhaustive.json; --markdown prints the tables of
// docs/accuracy.md too. Fails where a bound is exceeded.
import { execFile, execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';

const root = fileURLToPath(new URL('../..', import.meta.url));
const dir = join(root, 'dist/native/exhaustive');
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    stride: { type: 'string', default: '1' },
    jobs: { type: 'string', default: String(availableParallelism()) },
    markdown: { type: 'boolean', default: false },
  },
});
const stride = Number(values.stride);
if (!Number.isInteger(stride) || stride < 1) throw new Error(`--stride: expected a whole number, got ${values.stride}`);

const cc = process.env.CC ?? 'gcc';
const common = ['-std=gnu11', '-O3', '-ffp-contract=off', '-Wall', '-Wextra', '-Wshadow', '-Wstrict-prototypes'];
const sources = ['tests/c/exhaustive.c', 'src/activation.c', 'src/text.c'].map((file) => join(root, file));
// Inline fmaf and roundps: only the arithmetic that is written down, but at the speed of the machine.
const machine = process.arch === 'x64' ? ['-mavx2', '-mfma'] : [];
mkdirSync(dir, { recursive: true });
const libraries = { plain: [], fused: ['-DAN_TEST_FUSED'] };
for (const [name, flags] of Object.entries(libraries)) {
  const shared = ['-shared', '-fPIC', '-DEXHAUSTIVE_KERNELS', ...machine, ...flags, '-o', join(dir, `${name}.so`)];
  execFileSync(cc, [...common, ...sources, ...shared], { stdio: 'inherit' });
}
const program = join(dir, 'exhaustive');
execFileSync(cc, [...common, ...machine, ...sources, '-lm', '-ldl', '-o', program], { stdio: 'inherit' });

const listed = execFileSync(program, ['--list'], { encoding: 'utf8' }).trim().split('\n');
const bounds = new Map(
  listed.map((line) => line.split(' ')).map(([name, bound, unit]) => [name, { bound: Number(bound), unit }]),
);
const names = positionals.length ? positionals : [...bounds.keys()];
const unknown = names.find((name) => !bounds.has(name));
if (unknown) throw new Error(`no function is called '${unknown}'; known: ${[...bounds.keys()].join(', ')}`);

// The range in parts, taken by as many workers as there are processors: every second part, as half of the floats cost less.
const parts = 16;
const jobs = names.flatMap((name) => Array.from({ length: parts }, (_, part) => ({ name, part })));
const results = new Map(names.map((name) => [name, []]));
const started = Date.now();
let next = 0;
let done = 0;

const worse = (a, b) => ({
  ...(b.ulp > a.ulp ? { ulp: b.ulp, at: b.at } : { ulp: a.ulp, at: a.at }),
  ...(b.normal > a.normal ? { normal: b.normal, normalAt: b.normalAt } : { normal: a.normal, normalAt: a.normalAt }),
});
const asFloat = (bits) => {
  const view = new DataView(new ArrayBuffer(4));
  view.setUint32(0, Number.parseInt(bits, 16));
  const value = view.getFloat32(0);
  return Object.is(value, -0) ? '-0' : String(Number(value.toPrecision(9)));
};

const run = promisify(execFile);
async function work() {
  while (next < jobs.length) {
    const { name, part } = jobs[next++];
    const share = 2 ** 32 / parts;
    const count = Math.ceil(share / stride);
    const libs = ['plain.so', 'fused.so'].map((file) => join(dir, file));
    const { stdout } = await run(program, [...libs, name, String(part * share), String(count), String(stride)]);
    const found = results.get(name);
    found.push(JSON.parse(stdout));
    done++;
    const minutes = (Date.now() - started) / 60000;
    const left = Math.round((minutes / done) * (jobs.length - done));
    if (process.stderr.isTTY) process.stderr.write(`\r${done}/${jobs.length} parts, about ${left} minutes left  `);
    if (found.length < parts) continue;
    const total = found.reduce((a, b) => ({ plain: worse(a.plain, b.plain), fused: worse(a.fused, b.fused) }));
    const { bound, unit } = bounds.get(name);
    const ok = Math.max(total.plain.ulp, total.fused.ulp) <= bound;
    results.set(name, { name, bound, unit, ok, ...total });
    const line = ['plain', 'fused'].map((k) => `${k} ${total[k].ulp.toFixed(2)} at ${asFloat(total[k].at)}`).join(', ');
    const clear = process.stderr.isTTY ? '\r' : '';
    console.log(`${clear}${ok ? 'ok  ' : 'FAIL'} ${name}: bound ${bound} ${unit}, ${line} (${minutes.toFixed(1)} min)`);
  }
}
await Promise.all(Array.from({ length: Number(values.jobs) }, work));

const table = [...results.values()];
writeFileSync(join(root, 'dist/exhaustive.json'), `${JSON.stringify({ stride, results: table }, null, 2)}\n`);
if (values.markdown) {
  const cell = ({ ulp, at }) => `${ulp.toFixed(2)} | ${asFloat(at)}`;
  for (const unit of new Set(table.map((r) => r.unit))) {
    console.log(`\n| function | bound, ${unit} | plain | worst input | fused | worst input |`);
    console.log('| --- | --- | --- | --- | --- | --- |');
    for (const r of table.filter((row) => row.unit === unit))
      console.log(`| ${r.name} | ${r.bound} | ${cell(r.plain)} | ${cell(r.fused)} |`);
  }
}
if (table.some((result) => !result.ok)) process.exitCode = 1;
