// The long run: `npm run fuzz -- [--seconds N] [--seed N] [target ...]`. Targets are libFuzzer's (native.js), `readers` of
// files, and the API's `anything` and `finiteness`; without any, all of them, each for N seconds (60). It goes on from
// what earlier runs have found worth keeping (dist/fuzz/grown), and ends with 1 if anything was found: libFuzzer's inputs
// are in dist/fuzz/findings, a counterexample of the others comes with its seed and path.
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import fc from 'fast-check';
import { build, fuzz, missing, targets } from './native.js';

const place = fileURLToPath(new URL('../../dist/fuzz', import.meta.url));
const others = { readers: './readers.js', anything: './api.js', finiteness: './api.js' };
const all = [...targets, ...Object.keys(others)];

const options = {
  seconds: { type: 'string', default: '60' },
  seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
};
const { values, positionals } = parseArgs({ options, allowPositionals: true });
const [seconds, seed] = [Number(values.seconds), Number(values.seed)];
const unknown = positionals.filter((name) => !all.includes(name));
if (unknown.length > 0 || !(seconds > 0) || !Number.isSafeInteger(seed)) {
  console.error(`npm run fuzz -- [--seconds N] [--seed N] [target ...]\ntargets: ${all.join(', ')}`);
  process.exit(2);
}

async function runNative(name) {
  const skip = missing();
  if (skip) return { executions: 0, failure: null, note: `not run: ${skip}` };
  await build();
  const limits = [`-seed=${1 + (seed % (2 ** 31 - 1))}`, `-max_total_time=${Math.ceil(seconds)}`];
  return fuzz(name, limits, { grown: join(place, 'grown', name) });
}

async function runProperty(name) {
  const module = await import(others[name]);
  const property = module[name] ?? module.property;
  const result = await fc.check(property, {
    seed,
    numRuns: Number.MAX_SAFE_INTEGER,
    interruptAfterTimeLimit: seconds * 1000,
    markInterruptAsFailure: false,
  });
  const failure = result.counterexample === null ? null : await fc.asyncDefaultReportMessage(result);
  return { executions: result.numRuns, failure };
}

console.log(`seed ${seed}`);
for (const name of positionals.length > 0 ? positionals : all) {
  const { executions, failure, note } = await (name in others ? runProperty(name) : runNative(name));
  console.log(`${name.padEnd(10)} ${note ?? `${executions} executions, ${failure ? 'a finding' : 'nothing found'}`}`);
  if (!failure) continue;
  process.exitCode = 1;
  console.log(failure);
}
