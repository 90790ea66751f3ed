// Builds the libFuzzer targets of fuzz.c, all in one program, and runs them.
import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const here = fileURLToPath(new URL('.', import.meta.url));
const place = join(root, 'dist/fuzz');
const program = join(place, 'fuzz');

export const targets = ['lists', 'elements', 'norms', 'linear', 'losses', 'optimisers', 'module'];

const flags = [
  ...['-std=gnu11', '-ffp-contract=off', '-Wall', '-Wextra', '-Wshadow', '-Wstrict-prototypes', '-Werror'],
  ...['-O1', '-gline-tables-only', '-fno-omit-frame-pointer', '-fno-sanitize-recover=all'],
  // Comparisons are not traced: the inputs are choices among few, and it takes half of the time.
  '-fno-sanitize-coverage=trace-cmp',
];
const watched = (fuzzer) => [...flags, `-fsanitize=${fuzzer},address,undefined`];

/** Why there can be no fuzzing here, or false. */
export function missing() {
  if (spawnSync('clang', ['--version']).status !== 0) return 'clang is not installed';
  if (!existsSync('/usr/include/simde/wasm/simd128.h')) return 'SIMDe is not installed (Debian: libsimde-dev)';
  const { stdout } = spawnSync('clang', ['-print-runtime-dir'], { encoding: 'utf8' });
  const library = join(stdout.trim(), `libclang_rt.fuzzer-${process.arch === 'x64' ? 'x86_64' : 'aarch64'}.a`);
  return existsSync(library) ? false : 'libFuzzer is not installed (Debian: libclang-rt-14-dev)';
}

const below = (dir) => readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
const contents = (dir, pattern) =>
  below(dir)
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .filter((path) => pattern.test(path))
    .sort()
    .map((path) => readFileSync(path));

/** A file is compiled again if it, a header or the compiler is another than it was: the name of its object says so. */
export async function build() {
  mkdirSync(place, { recursive: true });
  const { stdout: compiler } = await run('clang', ['--version']);
  const common = createHash('sha256').update(compiler).update(flags.join());
  for (const header of [...contents(join(root, 'src'), /\.(h|def)$/), ...contents(join(root, 'include'), /\.h$/)]) {
    common.update(header);
  }
  const compile = async (source, fuzzer, ...more) => {
    const hash = common.copy().update(readFileSync(source));
    for (const part of more) hash.update(part);
    const object = join(place, `${hash.digest('hex').slice(0, 20)}.o`);
    if (!existsSync(object)) {
      const part = `${object}.${process.pid}`;
      await run('clang', [...watched(fuzzer), '-c', source, '-o', part]);
      renameSync(part, object);
    }
    return object;
  };
  const sources = readdirSync(join(root, 'src')).filter((file) => file.endsWith('.c'));
  // The slowest first; two at a time.
  const jobs = [
    () => compile(join(root, 'src/norm.c'), 'fuzzer-no-link'),
    () => compile(join(here, 'fuzz.c'), 'fuzzer', ...contents(here, /\.h$/)),
    ...sources
      .filter((file) => file !== 'norm.c')
      .map((file) => () => compile(join(root, 'src', file), 'fuzzer-no-link')),
  ];
  const objects = [];
  const worker = async () => {
    for (let job = jobs.shift(); job; job = jobs.shift()) objects.push(await job());
  };
  await Promise.all([worker(), worker()]);
  const part = `${program}.${process.pid}`;
  await run('clang', [...watched('fuzzer'), ...objects.sort(), '-lm', '-o', part]);
  renameSync(part, program);
}

/** The committed inputs of a target, as files for libFuzzer: a folder. */
function corpusOf(target) {
  const folder = join(place, 'corpus', target);
  mkdirSync(folder, { recursive: true });
  for (const line of readFileSync(join(here, 'corpus', `${target}.txt`), 'utf8')
    .trim()
    .split('\n')) {
    const bytes = Buffer.from(line, 'base64');
    writeFileSync(join(folder, createHash('sha1').update(bytes).digest('hex')), bytes);
  }
  return folder;
}

/**
 * Runs a target, its committed corpus first.
 * @param {string} target
 * @param {string[]} limits flags of libFuzzer
 * @param {{ grown?: string }} [options] grown: the folder where new inputs are kept
 * @returns {Promise<{ executions: number, failure: string | null, reached: Map<string, { calls: number, good: number,
 *   refused: number }> }>} reached: the functions that were called, and with which outcome
 */
export async function fuzz(target, limits, { grown } = {}) {
  const findings = join(place, 'findings');
  mkdirSync(findings, { recursive: true });
  if (grown) mkdirSync(grown, { recursive: true });
  const folders = [...(grown ? [grown] : []), corpusOf(target)];
  const args = [...limits, '-len_control=0', '-max_len=400', '-timeout=20', '-print_final_stats=1'];
  const env = { ...process.env, ADDNORM_FUZZ_TARGET: target, ASAN_OPTIONS: 'detect_leaks=0' };
  const all = [...args, `-artifact_prefix=${findings}/${target}-`, ...folders];
  const { stdout, stderr, failed } = await run(program, all, { env, maxBuffer: 2 ** 28 }).then(
    (result) => ({ ...result, failed: false }),
    (error) => ({ ...error, failed: true }),
  );
  const reached = new Map();
  for (const [, name, ...counts] of stdout.matchAll(/^reached (\w+) (\d+) (\d+) (\d+)$/gm)) {
    const known = reached.get(name) ?? { calls: 0, good: 0, refused: 0 };
    const [calls, good, refused] = counts.map(Number);
    reached.set(name, { calls: known.calls + calls, good: known.good + good, refused: known.refused + refused });
  }
  const executions = Number(/stat::number_of_executed_units:\s*(\d+)/.exec(stderr)?.[1] ?? 0);
  const failure = failed ? stderr.replace(/^(#\d+|INFO:).*\n/gm, '').slice(-6000) : null;
  return { executions, failure, reached };
}
