// The benches' own parts: statistics, bars, references, the systems that are addnorm. No test here depends on a time.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { create } from '../bench/addnorm.js';
import { bars, judge } from '../bench/bars.js';
import { filled, groups, work } from '../bench/cases.js';
import * as kernels from '../bench/kernels.js';
import { runGroup } from '../bench/page.js';
import { compare, reference, some } from '../bench/reference.js';
import { writeReport } from '../bench/report.js';
import { interleave, summary } from '../bench/timer.js';
import { libURL, variants } from './helpers.js';
import { activations, add, gradient, linear, map, norm, rowsOf, softmax, transpose } from './reference.js';

const lib = libURL.href;
const scratch = mkdtempSync(join(tmpdir(), 'addnorm-bench-'));
after(() => rmSync(scratch, { recursive: true }));

test('minimum, median and the distance between the quartiles', () => {
  assert.deepEqual(summary([5, 1, 4, 2, 3]), { min: 1, median: 3, spread: 2 / 3 });
  assert.deepEqual(summary([2, 1]), { min: 1, median: 1.5, spread: 0.5 / 1.5 });
  assert.deepEqual(summary([7]), { min: 7, median: 7, spread: 0 });
});

test('samples are taken in turn, of slow jobs fewer, and a sample lasts 20 ms', async () => {
  // By a clock that the calls move on.
  let now = 0;
  const lasts = (milliseconds) => () => {
    now += milliseconds;
  };
  const order = [];
  const jobs = [
    { name: 'fast', run: lasts(5) },
    { name: 'slow', run: lasts(60) },
    { name: 'single', run: lasts(1), single: true },
  ].map((job) => ({ ...job, samples: { push: (seconds) => order.push(`${job.name} ${seconds}`) } }));
  await interleave(jobs, { rounds: 4, share: 0.1 }, { now: () => now });
  const [fast, slow, single] = ['fast 0.005', 'slow 0.06', 'single 0.001'];
  assert.deepEqual(order, [fast, single, fast, slow, single, fast, slow, single, fast, slow, single]);
  assert.deepEqual(
    jobs.map(({ calls }) => calls),
    [5, 1, 1],
  );
});

test('indices are spread from the first to the last', () => {
  assert.deepEqual(some(3, 8), [0, 1, 2]);
  assert.deepEqual(some(100, 4), [0, 33, 66, 99]);
});

// ---- Bars -----------------------------------------------------------------------------------------------------------

test('every bar is about something that is measured', () => {
  for (const { group, label, system, needs } of bars) {
    const found = groups.find(({ name }) => name === group);
    const item = found?.items.find((one) => one.label === label);
    assert.ok(item?.systems.includes(system), `${group}: ${label}, ${system}`);
    for (const { of } of needs) {
      if (of === 'peak') assert.ok(found.limits.includes('peak'), group);
      if (of === 'reading the weights') assert.ok(found.limits.includes('read') && item === found.items[0], group);
      if (of === 'copying as many bytes') assert.ok(found.limits.includes('copy'), group);
      if (of === 'scalar') assert.ok(item.systems.includes('scalar'), group);
    }
  }
  assert.equal(new Set(groups.map(({ name }) => name)).size, groups.length, 'names are unique');
});

test('bars are judged by what was measured', () => {
  const label = '1 row';
  const at = (system, min, median, more = {}) => ({
    ...{ system, label, name: system, min, median },
    work: { flops: 100, bytes: 40, weights: 32 },
    ...more,
  });
  const jobs = [
    at('relaxed', 1, 2),
    at('simd', 2, 4),
    at('scalar', 5, 20),
    at('ort', 3, 5),
    at('ort copies', 1, 1),
    at('tfjs', 2, 8),
    at('jax', undefined, undefined, { skipped: 'wrong' }),
    at('peak relaxed', 1, 1, { label: 'limit', work: { flops: 80 } }),
    at('read', 1, 1.5, { label: 'limit', work: { bytes: 32 } }),
    at('copy', 0.25, 0.5, { label: 'limit', work: { bytes: 40 } }),
    at('relaxed', 1, 1.6, { label: 'other' }),
  ];
  const bar = (system, of, value, more = [], where = label) => ({
    ...{ group: 'g', label: where, system },
    needs: [{ of, met: (got) => got >= value }, ...more],
  });
  const values = (...args) => judge(bar(...args), [{ name: 'g', jobs }]).values;
  assert.deepEqual(values('relaxed', 'best peer', 0), [2.5]);
  assert.deepEqual(values('relaxed', 'onnxruntime', 0), [2.5]);
  assert.deepEqual(values('simd', 'scalar', 0), [5]);
  assert.deepEqual(values('relaxed', 'peak', 0), [50 / 80]);
  assert.deepEqual(values('relaxed', 'reading the weights', 0), [0.75]);
  assert.deepEqual(values('relaxed', 'copying as many bytes', 0), [0.25]);
  assert.deepEqual(values('relaxed', 'seconds', 0), [2]);
  assert.deepEqual(values('relaxed', 'next regular size', 0, [], 'other'), [2 / 1.6]);
  const results = [{ name: 'g', jobs }];
  const judged = judge(bar('relaxed', 'best peer', 2.5), results);
  assert.deepEqual([judged.met, judged.best.system, judged.withoutCopies], [true, 'ort', 2]);
  assert.equal(judge(bar('relaxed', 'best peer', 2.6), results).met, false);
  assert.deepEqual(judge(bar('relaxed', 'best peer', 2), results, 'min').values, [2]);
  // Of several needs one is enough; of what was not measured nothing is said.
  const either = bar('relaxed', 'best peer', 3, [{ of: 'peak', met: (got) => got >= 0.6 }]);
  assert.equal(judge(either, results).met, true);
  assert.equal(judge(bar('simd', 'peak', 0.5), results).met, null);
  assert.equal(judge(bar('relaxed', 'best peer', 1), []).met, null);
  assert.equal(judge(bar('relaxed kernel', 'best peer', 1), results).met, null);
});

test('a sweep is judged by its deepest fall', () => {
  const rates = [1, 4, 8, 6, 9, 8];
  const jobs = rates.map((flops, i) => ({ system: 'simd', label: `${i}`, median: 1, work: { flops } }));
  const bar = { group: 'g', label: '1', system: 'simd', needs: [{ of: 'highest rate before', met: (v) => v > 0.7 }] };
  assert.deepEqual(judge(bar, [{ name: 'g', jobs }]).values, [0.75]);
});

// ---- References -----------------------------------------------------------------------------------------------------

const tiny = {
  ffn: { op: 'ffn', rows: 3, d: 5, h: 7, activation: 'gelu_erf', bias: true, gated: false },
  gated: { op: 'ffn', rows: 2, d: 4, h: 6, activation: 'silu', bias: false, gated: true },
  norm: { op: 'norm', norm: 'layer_norm', rows: 3, d: 5, eps: 1e-5 },
  add_norm: { op: 'add_norm', norm: 'rms_norm', rows: 3, d: 5, eps: 1e-6 },
  softmax: { op: 'softmax', rows: 3, d: 5, log: true },
  activation: { op: 'activation', activation: 'gelu_tanh', n: 9, uniform: true },
  glu: { op: 'glu', activation: 'silu', n: 9 },
  linear: { op: 'linear', rows: 3, in: 5, out: 4 },
  linear_backward: { op: 'linear_backward', rows: 3, in: 5, out: 4 },
  step: { op: 'step', rows: 3, d: 2, h: 3, activation: 'gelu_erf', rate: 0.01 },
};

/** The same results from the tests' other references, as lists of whole outputs. */
const independent = {
  ffn({ d, h, x, weights, activation }) {
    const hidden = map(linear(rowsOf(x, d), rowsOf(weights.up, d), weights.up_bias), activations[activation].f);
    return [linear(hidden, rowsOf(weights.down, h), weights.down_bias)];
  },
  gated({ d, h, x, weights, activation }) {
    const [gate, up] = [weights.gate, weights.up].map((w) => linear(rowsOf(x, d), rowsOf(w, d)));
    const hidden = map(gate, activations[activation].f).map((row, i) => row.map((value, j) => value * up[i][j]));
    return [linear(hidden, rowsOf(weights.down, h))];
  },
  norm: (spec) => [norm(spec.norm, rowsOf(spec.x, spec.d), spec)],
  add_norm(spec) {
    const sum = add(rowsOf(spec.x, spec.d), rowsOf(spec.residual, spec.d));
    return [sum, norm(spec.norm, sum, spec)];
  },
  softmax: ({ x, d, log }) => [rowsOf(x, d).map((row) => softmax(row, log))],
  activation: ({ x, activation }) => [Array.from(x, activations[activation].f)],
  glu: ({ gate, up, activation }) => [Array.from(gate, (value, i) => activations[activation].f(value) * up[i])],
  linear: ({ x, weight, in: inner }) => [linear(rowsOf(x, inner), rowsOf(weight, inner))],
  linear_backward({ x, weight, dy, in: inner, out }) {
    const [rows, gradients] = [rowsOf(x, inner), rowsOf(dy, out)];
    return [linear(gradients, transpose(rowsOf(weight, inner))), linear(transpose(gradients), transpose(rows))];
  },
  // The gradient by differences of the loss; the first step of Adam moves every parameter by the rate, but for epsilon.
  step({ x, target, weights, d, h, activation, rate }) {
    const names = Object.keys(weights).filter((name) => weights[name]);
    const split = (all) => {
      let at = 0;
      const take = (name) => {
        at += weights[name].length;
        return all.slice(at - weights[name].length, at);
      };
      return Object.fromEntries(names.map((name) => [name, take(name)]));
    };
    const loss = (all) => {
      const [y] = independent.ffn({ d, h, x, activation, weights: split(Array.from(all)) });
      return y.flat().reduce((sum, value, i) => sum + (value - target[i]) ** 2, 0) / target.length;
    };
    const all = names.flatMap((name) => Array.from(weights[name]));
    const slopes = gradient(loss, all);
    const moved = all.map((value, i) => value - (rate * slopes[i]) / (Math.abs(slopes[i]) + 1e-8));
    return [[loss(all), loss(moved)]];
  },
};

for (const [name, spec] of Object.entries(tiny)) {
  test(`reference of ${name}`, () => {
    const full = filled(spec);
    const want = independent[name](full).map((output) => output.flat());
    const seen = want.map((output) => output.map(() => 0));
    for (const { output, from, values } of reference(full)) {
      values.forEach((value, i) => {
        const expected = want[output][from + i];
        assert.ok(Math.abs(value - expected) <= 1e-9 * (1 + Math.abs(expected)), `${output}[${from + i}]`);
        seen[output][from + i]++;
      });
    }
    assert.ok(
      seen.flat().every((count) => count === 1),
      'each element once',
    );
  });
}

test('results are right, right but for small values, or wrong', () => {
  const spec = filled({ op: 'activation', activation: 'silu', n: 4 });
  const parts = [{ output: 0, from: 0, values: [1, -1e-4, 0.5, 0.25] }];
  const verdict = (...values) => compare(spec, parts, Float32Array.from(values)).verdict;
  assert.equal(verdict(1, -1e-4, 0.5, 0.25), 'right');
  assert.equal(verdict(1, 0, 0.5, 0.25), 'wrong');
  assert.equal(verdict(1, -1e-4 + 1e-6, 0.5, 0.25), 'known');
  assert.equal(verdict(1, -1e-4, NaN, 0.25), 'wrong');
  assert.equal(verdict(1, -1e-4, 0.5), 'wrong');
});

test('work is counted by hand', () => {
  assert.deepEqual(work(tiny.ffn), { flops: 4 * 3 * 5 * 7, bytes: 4 * (70 + 12 + 30), weights: 4 * 82 });
  assert.deepEqual(work(tiny.gated), { flops: 6 * 2 * 4 * 6, bytes: 4 * (72 + 16), weights: 4 * 72 });
  assert.deepEqual(work(tiny.add_norm), { flops: 0, bytes: 4 * 4 * 15 });
});

// ---- Systems --------------------------------------------------------------------------------------------------------

for (const variant of variants) {
  test(`${variant} gives the right results as a system of the benches`, async () => {
    const systems = [
      await create({ lib, variant }),
      await create({ lib, variant, arrays: true }),
      await kernels.create({ lib, variant }),
    ];
    for (const [i, system] of systems.entries()) {
      for (const [name, spec] of Object.entries(tiny)) {
        if (i === 1 && ['ffn', 'gated', 'step'].includes(name)) continue; // modules take tensors
        const full = filled(spec);
        const job = await system.make(full);
        if (!job) continue;
        await job.run();
        const outputs = await job.result();
        // Of a step the last loss, here the first.
        assert.equal(
          compare(
            full,
            reference(full).map((part) => short(part, outputs)),
            outputs,
          ).verdict,
          'right',
          name,
        );
        job.dispose();
      }
      system.dispose();
    }
    function short(part, outputs) {
      return outputs.length < part.values.length ? { ...part, values: part.values.slice(0, outputs.length) } : part;
    }
  });
}

test('a group is measured and reported', async () => {
  const group = await runGroup('call', { lib, base: '', peers: false, pace: 'quick' });
  for (const job of group.jobs) {
    assert.equal(job.skipped, undefined);
    assert.equal(job.check.verdict, 'right');
    assert.ok(job.samples.length >= 3 && job.min > 0 && job.min <= job.median);
  }
  // A made-up run in which everything took part.
  const report = {
    ...{ engine: 'engine', processor: 'processor', caches: [{ level: 2, bytes: 2 ** 19 }], date: '2000-01-01T00:00' },
    ...{ pace: 'full', native: { fused: 1e9, separate: 1e9 } },
    groups: groups.map(({ name, items }) => ({
      name,
      jobs: [
        ...items.flatMap(({ label, spec, systems }) =>
          systems.map((system) => ({
            system,
            label,
            name: system,
            version: '1',
            work: work(spec),
            min: 1e-3,
            median: 2e-3,
            spread: 0.1,
            samples: [2e-3, 1e-3],
          })),
        ),
        ...['relaxed', 'simd'].map((variant) => ({
          system: `peak ${variant}`,
          label: 'limit',
          work: { flops: 1e8, bytes: 0 },
          min: 1e-3,
          median: 2e-3,
          spread: 0,
          samples: [],
        })),
        ...items.flatMap(({ spec }) =>
          ['read', 'copy'].map((system) => ({
            system,
            label: 'limit',
            work: { flops: 0, bytes: work(spec)[system === 'read' ? 'weights' : 'bytes'] },
            min: 1e-3,
            median: 2e-3,
            spread: 0,
            samples: [],
          })),
        ),
      ],
    })),
  };
  writeReport(scratch, report);
  const files = readdirSync(scratch);
  assert.deepEqual(files.sort(), [
    ...['index.html', 'limits.svg', 'report.md', 'roofline.svg', 'speed-ffn.svg'],
    ...['speed-rows.svg', 'speed-shapes.svg', 'sweep-rows.svg', 'sweep-size.svg'],
  ]);
  for (const file of files)
    assert.doesNotMatch(readFileSync(join(scratch, file), 'utf8'), /NaN|undefined|Infinity/, file);
});
