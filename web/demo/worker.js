// All compute of the page. One run at a time; between configurations and batches it lets messages in, so that cancel and
// pause arrive. Results go out as they come; what has been computed is kept and not computed again.
import { expose } from 'comlink';
import { describe, estimate, forward, HEAVY_BYTES, makeBlock, makeInput, measure, subject } from './compute.js';
import { completed } from './fields.js';
import { FileError } from './files/errors.js';
import { FileStore } from './files/store.js';
import { open, take } from './module.js';
import { histograms, summarize } from './numbers.js';
import { panelRuns } from './panels/runs.js';
import { Gauge, workingSet } from './roofline.js';
import { modelAddress } from './served.js';
import { SIGNALS } from './state.js';

const KEPT = 8;
const MAX_VALUES = 1 << 20; // of one signal, for the histograms
const MAX_IDLE = 256e6; // bytes of an instance that a panel's run leaves behind
const BATCHES = { brief: 5, thorough: 9 };

/**
 * What has been computed, by the key of configuration and input: { result, times, signals, summaries }. Without the last
 * two what a worker before this one has computed.
 */
const kept = new Map();
/** Places of the configurations whose time is wanted; it may change in the middle of a run. */
let timed = [];
const trainedWeights = new Map();
const weightFiles = new FileStore();
let file = null;

// ---- Instances of the package, one a variant, made when first used

const instances = new Map();

function instance(variant) {
  if (!instances.has(variant)) {
    const promise = open({ variant });
    instances.set(variant, promise);
    promise.catch(() => instances.delete(variant));
  }
  return instances.get(variant);
}

// The memory of an instance never shrinks: what a large block took is given back with the instance.
async function release(variant) {
  const promise = instances.get(variant);
  instances.delete(variant);
  (await promise)?.dispose();
}

// ---- Runs

let current = 0;
let hidden = false;
let wasHidden = false;
let onVisible = () => {};

class Cancelled extends Error {}

/** Lets messages in; throws once the run with this number has been replaced or cancelled. */
async function breathe(id) {
  await new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(0);
  });
  if (id !== current) throw new Cancelled();
}

/** Between batches: waits while the page is hidden. False if the batch just timed may have been slowed down by that. */
async function undisturbed(id) {
  await breathe(id);
  if (!wasHidden) return true;
  if (hidden) {
    await new Promise((resolve) => {
      onVisible = resolve;
    });
  }
  wasHidden = false;
  if (id !== current) throw new Cancelled();
  return false;
}

/**
 * @param {object} job { configs: [{ key, fields, trained, known: { result, times } of that key, or null }], rows, seed,
 *   inputMean, inputStd, useFile, sigma, variant: 'auto' or a name, timed: places of the configurations to time, compare:
 *   whether every variant is timed, thorough: whether as often as there, and all in turns, histograms: whether they are
 *   wanted, base: the page's address, panelJob: { panel, key, wanted } or null }
 * @param {(event: object) => void} report a Comlink proxy
 * @returns {Promise<number[] | null>} places of the configurations that it has timed; null if it was cancelled
 */
async function run(job, report) {
  const id = ++current;
  timed = job.timed;
  onVisible();
  try {
    const variant = job.variant === 'auto' ? await best() : job.variant;
    const { fields } = await instance(await best());
    const configs = job.configs.map((config) => ({ ...config, values: completed(config.fields, fields) }));
    const isLast = job.panelJob?.panel === 'speed'; // the parts after the whole
    if (job.panelJob && !isLast) await runPanel({ ...job, variant }, id, report);
    const places = await runAll({ ...job, configs, variant }, id, report);
    if (isLast) await runPanel({ ...job, variant }, id, report);
    return places;
  } catch (error) {
    if (error instanceof Cancelled) return null;
    throw error;
  }
}

/** The variant that `auto` takes here. */
let chosen = null;
async function best() {
  chosen ??= open().then((an) => {
    if (instances.has(an.variant)) an.dispose();
    else instances.set(an.variant, Promise.resolve(an));
    return an.variant;
  });
  return chosen.catch((error) => {
    chosen = null;
    throw error;
  });
}

// What the panel shows comes before what all panels have in common.
async function runPanel({ panelJob: { panel, key, wanted }, variant, base, useFile }, id, report) {
  let fresh = true;
  const send = (patch, error) => {
    report({ type: 'panel', panel, key, patch, fresh, error });
    fresh = false;
  };
  try {
    const panelRun = await panelRuns[panel]();
    await panelRun(wanted, {
      an: await instance(variant),
      instance,
      breathe: () => breathe(id),
      undisturbed: () => undisturbed(id),
      progress: (done, total) => report({ type: 'progress', step: 'panel', done, total }),
      send,
      loadTrained: (name) => loadTrained(base, name, id),
      file: useFile ? file : null,
    });
    if (fresh) send({});
    if ((await instance(variant)).stats().memory > MAX_IDLE) await release(variant);
  } catch (error) {
    if (error instanceof Cancelled) throw error;
    if (!(error instanceof FileError)) await release(variant).catch(() => {});
    send({}, plainError(error));
  }
}

const isHeavy = ({ values }) => estimate(values).bytes > HEAVY_BYTES;

// What is quick comes first: a large block takes seconds to make.
async function runAll(job, id, report) {
  const { configs } = job;
  const entries = configs.map(() => null);
  const order = configs.map((_, index) => index).sort((a, b) => isHeavy(configs[a]) - isHeavy(configs[b]) || a - b);
  for (const [done, index] of order.entries()) {
    const { key, values, known } = configs[index];
    // Nothing is heard of a large block while it is made: the page says so, and shows no share.
    if (isHeavy(configs[index]) && !kept.has(key) && !known)
      report({ type: 'progress', step: 'make', bytes: estimate(values).bytes, done, total: configs.length });
    else report({ type: 'progress', step: 'forward', done, total: configs.length });
    if (isHeavy(configs[index]) && entries.some(Boolean)) reportHistograms(job, entries, report);
    await breathe(id);
    try {
      entries[index] = await computeOne(configs[index], index, job, id, report);
      report({ type: 'result', index, key, result: entries[index].result, times: entries[index].times });
    } catch (error) {
      if (error instanceof Cancelled) throw error;
      if (!(error instanceof FileError)) await release(job.variant).catch(() => {});
      report({ type: 'error', index, key, error: plainError(error) });
    }
  }
  reportHistograms(job, entries, report);
  return timeAll(job, entries, id, report);
}

function reportHistograms({ configs, sigma, histograms: wanted }, entries, report) {
  if (!wanted) return;
  const shared = SIGNALS.map((signal) => {
    const of = (part) => entries.map((entry) => entry?.[part][signal] ?? null);
    return [signal, histograms(of('signals'), of('summaries'), { sigma })];
  });
  report({ type: 'histograms', histograms: Object.fromEntries(shared), sigma, keys: configs.map(({ key }) => key) });
}

const plainError = ({ code, name, message, detail }) => ({ code: code ?? name, message, detail });

function keep(key, entry) {
  kept.delete(key);
  kept.set(key, entry); // the newest is last
  if (kept.size > KEPT) kept.delete(kept.keys().next().value);
  return entry;
}

async function computeOne(config, index, job, id, report) {
  const known = kept.get(config.key) ?? config.known;
  if (known && (known.signals || !job.histograms)) return keep(config.key, known);
  const trained = config.trained && (await loadTrained(job.base, config.trained, id));
  const an = await instance(job.variant);
  const { block, seeded } = makeBlock(an, config.fields, job.seed, trained);
  const entry = { times: { ...known?.times } };
  const heavy = isHeavy(config);
  try {
    await breathe(id);
    const input = makeInput(config.values, { ...job, file: job.useFile ? file : null });
    const { result, signals } = forward(an, block, input);
    entry.signals = signals;
    for (const [name, data] of Object.entries(signals))
      if (data.length > MAX_VALUES) signals[name] = data.slice(0, MAX_VALUES);
    entry.summaries = Object.fromEntries(Object.entries(signals).map(([name, data]) => [name, summarize(data)]));
    entry.result = { ...result, seeded, variant: an.variant, memory: an.stats().memory };
    keep(config.key, entry);
    if (heavy && isMissing(job, entry, an.variant) && timed.includes(index)) {
      // Making it takes longer than timing it, so it is timed while it is there.
      report({ type: 'result', index, key: config.key, result: entry.result, times: entry.times });
      const item = { config, entry, index, variant: an.variant };
      const own = { ...subject(an, block, input), variant: an.variant, bytes: entry.result.cost.bytes };
      const progress = (done, total) => report({ type: 'progress', step: 'time', done, total });
      await timeWithLimits([own], batchesOf(job), id, progress, (times) => show([item], times, report));
      own.dispose();
    }
  } finally {
    block.dispose();
    if (heavy) await release(job.variant);
  }
  return entry;
}

/** What there is stays, should the run be cancelled; what was better before stays until it is as good. */
function show(items, times, report) {
  for (const [i, { config, entry, index, variant }] of items.entries()) {
    if (entry.times[variant]?.count > times[i].count) continue;
    entry.times[variant] = times[i];
    report({ type: 'times', index, key: config.key, times: { [variant]: times[i] } });
  }
}

const batchesOf = ({ compare, thorough }) => (compare || thorough ? BATCHES.thorough : BATCHES.brief);
/** Whether a variant has been timed less than the job asks for. */
function isMissing(job, { times }, variant) {
  const known = times[variant];
  return !known?.limits || known.count < batchesOf(job);
}

/** Whether all were timed in turns with each other. */
function areOfOneRun(items) {
  const begun = items.map(({ entry, variant }) => entry.times[variant]?.begun);
  return begun.every((time) => time === begun[0]);
}

const pauseOf = (id, progress) => (done, total) => {
  progress(done, total);
  return undisturbed(id);
};

/**
 * Times subjects in turns, and after each round the limits of their variants, so that a share of these is of one run. The
 * first figures do not wait for the limits.
 * @param subjects [{ run, variant, bytes: what a pass reads and writes }]
 * @param onTimes (times) => void, whenever there are new figures
 */
async function timeWithLimits(subjects, batches, id, progress, onTimes) {
  const gauges = new Map();
  for (const { variant } of subjects) {
    if (gauges.has(variant)) continue;
    const sets = subjects.filter((other) => other.variant === variant).map(({ bytes }) => workingSet(bytes));
    gauges.set(variant, new Gauge(() => open({ variant }), [...new Set(sets)]));
  }
  const withLimits = (times) =>
    times.map((time, i) => {
      const { variant, bytes } = subjects[i];
      return { ...time, limits: gauges.get(variant).figures(workingSet(bytes)) };
    });
  const onRound = async (times) => {
    onTimes(withLimits(times));
    for (const gauge of gauges.values()) await gauge.sample(() => undisturbed(id));
    onTimes(withLimits(times));
  };
  try {
    await measure(subjects, { batches, pause: pauseOf(id, progress), onRound });
  } finally {
    for (const gauge of gauges.values()) gauge.dispose();
  }
}

// Light blocks of all variants are timed in turns; a heavy one by itself, one variant after the other. What is asked for
// meanwhile comes after.
async function timeAll(job, entries, id, report) {
  const { capabilities } = await instance(job.variant);
  const variants = Object.keys(capabilities).filter((name) =>
    job.compare ? capabilities[name].available : name === job.variant,
  );
  const all = entries.flatMap((entry, index) =>
    entry ? variants.map((variant) => ({ index, entry, variant, config: job.configs[index] })) : [],
  );
  const tried = new Set();
  for (;;) {
    const wanted = timed;
    const asked = all.filter((item) => wanted.includes(item.index) && !tried.has(item));
    const missing = asked.filter(({ entry, variant }) => isMissing(job, entry, variant));
    const isApart = job.thorough && !areOfOneRun(asked.filter(({ config }) => !isHeavy(config)));
    const items = asked.filter((item) => missing.includes(item) || (isApart && !isHeavy(item.config)));
    if (items.length === 0) return wanted;
    for (const item of items) tried.add(item);
    await timeItems(items, job, id, report);
  }
}

async function timeItems(items, job, id, report) {
  const light = items.filter(({ config }) => !isHeavy(config));
  const heavy = items.filter(({ config }) => isHeavy(config));
  const groups = [...(light.length > 0 ? [light] : []), ...heavy.map((item) => [item])];
  const steps = batchesOf(job) + 1;
  let before = 0;
  for (const group of groups) {
    await timeGroup(group, job, id, report, (done) =>
      report({ type: 'progress', step: 'time', done: before + done, total: items.length * steps }),
    );
    before += group.length * steps;
  }
}

async function timeGroup(group, job, id, report, progress) {
  const subjects = [];
  const begun = Date.now(); // tells which were timed in turns
  try {
    for (const { config, entry, variant } of group) {
      const an = await instance(variant);
      const trained = config.trained && (await loadTrained(job.base, config.trained, id));
      const { block } = makeBlock(an, config.fields, job.seed, trained);
      const input = makeInput(config.values, { ...job, file: job.useFile ? file : null });
      subjects.push({ ...subject(an, block, input), variant, bytes: entry.result.cost.bytes });
      await breathe(id);
    }
    const marked = (times) => times.map((time) => ({ ...time, begun }));
    await timeWithLimits(subjects, batchesOf(job), id, progress, (times) => show(group, marked(times), report));
  } catch (error) {
    if (error instanceof Cancelled) throw error;
    for (const { index, config } of group) {
      report({
        type: 'timeError',
        index,
        key: config.key,
        error: { code: error.code ?? error.name, message: error.message },
      });
    }
  } finally {
    for (const { dispose } of subjects) dispose();
    if (isHeavy(group[0].config)) await release(group[0].variant);
  }
}

// ---- Trained weights, loaded when first wanted

function loadTrained(base, name, id) {
  const [, reference] = /^(?:\d+ )?(file~.*)$/s.exec(name) ?? []; // with the number of the opened file
  if (reference) return weightFiles.layer(reference, () => breathe(id));
  if (!trainedWeights.has(name)) {
    const promise = fetchTrained(base, name);
    trainedWeights.set(name, promise);
    promise.catch(() => trainedWeights.delete(name));
  }
  return trainedWeights.get(name);
}

async function fetchTrained(base, name) {
  const get = async (extension) => {
    const response = await fetch(modelAddress(`${name}.${extension}`, base));
    if (!response.ok) throw new Error(`${name}.${extension}: ${response.status}`);
    return response;
  };
  const [index, bytes] = await Promise.all([
    get('json').then((response) => response.json()),
    get('bin').then((response) => response.arrayBuffer()),
  ]);
  return index.parameters.map(({ name: parameter, shape, offset }) => {
    const count = shape.reduce((a, b) => a * b, 1);
    return { name: parameter, data: new Float32Array(bytes, 4 * offset, count) };
  });
}

/** The module's activations on single numbers, with the first parameter where one is given. */
function activationsOf(an) {
  const params = new Map(an.activations.map(({ name, params: [first] }) => [name, first?.name]));
  return {
    names: [...params.keys()],
    activation(name, x, parameter) {
      const key = parameter === undefined ? undefined : params.get(name);
      return an.activation(name, Float32Array.of(x), key ? { [key]: parameter } : {})[0];
    },
  };
}

expose({
  async catalog() {
    return describe(await instance(await best()));
  },
  run,
  cancel() {
    current++;
    onVisible();
  },
  /** Comlink hands no more of an error over than its text. */
  async openWeights(key, id, blob) {
    const own = open(); // a run may give up the other instances
    try {
      return { summary: await weightFiles.open(key, id, blob, own.then(activationsOf)) };
    } catch (error) {
      return {
        error: plainError(error instanceof FileError ? error : new FileError('READ', { message: error.message })),
      };
    } finally {
      own.then((an) => an.dispose()).catch(() => {});
    }
  },
  closeWeights: (key) => weightFiles.close(key),
  /** As in run(). */
  setTimed(places) {
    timed = places;
  },
  setFile(given) {
    file = given;
  },
  setHidden(value) {
    hidden = value;
    wasHidden ||= value;
    if (!value) onVisible();
  },
});

// One message is the module's, all others are Comlink's.
take(
  new Promise((resolve) => {
    addEventListener('message', ({ data }) => 'module' in data && resolve(data));
  }),
);
best().catch(() => {}); // the module is fetched before anybody asks; who does is told of a failure
