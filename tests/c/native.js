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
const sources = readdirSync(join(root, 'src')).filter((file) => file.endsWith('.c'));
const programs = readdirSync(join(root, 'tests/c')).filter((file) => file.endsWith('_test.c'));

/**
 * @param {string} name
 * @param {object} configuration
 * @param {string} configuration.cc the compiler
 * @param {string[]} [configuration.flags] of everything
 * @param {string[]} configuration.library flags besides, of the sources and of the linker
 * @param {object[]} configuration.runs the programs once or more often, with the same objects of the sources:
 *   { flags: besides, of the programs; under: a program that runs them; only: names, if not all are to run }
 */
export function testNatively(name, { cc, flags = [], library, runs }) {
  const simde = existsSync('/usr/include/simde/wasm/simd128.h') || flags.includes('-DAN_SCALAR');
  const missing = (tool = '') => tool !== '' && !has(tool) && `${tool} is not installed`;
  const skip = missing(cc) || (!simde && 'SIMDe is not installed (Debian: libsimde-dev)');
  const reason = skip || runs.map(({ under }) => missing(under)).find(Boolean);
  if (reason && process.env.CI === 'true') throw new Error(`CI needs every configuration: ${reason}`);

  test(name, { skip, concurrency: 2 }, async (t) => {
    const dir = join(root, 'dist/native', name.replace(/\W+/g, '-'));
    const common = ['-std=gnu11', '-ffp-contract=off', ...warnings, ...flags];
    mkdirSync(dir, { recursive: true });
    const objects = sources.map((file) => join(dir, file.replace(/c$/, 'o')));
    const compile = (i) => run(cc, [...common, ...library, '-c', join(root, 'src', sources[i]), '-o', objects[i]]);
    for (let i = 0; i < sources.length; i += 2) {
      await Promise.all([i, i + 1].filter((at) => at < sources.length).map(compile));
    }
    const tests = runs.flatMap(({ flags: own, under = '', only }) =>
      (only?.map((test) => `${test}_test.c`) ?? programs).map((file) =>
        t.test(`${basename(file, '_test.c')} ${under}`.trim(), { skip: missing(under) }, async () => {
          const program = join(dir, `${under}${basename(file, '.c')}`);
          const object = `${program}.o`;
          await run(cc, [...common, ...own, '-c', join(root, 'tests/c', file), '-o', object]);
          await run(cc, [...common, ...library, object, ...objects, '-lm', '-o', program]);
          const command = under ? [under, '--quiet', '--error-exitcode=9', '--leak-check=full', program] : [program];
          const env = { ...process.env, UBSAN_OPTIONS: 'print_stacktrace=1' };
          await run(command[0], command.slice(1), { env, maxBuffer: 1 << 26 }).catch((error) => {
            throw new Error(`${error.stdout}\n${error.stderr}`.trim());
          });
        }),
      ),
    );
    await Promise.all(tests);
  });
}
