// The package, as it is packed, in every runtime and bundler: one line for each place it is loaded in. Code 1 if anything
// fails; with CI=true also if anything cannot be tried.
//
//   node tests/matrix/run.js [--only name,name]   names as they are printed, or parts of them
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { parseHashes } from '../js/workload.js';
import { closeBrowsers } from './browsers.js';
import { entries } from './entries.js';
import { Projects, root } from './project.js';

const { values } = parseArgs({ options: { only: { type: 'string' } } });
const wanted = values.only?.toLowerCase().split(',');
const chosen = entries.filter(({ name }) => !wanted || wanted.some((part) => name.toLowerCase().includes(part)));
if (chosen.length === 0) throw new Error(`--only ${values.only}: nothing has such a name`);

const read = (file) => readFileSync(join(root, 'tests', file), 'utf8');
const stored = { ...parseHashes(read('workload.hashes')), ...JSON.parse(read('trajectory.json')) };

/** What is wrong with what check.js has found; nothing if it is as it should be. */
function fault({ error, stack, variant, auto, variants, hashes }, expected) {
  if (error) return stack?.includes(error) ? stack : error;
  if (variant !== 'simd') return `asked for simd, got ${variant}`;
  if (`${variants}` !== `${expected}`) return `has the variants ${variants}, not ${expected}`;
  if (auto !== expected[0]) return `'auto' takes ${auto}, not ${expected[0]}`;
  const sections = Object.keys({ ...stored, ...hashes });
  const other = sections.filter((section) => stored[section] !== hashes[section]);
  return other.length > 0 && `other bits in ${other.length} of ${sections.length} sections: ${other.join('; ')}`;
}

const counts = { PASS: 0, FAIL: 0, SKIP: 0 };
function print(verdict, name, version, place, text) {
  counts[verdict]++;
  console.log(`${verdict}  ${name.padEnd(13)} ${version.padEnd(14)} ${place.padEnd(29)} ${text}`);
}

let told = ''; // what failed last: one build has several places
/** @param {() => Promise<any>} check gives the result of check.js, or a text that says what was seen */
async function tryOne({ name, variants }, version, place, check) {
  try {
    const result = await check();
    if (typeof result === 'string') return print('PASS', name, version, place, result);
    const wrong = fault(result, result.expected ?? variants);
    if (wrong) throw new Error(wrong);
    const count = Object.keys(result.hashes).length;
    const others = `auto: ${result.auto}, of ${result.variants.length}`;
    const text = `${result.variant}: ${count} hashes as stored; ${others}; ready in ${result.ready.toFixed(1)} ms`;
    print('PASS', name, version, place, text);
  } catch (error) {
    const text = [error.message, error.stdout].join('\n').trim();
    print('FAIL', name, version, place, text === told ? 'the same' : text);
    told = text;
  }
}

const start = performance.now();
const projects = new Projects();
try {
  await projects.install();
  for (const entry of chosen) {
    const reason = entry.missing();
    if (reason) {
      print('SKIP', entry.name, '', '', reason);
      continue;
    }
    let opened;
    try {
      opened = await entry.open(projects);
      for (const [place, check] of Object.entries(opened.checks)) await tryOne(entry, opened.version, place, check);
    } catch (error) {
      print('FAIL', entry.name, opened?.version ?? '', '', error.stack);
    } finally {
      await opened?.close?.();
    }
  }
} finally {
  await closeBrowsers();
  projects.close();
}
const seconds = ((performance.now() - start) / 1000).toFixed(0);
console.log(`${counts.PASS} passed, ${counts.FAIL} failed, ${counts.SKIP} skipped; ${seconds} s`);
if (counts.FAIL > 0 || (counts.SKIP > 0 && process.env.CI === 'true')) process.exitCode = 1;
