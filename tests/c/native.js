// Builds every tests/c/*_test.c against src/*.c in one configuration and runs it. A file of its own for each configuration, so
// that the runner can spread them.
import { execFile, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const has = (command) => spawnSync(command, ['--version']).status === 0;

const warnings = ['-Wall', '-Wextra', '-Wshadow', '-Wstrict-prototypes', '-Werror'];
/** Flags of what the sanitizers watch. */
export const sanitizers = [
  '-g',
  '-O2',
  '-fsanitize=address,undefined',
  '-fno-sanitize-recover=all',
  '-fno-omit-frame-pointer',
];
// The double references take half of the time and need not be watched twice: what they pass is from the heap, which is.
export const plain = ['-O2'];
const sources = readdirSync(join(root, 'src')).filter((file) => file.endsWith('.c'));
const programs = readdirSync(join(root, 'tests/c')).filter((file) => file.endsWith('_test.c'));

/**
 * @param {string} name
 * @param {object} configuration
 * @param {string} configuration.cc the compiler
 * @param {string[]} configuration.flags
 * @param {string[]} [configuration.watched] flags besides, of the sources
 * @param {string[]} [configuration.unwatched] flags besides of the tests, if not the same
 * @param {string} [configuration.under] a program that runs them
 * @param {string[]} [configuration.only] names of tests, if not all are to run
 */
export function testNatively(name, { cc, flags, watched = [], unwatched, under, only }) {
  const missing = [cc, under].find((tool) => tool && !has(tool));
  const simde = existsSync('/usr/include/simde/wasm/simd128.h') || flags.includes('-DAN_SCALAR');
  const skip = missing ? `${missing} is not installed` : !simde && 'SIMDe is not installed (Debian: libsimde-dev)';
  if (skip && process.env.CI === 'true') throw new Error(`CI needs every configuration: ${skip}`);

  test(name, { skip, concurrency: 2 }, async (t) => {
    const dir = join(root, 'dist/native', name.replace(/\W+/g, '-'));
    mkdirSync(dir, { recursive: true });
    const common = ['-std=gnu11', '-ffp-contract=off', ...warnings, ...flags];
    const objects = sources.map((file) => join(dir, file.replace(/c$/, 'o')));
    const compile = (i) => run(cc, [...common, ...watched, '-c', join(root, 'src', sources[i]), '-o', objects[i]]);
    for (let i = 0; i < sources.length; i += 2) {
      await Promise.all([i, i + 1].filter((at) => at < sources.length).map(compile));
    }
    const tests = only?.map((test) => `${test}_test.c`) ?? programs;
    const runs = tests.map((file) =>
      t.test(basename(file, '_test.c'), async () => {
        const program = join(dir, basename(file, '.c'));
        const object = `${program}.o`;
        await run(cc, [...common, ...(unwatched ?? watched), '-c', join(root, 'tests/c', file), '-o', object]);
        await run(cc, [...common, ...watched, object, ...objects, '-lm', '-o', program]);
        const command = under ? [under, '--quiet', '--error-exitcode=9', '--leak-check=full', program] : [program];
        const env = { ...process.env, UBSAN_OPTIONS: 'print_stacktrace=1' };
        await run(command[0], command.slice(1), { env, maxBuffer: 1 << 26 }).catch((error) => {
          throw new Error(`${error.stdout}\n${error.stderr}`.trim());
        });
      }),
    );
    await Promise.all(runs);
  });
}
