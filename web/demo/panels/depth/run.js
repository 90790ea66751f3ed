// The Depth panel's half in the worker: stacks of every configuration, one a seed, each looked into by one pass.
import { open } from '../../module.js';
import { probeKey, seedOf } from './job.js';
import { fitted, tokensWithin } from './sizes.js';
import { MATRICES } from './state.js';
import { familyOf, stackLike } from './weights.js';

const KEPT = 400; // probes and predictions, of some kilobytes each
const OWN_MEMORY = 1.5e6; // weights from which on a stack gets an instance of its own, whose memory is given back
const FIRST_WITHIN = 300; // milliseconds after which what there is is shown
const EVERY = 250;
// The inputs of a seed are drawn apart from its weights.
const STREAMS = { x: 1001, dy: 1002 };

/**
 * As in panels/runs.js. Sends job, with the tokens that there are and asked: those asked for; plan: of each configuration
 * what runs in its place, as fitted() says, with its theory and, if it could not run, its error; a probe under probeKey()
 * for each configuration and seed; finished.
 */
export async function depthRun(asked, { an, breathe, progress, send }) {
  const cold = kept.size === 0;
  const plan = planOf(asked, an.fields);
  const { sequences, length } = asked;
  const job = { ...asked, ...tokensWithin(asked, plan, an.variant), asked: { sequences, length } };
  const outbox = new Outbox(send);
  outbox.add({ job });
  const missing = addKnown(plan, job, outbox);
  const bench = new Bench(an);
  let done = 0;
  const measure = async (items, every) => {
    for (const { index, n } of items) {
      const entry = plan[index];
      progress(done++, missing.length);
      if (entry.error) continue;
      await attempt(entry, async () => {
        const probe = await bench.probe(entry, seedOf(job, n), job, breathe);
        outbox.add({ [probeKey(index, n)]: remember(probeText(entry, n, job), probe) });
      });
      outbox.add({ plan }).flush(every);
    }
  };
  try {
    await measure(
      missing.filter(({ n }) => n === 0),
      FIRST_WITHIN,
    );
    // The first picture of all does not wait for the prediction.
    if (cold) outbox.flush(0);
    for (const entry of plan) {
      if (!entry.error) await attempt(entry, () => predict(an, entry, job));
      await breathe();
    }
    // What was known before waits for the rest, so that curves do not go back to one seed and return.
    if (done > 0) outbox.add({ plan }).flush(cold ? EVERY : 0);
    await measure(
      missing.filter(({ n }) => n > 0),
      EVERY,
    );
    outbox.add({ plan, finished: true }).flush(0);
  } finally {
    bench.dispose();
  }
}

/** What runs in each configuration's place; shared: whether another one has the same weights. */
function planOf(job, fields) {
  const plan = job.configs.map((own) => fitted(own, job, fields));
  const families = plan.map(({ config }) => familyOf(config));
  return plan.map((entry, i) => ({
    ...entry,
    shared: families.indexOf(families[i]) !== families.lastIndexOf(families[i]),
  }));
}

/** Adds what has been computed before; returns what has not, seed by seed. */
function addKnown(plan, job, outbox) {
  const missing = [];
  for (let n = 0; n < job.seeds; n++) {
    for (const [index, entry] of plan.entries()) {
      const probe = recall(probeText(entry, n, job));
      if (probe) outbox.add({ [probeKey(index, n)]: probe });
      else missing.push({ index, n });
    }
  }
  return missing;
}

/** A configuration that cannot run says why, and the others run. */
async function attempt(entry, act) {
  try {
    await act();
  } catch (error) {
    if (!error.code) throw error; // cancelled, or a fault of ours
    entry.error = { code: error.code, message: error.message };
  }
}

// ---- What has been computed, by its text as JSON: the newest is last

const kept = new Map();

function remember(text, value) {
  kept.delete(text);
  kept.set(text, value);
  if (kept.size > KEPT) kept.delete(kept.keys().next().value);
  return value;
}

const recall = (text) => kept.get(text) && remember(text, kept.get(text));

const probeText = ({ config }, n, job) =>
  JSON.stringify([config, job.sequences, job.length, seedOf(job, n), job.variant]);

function predict(an, entry, { length }) {
  const text = JSON.stringify([entry.config, length]);
  entry.theory = recall(text) ?? remember(text, plainTheory(an.theory(entry.config, { length }), entry));
}

/** What theory expects under the names of a probe: norms, for a gradient of norm 1 at the output. */
function plainTheory({ supported, moments, stream, gradient, weights, notes }, { d_model, d_ff }) {
  const elements = { value: d_model * d_model, out: d_model * d_model };
  // E[dW²] a token; the output's gradient has d_model elements a token.
  const norms = Object.entries(weights).map(([name, { rms }]) => {
    const factor = Math.sqrt((elements[name] ?? d_model * d_ff) / d_model);
    return [name, rms.map((value) => value * factor)];
  });
  return {
    supported,
    notes: [...notes],
    moments,
    rms: stream.map(Math.sqrt),
    gradient: gradient.map(Math.sqrt),
    weights: Object.fromEntries(norms),
  };
}

// ---- One seed of one configuration

class Bench {
  #own = null;
  /** Of the last seed: weights that another stack will have too, by its family. */
  #drawn = { seed: null, states: new Map() };

  constructor(an) {
    this.an = an;
  }

  async #instance({ weights }) {
    if (weights < OWN_MEMORY) return this.an;
    this.#own ??= await open({ variant: this.an.variant });
    return this.#own;
  }

  #make(an, { config }, seed) {
    if (seed !== this.#drawn.seed) this.#drawn = { seed, states: new Map() };
    const state = this.#drawn.states.get(familyOf(config));
    return state ? stackLike(an, config, seed, state) : an.stack(config, { seed });
  }

  #keep(stack, { config, shared }) {
    const { states } = this.#drawn;
    if (shared && !states.has(familyOf(config))) states.set(familyOf(config), stack.state());
  }

  /** A stack with the seed's weights, its input and the gradient of its output, and what a pass there and back finds. */
  async probe(entry, seed, { sequences, length }, breathe) {
    const an = await this.#instance(entry);
    await breathe();
    const since = performance.now();
    const stack = this.#make(an, entry, seed);
    const made = performance.now() - since;
    try {
      await breathe();
      const from = performance.now();
      const found = an.scope(() => {
        const [x, dy] = [STREAMS.x, STREAMS.dy].map((stream) =>
          an.random([sequences, length, entry.d_model], { seed, stream }),
        );
        return plainProbe(stack.probe(x, dy), entry.config, normOf(dy.toArray()));
      });
      const seconds = (made + performance.now() - from) / 1000;
      this.#keep(stack, entry);
      return { ...found, seconds };
    } finally {
      stack.dispose();
    }
  }

  dispose() {
    this.#own?.dispose();
  }
}

const normOf = (values) => Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));

/** Lists over the places of the stream, over sublayers and over layers; gradients for an output gradient of norm 1. */
function plainProbe({ sublayers, stream, gradients }, { depth }, norm) {
  const places = [...sublayers, stream];
  const of = (list, name) => list.map((entry) => entry[name]);
  // Where the stream is not finite a branch has no size, and nothing is dead.
  const end = places.findIndex(({ nonFinite }) => nonFinite > 0);
  const before = (name) => of(sublayers, name).map((value, k) => (end < 0 || k < end - 1 ? value : Number.NaN));
  const matrices = MATRICES.filter((name) => `layers.0.${name}` in gradients);
  const layers = Array.from({ length: depth }, (_, l) => l);
  return {
    rms: of(places, 'rms'),
    nonFinite: of(places, 'nonFinite'),
    gradient: of(places, 'gradient').map((value) => value / norm),
    ratio: before('branchRatio'),
    cosine: before('cosine'),
    dead: before('dead'),
    saturated: before('saturated'),
    weights: Object.fromEntries(
      matrices.map((name) => [name, layers.map((l) => gradients[`layers.${l}.${name}`] / norm)]),
    ),
  };
}

// ---- Sending

/** Gathers what is to be sent, since the page draws anew with each message. */
class Outbox {
  #patch = {};
  #last = performance.now();

  constructor(send) {
    this.send = send;
  }

  add(patch) {
    Object.assign(this.#patch, patch);
    return this;
  }

  /** Sends it if the last message was so many milliseconds ago. */
  flush(after) {
    const now = performance.now();
    if (now - this.#last < after) return;
    this.send(this.#patch);
    this.#patch = {};
    this.#last = now;
  }
}
