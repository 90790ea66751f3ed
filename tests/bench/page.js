// Runs one group inside the engine that is measured: a page of a browser, or Node. Every result is compared with the
// reference before anything is timed.
import * as accuracy from './accuracy.js';
import * as addnorm from './addnorm.js';
import { filled, groups, peers, work } from './cases.js';
import * as kernels from './kernels.js';
import { compare, reference } from './reference.js';
import { interleave, settings, summary } from './timer.js';

/** Plain JavaScript takes seconds for more than this many floating-point operations. */
const PLAIN_LIMIT = 1.5e9;

const LIMIT_BYTES = { read: [2 ** 18, 2 ** 24, 2 ** 27], copy: [2 ** 18, 2 ** 21, 2 ** 27] };

const systems = new Map();

/** A system by its name: `relaxed`, `relaxed arrays`, `relaxed kernel`, `ort`; opened once. */
function open(name, { lib, base }) {
  if (!systems.has(name)) systems.set(name, opened(name, { lib, base }));
  return systems.get(name);
}

async function opened(name, { lib, base }) {
  const [variant, form] = name.split(' ');
  if (peers.includes(name)) return (await import(`./peers/${name}.js`)).create({ base });
  if (form === 'kernel') return kernels.create({ lib, variant });
  return addnorm.create({ lib, variant, arrays: form === 'arrays' });
}

const reason = (error) => String(error?.message ?? error).split('\n')[0];

const idleOf = ({ system, label, name, version, work: { bytes } }) => ({
  ...{ system: `${system} copies`, label, name: `${name}, copies alone`, version, samples: [] },
  ...{ work: { flops: 0, bytes }, job: { dispose() {} } },
});

/** What a job computes; of training steps the losses of the first two. */
async function results(spec, job) {
  if (spec.op !== 'step') return job.result();
  const [first] = await job.result();
  await job.run();
  return [Float32Array.of(first, ...(await job.result()))];
}

/** The job of one system for one item, after its result has been compared; or why it is not timed. */
async function prepared(name, label, spec, parts, where) {
  const entry = { system: name, label, work: work(spec), samples: [] };
  const skip = (skipped) => ({ ...entry, skipped });
  if (name === 'plain' && entry.work.flops > PLAIN_LIMIT) return skip('would take seconds a call');
  let job;
  try {
    const system = await open(name, where);
    job = await system.make(spec);
    if (!job) return skip('has no such operation');
    const check = parts && compare(spec, parts, await results(spec, job));
    const full = { ...entry, name: system.name, version: system.version, note: job.note ?? system.note, check };
    const held = check?.verdict === 'right' || check === null || (check.verdict === 'known' && peers.includes(name));
    if (held) return { ...full, job, run: job.run, single: spec.op === 'load' };
    await job.dispose();
    return { ...full, skipped: `wrong: off by ${check.absolute.toExponential(1)}, ${check.ulp?.toPrecision(3)} ULP` };
  } catch (error) {
    await job?.dispose();
    return skip(`failed: ${reason(error)}`);
  }
}

/** Jobs that measure what the engine can do at most, for the bytes of the group's items. */
async function limitJobs({ name, items, limits }, { lib }) {
  const jobs = [];
  const add = (system, made) => jobs.push({ system, label: 'limit', samples: [], job: made, ...made });
  const able = await Promise.all(
    ['relaxed', 'simd', 'scalar'].map((variant) => kernels.limits({ lib, variant }).catch(() => null)),
  );
  const [relaxed, simd, scalar] = able;
  const best = relaxed ?? simd ?? scalar;
  if (limits.includes('peak')) {
    if (relaxed) add('peak relaxed', relaxed.peak());
    if (simd) add('peak simd', simd.peak());
    if (scalar && name === 'limits') add('peak scalar', scalar.peak());
  }
  for (const kind of limits.filter((one) => one !== 'peak')) {
    const amounts = items.map(({ spec }) => work(spec));
    const sizes =
      kind === 'read' ? amounts.slice(0, 1).map(({ weights }) => weights) : amounts.map(({ bytes }) => bytes);
    for (const bytes of new Set(items.length > 0 ? sizes : LIMIT_BYTES[kind])) add(kind, best[kind](bytes));
  }
  for (const { job } of jobs) job.renew?.();
  return jobs;
}

/**
 * Measures one group.
 * @param {string} groupName
 * @param {{ lib: string, base: string, peers: boolean, pace: 'full' | 'quick' }} options lib and base: addresses of
 *   dist/lib/ and of the peers' node_modules/
 */
export async function runGroup(groupName, options) {
  const group = groups.find(({ name }) => name === groupName);
  const entries = [];
  for (const { label, spec, systems } of group.items) {
    const full = filled(spec);
    const parts = reference(full);
    for (const name of systems) {
      if (!options.peers && peers.includes(name)) continue;
      const entry = await prepared(name, label, full, parts, options);
      entries.push(entry);
      // What a peer's call takes that does nothing but copy the same data in and out.
      const idle = entry.work.flops === 0 && entry.job?.idle;
      if (idle) entries.push({ ...idleOf(entry), run: idle });
    }
  }
  entries.push(...(await limitJobs(group, options)));
  const timed = entries.filter(({ skipped }) => !skipped);
  await interleave(timed, settings[options.pace]);
  for (const { job } of timed) await job.dispose();
  return {
    name: group.name,
    jobs: entries.map(({ system, label, name, version, note, work, check, skipped, calls, samples }) => ({
      ...{ system, label, name, version, note, work, check, skipped, calls, samples },
      ...(samples.length > 0 ? summary(samples) : {}),
    })),
  };
}

/** How exact everyone is: accuracy.js. */
export async function runAccuracy(options) {
  const opened = async (names) => {
    const made = await Promise.all(names.map((name) => open(name, options).catch(() => null)));
    return made.filter(Boolean);
  };
  const [instances, others] = [await opened(['relaxed', 'simd']), await opened(options.peers ? peers : [])];
  return accuracy.measure({ instances, peers: others });
}
