// The page's live half: signals, history, the link to the URL, and the runs in the worker. UI → state → run → results → UI.
import { computed, effect, signal } from '@preact/signals';
import { proxy, wrap } from 'comlink';
import { equalised, valuesOf } from './fields.js';
import { panelJobs } from './panels/jobs.js';
import { weightFiles } from './panels/weights/opened.js';
import { fieldsOf, trainedOf } from './presets.js';
import { decodeState, encodeState, PROPS } from './state.js';
import { loadTexts, texts } from './texts/index.js';
import { makeWorker } from './workers.js';

// ---- State and its history

/** What the module lists; null until it is known. */
export const catalog = signal(null);
const own = signal(decodeState(location.hash));
export const state = computed(() => equalised(own.value, catalog.value?.fields));

/** The state's properties one by one: a component that takes its own from here is not drawn anew for the others. */
export const picks = {};
for (const { name } of [...PROPS, { name: 'configs' }]) {
  const pick = computed(() => state.value[name]);
  Object.defineProperty(picks, name, { get: () => pick.value, enumerable: true });
}
const past = signal([]);
const future = signal([]);
export const canUndo = computed(() => past.value.length > 0);
export const canRedo = computed(() => future.value.length > 0);
let lastEdit = { label: '', time: 0 };

// Looking around is no edit.
const VIEW = PROPS.filter(({ view }) => view).map(({ name }) => name);

/**
 * Replaces the state. Edits with the same label in quick succession, as of a slider, are one step of undo, but for those that
 * add or remove a configuration; without a label, none.
 */
export function update(next, label = '') {
  if (label) {
    const now = performance.now();
    const asMany = next.configs.length === state.value.configs.length;
    const merge = asMany && label === lastEdit.label && now - lastEdit.time < 1000;
    if (!merge) past.value = [...past.value.slice(-99), state.value];
    future.value = [];
    lastEdit = { label, time: now };
  }
  own.value = next;
}

export const set = (patch, label = '') => update({ ...state.value, ...patch }, label);

function travel(from, to) {
  const steps = from.value;
  if (steps.length === 0) return;
  const target = steps[steps.length - 1];
  from.value = steps.slice(0, -1);
  to.value = [...to.value, state.value];
  const view = Object.fromEntries(VIEW.map((name) => [name, state.value[name]]));
  lastEdit = { label: '', time: 0 };
  own.value = { ...target, ...view, selected: Math.min(view.selected, target.configs.length - 1) };
}
export const undo = () => travel(past, future);
export const redo = () => travel(future, past);

/** The page's address with the whole state. */
export const link = () => new URL(`#${encodeState(state.peek())}`, location.href).href;

// A little later than the edit: browsers allow only so many changes of the address in a time.
const WRITE_AFTER = 150;
let writing = 0;
let known = location.hash; // what the state says or has said
effect(() => {
  state.value;
  clearTimeout(writing);
  writing = setTimeout(() => {
    if (location.hash !== known) return; // the visitor has gone to another address: it is about to be read
    const hash = `#${encodeState(state.peek())}`;
    if (hash !== location.hash) history.replaceState(null, '', hash);
    known = location.hash;
  }, WRITE_AFTER);
});
addEventListener('hashchange', () => {
  known = location.hash;
  if (location.hash !== `#${encodeState(state.peek())}`) update(decodeState(location.hash), 'link');
});

// ---- Language and theme

const wantedLanguage = computed(() => {
  const { language: chosen } = picks;
  if (chosen !== 'auto') return chosen;
  return /^zh\b/i.test(navigator.language) ? 'zh' : 'en';
});
/** Resolves when the texts that the visitor wants at first are there. */
export const firstTexts = loadTexts(wantedLanguage.peek());
effect(() => {
  loadTexts(wantedLanguage.value);
});
/** The language that is shown: the one that is wanted, as soon as its texts are there. */
export const language = computed(() => (texts.value[wantedLanguage.value] ? wantedLanguage.value : 'en'));
export const text = computed(() => texts.value[language.value]);

const prefersDark = matchMedia('(prefers-color-scheme: dark)');
const systemDark = signal(prefersDark.matches);
prefersDark.addEventListener('change', ({ matches }) => {
  systemDark.value = matches;
});
export const dark = computed(() => (picks.theme === 'auto' ? systemDark.value : picks.theme === 'dark'));

effect(() => {
  document.documentElement.dataset.theme = dark.value ? 'dark' : 'light';
  document.documentElement.lang = language.value === 'zh' ? 'zh-CN' : 'en';
});

// ---- The input file: it is not part of the link

export const file = signal(null); // { id, name, data, shape }
export const fileError = signal(null); // { name, code, detail }
let fileCount = 0;

/** Changes with every edit of the seeded input. */
export const seededInput = computed(() => {
  const { rows, seed, inputMean, inputStd } = picks;
  return JSON.stringify([rows, seed, inputMean, inputStd]);
});
// Such an edit says that the file which could not be read is not wanted any more.
effect(() => {
  seededInput.value;
  if (!file.peek()) fileError.value = null;
});

export async function openFile(chosen) {
  const [{ isWeights }, { checkWidth, parseNumbers }] = await Promise.all([
    import('./files/sniff.js'),
    import('./input.js'),
  ]);
  if (await isWeights(chosen, state.value.panel)) {
    fileError.value = null;
    const { openWeights } = await import('./panels/weights/open-file.js');
    return openWeights(chosen);
  }
  fileError.value = null;
  try {
    const parsed = parseNumbers(chosen.name, await chosen.arrayBuffer());
    checkWidth(parsed, selectedWidth());
    file.value = { id: ++fileCount, name: chosen.name, ...parsed };
  } catch (error) {
    fileError.value = {
      name: chosen.name,
      code: error.code ?? 'READ',
      detail: error.detail ?? { message: error.message },
    };
  }
}

/** The input file of a page that was saved. */
export function giveFile(parsed) {
  file.value = { id: ++fileCount, ...parsed };
}

export function dropFile() {
  file.value = null;
  fileError.value = null;
}

// A file that fits none of the configurations is refused; one that fits some runs there.
function selectedWidth() {
  const { configs, selected } = state.value;
  const { fields } = catalog.value ?? { fields: [] };
  return valuesOf(configs[selected], fields).d_model ?? 768;
}

// ---- Worker

export const fatal = signal(null);
let worker = null;
let api = null;
let sentFile = 0;

function startWorker() {
  worker?.terminate();
  worker = makeWorker('compute');
  worker.onerror = (event) => {
    event.preventDefault();
    fatal.value = { code: 'WORKER', message: event.message || 'worker' };
  };
  api = wrap(worker);
  sentFile = 0;
  api.setHidden(document.hidden);
  for (const { key, id, blob } of weightFiles.peek()) api.openWeights(key, id, blob);
  replaced();
  replacement = new Promise((resolve) => {
    replaced = resolve;
  });
}

let replaced = () => {};
let replacement = null;

/** The answer to a call of the worker, which is asked again if it is replaced meanwhile. */
export async function inWorker(call) {
  for (;;) {
    const again = Symbol('again');
    const answer = await Promise.race([call(api), replacement.then(() => again)]);
    if (answer !== again) return answer;
  }
}

document.addEventListener('visibilitychange', () => api?.setHidden(document.hidden));

export async function start() {
  startWorker();
  const listed = api.catalog();
  runNow(); // the worker computes while the page draws what the catalogue lists
  try {
    catalog.value = await listed;
    setTimeout(begin, AFTER_CATALOG);
  } catch (error) {
    fatal.value = { code: error.code ?? error.name, message: error.message };
  }
}

// ---- Runs

/** What is running: null, or { step, done, total, since } and the bytes of a block that is made. */
export const progress = signal(null);
/** true after Cancel, until something is edited or run again. */
export const cancelled = signal(false);
/** By configuration: { key, result, times, error, timeError }. An older key's stays until the new one arrives. */
export const results = signal([]);
/** Over shared bins: { keys, histograms, sigma } */
export const distributions = signal(null);

/** By panel, what its run in the worker has given: { key: of the job, value }. An older key's stays until the new comes. */
export const panelResults = signal({});

/** Whether the Training panel takes the processor while it is shown, which is so until it says otherwise. */
export const training = signal(true);

/**
 * Places of the configurations whose time is wanted: of all where times are shown, elsewhere of the one in the status bar,
 * and of none while training would make them wrong and they would slow it down.
 */
const timed = computed(() => {
  const { panel, configs, selected, tour } = picks;
  if (panel === 'training' && training.value) return [];
  const all = ['forward', 'speed'].includes(panel) || (panel === 'training' && tour > 0);
  return all ? configs.map((_, index) => index) : [selected];
});
const timedText = computed(() => timed.value.join());

// Apart from the panel: a visit to another one need not find out what is in every block.
const blocks = computed(() => {
  const { configs, rows, seed, inputMean, inputStd, variant } = picks;
  const source = file.value ? { file: file.value.id } : { rows, seed, inputMean, inputStd };
  return configs.map((config) => {
    const fields = fieldsOf(config);
    const weights = trainedOf(config.weights);
    // Of a file that is opened later, or of another one of that name, everything is computed anew.
    const opened = weights?.source && (weightFiles.value.find(({ key }) => key === weights.source.file)?.id ?? 0);
    const trained = opened === undefined ? (weights?.file ?? '') : `${opened} ${weights.file}`;
    // DeepNorm's depth and the like are in the fields; the seed matters to weights even where a file is the input.
    return { key: JSON.stringify([fields, trained, source, seed, variant]), fields, trained };
  });
});
/** What has to be computed for the state: a change of its text starts a run. */
const job = computed(() => {
  const { rows, seed, inputMean, inputStd, variant, panel, sigma, tour } = picks;
  return {
    configs: blocks.value,
    rows,
    seed,
    inputMean,
    inputStd,
    variant,
    useFile: Boolean(file.value),
    compare: panel === 'speed',
    thorough: tour > 0 && ['training', 'speed'].includes(panel), // the card says which is faster
    histograms: panel === 'forward',
    sigma,
  };
});
const panelJob = computed(() => {
  const { panel } = picks;
  const context = { catalog: catalog.value, configs: blocks.value, file: file.value?.id ?? 0 };
  const wanted = panelJobs[panel]?.(picks, context);
  return wanted ? { panel, key: JSON.stringify(wanted), wanted } : null;
});
const jobText = computed(() => {
  const { configs, compare, thorough, histograms, sigma } = job.value;
  return JSON.stringify([configs.map(({ key }) => key), compare, thorough, histograms, sigma, panelJob.value?.key]);
});

export const keys = computed(() => blocks.value.map(({ key }) => key));

/** Whether what is shown is not yet what the state asks for. */
export const busy = computed(() => {
  if (!catalog.value) return !fatal.value;
  if (cancelled.value || fatal.value) return false;
  const { panel, key: panelKey } = panelJob.value ?? {};
  if (panel && panelResults.value[panel]?.key !== panelKey) return true;
  return progress.value !== null || keys.value.some((key, i) => results.value[i]?.key !== key);
});

/**
 * false until the first picture is drawn, or has had the time for it: after the first figures, or after the catalogue where
 * these take long. What is beside the panel's picture waits for this; not in the tour, whose card scrolls to the picture, as far
 * as what is below it allows.
 */
export const pictured = signal(picks.tour > 0);
const begin = () => {
  pictured.value = true;
};
const AFTER_FIGURES = 150;
const AFTER_CATALOG = 600;

let running = null; // promise of the run in the worker
let panelDone = ''; // the panel's job that has been computed to its end
let serial = 0;
const DEBOUNCE = 60;
const ANSWER = 400; // a worker that does not answer a cancellation within this is replaced

export async function runNow() {
  const mine = ++serial;
  cancelled.value = false;
  await stop();
  if (mine !== serial || !api) return;
  const todo = { ...job.value, panelJob: panelJob.value, timed: timed.value };
  keepMatching(todo);
  todo.configs = todo.configs.map((config, i) => ({ ...config, known: knownOf(config, i) }));
  const panelText = JSON.stringify(todo.panelJob);
  const { panel, key } = todo.panelJob ?? {};
  // Where only times are wanted.
  if (panelText === panelDone && panelResults.value[panel]?.key === key) todo.panelJob = null;
  else panelDone = '';
  if (todo.useFile) checkFile();
  const since = performance.now();
  let over = false;
  try {
    if (todo.useFile && sentFile !== file.value.id) {
      sentFile = file.value.id;
      api.setFile({ data: file.value.data, shape: file.value.shape });
    }
    progress.value = { step: 'forward', done: 0, total: todo.configs.length, since };
    const report = proxy((event) => {
      // Reports and the end come through different ports, in no certain order.
      if (mine === serial && !(over && event.type === 'progress')) receive(event, since);
    });
    running = api.run({ ...todo, base: new URL('.', document.baseURI).href }, report);
    const given = await running;
    over = true;
    if (mine !== serial) return;
    progress.value = null;
    if (given) panelDone = panelResults.value[panel]?.error ? '' : panelText;
    if (given && given.join() !== timedText.peek()) later(); // asked for when it had just ended
  } catch (error) {
    if (mine !== serial) return;
    progress.value = null;
    fatal.value = { code: error.code ?? error.name, message: error.message };
  } finally {
    if (mine === serial) running = null;
  }
}

/** Ends the run in the worker; starts the worker anew if it is too busy to answer. */
async function stop() {
  if (!running) return;
  api.cancel();
  const late = Symbol('late');
  const timer = new Promise((resolve) => setTimeout(resolve, ANSWER, late));
  const ended = await Promise.race([running.catch(() => null), timer]);
  if (ended === late) startWorker();
  running = null;
  progress.value = null;
}

export async function cancel() {
  serial++;
  cancelled.value = true;
  await stop();
  progress.value = null;
}

// For a worker that has been started anew.
function knownOf({ key }, index) {
  const entry = results.value[index];
  return entry?.key === key && entry.result ? { result: entry.result, times: entry.times } : null;
}

// Results of configurations that are still there stay; others stay, as old, at their place until the new ones come.
function keepMatching({ configs }) {
  const former = results.value;
  results.value = configs.map(
    ({ key }, i) => former.find((entry) => entry?.key === key) ?? (former.length === configs.length ? former[i] : null),
  );
}

function checkFile() {
  const { shape, name } = file.value;
  const last = shape[shape.length - 1];
  const widths = state.value.configs.map((config) => valuesOf(config, catalog.value?.fields ?? []).d_model ?? last);
  const width = widths.find((own) => own !== last);
  fileError.value = width ? { name, code: 'WIDTH', detail: { shape, last, width } } : null;
}

function receive(event, since) {
  const { type, index, key } = event;
  if (type !== 'progress' && !pictured.peek()) setTimeout(begin, AFTER_FIGURES);
  if (type === 'progress') {
    const { step, done, total, bytes } = event;
    progress.value = { step, done, total, bytes, since };
    return;
  }
  if (type === 'panel') {
    const { panel } = event;
    const former = panelResults.value[panel];
    const value = event.fresh ? event.patch : { ...former?.value, ...event.patch };
    panelResults.value = { ...panelResults.value, [panel]: { key, value, error: event.error } };
    return;
  }
  if (type === 'histograms') {
    distributions.value = { keys: event.keys, histograms: event.histograms, sigma: event.sigma };
    return;
  }
  const entries = results.value.slice();
  const entry = entries[index]?.key === key ? entries[index] : { key, times: {} };
  if (type === 'result') entries[index] = { key, result: event.result, times: event.times };
  else if (type === 'times') entries[index] = { ...entry, times: { ...entry.times, ...event.times } };
  else if (type === 'error') entries[index] = { key, error: event.error, times: {} };
  else if (type === 'timeError') entries[index] = { ...entry, timeError: event.error };
  results.value = entries;
}

let timer = 0;
let edited = false; // the first run is start()'s: it does not wait for the catalogue
function later() {
  clearTimeout(timer);
  timer = setTimeout(runNow, DEBOUNCE);
}
effect(() => {
  jobText.value;
  if (edited) later();
  edited = true;
});
// A run that goes on takes up what is to be timed besides; it ends where nothing is any more.
effect(() => {
  const none = timedText.value === '';
  if (!api || cancelled.peek()) return;
  if (running && !none) api.setTimed(timed.peek());
  else later();
});

// ---- Announcements for screen readers

export const announcement = signal('');
