// The Activations panel's half in the worker. What has been computed is kept, so that an edit computes what it changes.
import { byKind, curve, differences, errors, histogram, tailShares, tails } from './compute.js';
import { preactivations } from './preactivations.js';

const kept = new Map();
const KEPT = { curve: 64, tails: 64, values: 6, differences: 4, errors: 8 };

// The newest is last; of each kind the oldest goes.
async function once(kind, key, make) {
  const entries = kept.get(kind) ?? new Map();
  kept.set(kind, entries);
  const text = JSON.stringify(key);
  const value = entries.get(text) ?? (await make());
  entries.delete(text);
  entries.set(text, value);
  if (entries.size > KEPT[kind]) entries.delete(entries.keys().next().value);
  return value;
}

const SHOW_AFTER = 150;

const plain = ({ code, name, message, bytes }) => ({ code: code ?? name, message, bytes });

/** As in panels/runs.js. */
export async function activationsRun(job, context) {
  const { an, breathe, send, progress } = context;
  const { range, flat, errorOf, curves, configs } = job;
  const steps = 3 + configs.length;
  const tailsOf = ({ name, params }, limit) =>
    once('tails', [an.variant, name, params, limit], () => tails(an, name, params, limit));

  const drawn = [];
  for (const { id, name, params } of curves) {
    drawn.push(
      await orError({ id }, async () => ({
        ...(await once('curve', [an.variant, id, range], () => curve(an, name, params, range))),
        tails: await tailsOf({ name, params }, flat),
      })),
    );
    await breathe();
  }
  send({ range, flat, variant: an.variant, curves: drawn });
  progress(1, steps);
  await breathe();
  send({ differences: await once('differences', [an.variant, range], () => differences(an, range)) });
  progress(2, steps);

  const entries = [];
  let shown = performance.now();
  for (const config of configs) {
    entries.push(await orError({ key: config.key }, () => ofConfig(config, job, context, tailsOf)));
    progress(2 + entries.length, steps);
    // What is quick comes at once: each message draws a chart.
    if (entries.length === configs.length || performance.now() - shown > SHOW_AFTER) {
      send({ entries: entries.slice() });
      shown = performance.now();
    }
    await breathe();
  }
  send({ errors: await once('errors', [an.variant, errorOf, range], () => errors(an, errorOf, range, breathe)) });
}

// An error belongs to one curve or configuration. `make` does not breathe: that the run was replaced is no error.
async function orError(head, make) {
  try {
    return { ...head, ...(await make()) };
  } catch (error) {
    return { ...head, error: plain(error) };
  }
}

async function ofConfig({ key, fields, trained, curve: own }, { range, flat, input }, context, tailsOf) {
  const { an, loadTrained, file } = context;
  const { sorted, ...about } = await once('values', key, async () =>
    preactivations(
      an,
      { fields, trained: trained && (await loadTrained(trained)) },
      { ...input, file: input.file ? file : null },
    ),
  );
  const limits = await tailsOf(own, flat);
  const zero = await tailsOf(own, 0);
  return {
    ...about,
    curve: own,
    tails: limits,
    shares: byKind(limits, tailShares(sorted, limits)),
    zero: Object.values(byKind(zero, tailShares(sorted, zero))).reduce((a, b) => a + b),
    histogram: histogram(sorted, range),
  };
}
