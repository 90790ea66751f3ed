// @ts-check
// Learning rates that follow the step. The same bits on every engine: nothing of Math that the standard leaves open.
import * as check from './check.js';
import { list } from './lists.js';

const WARMED = ['rate', 'warmup'];
const takes = {
  constant: ['rate'],
  warmup: WARMED,
  warmup_cosine: [...WARMED, 'total', 'min'],
  warmup_inverse_sqrt: WARMED,
};
// arXiv 1608.03983; arXiv 1706.03762, section 5.3.
const helps = [
  'The rate throughout.',
  'From rate / warmup up to the rate in `warmup` steps, then the rate.',
  'After the warm-up down to `min` along half a cosine, until step `total` (Loshchilov and Hutter 2016).',
  'After the warm-up rate * sqrt(warmup / step) (Vaswani et al. 2017).',
];
const names = /** @type {import('./types.js').ScheduleName[]} */ (Object.keys(takes));

export const schedules = list(names.length, (i) => ({
  name: names[i],
  options: Object.freeze(takes[names[i]]),
  help: helps[i],
}));

/** @type {(name: unknown, options: unknown) => (step: number) => number} */
export function schedule(name, options) {
  const kind = check.name('schedule', name, names, 'UNKNOWN_NAME');
  const given = check.options(kind, options, takes[kind]);
  const rate = check.number('rate', given.rate, 0);
  const warmup = check.integer('warmup', given.warmup ?? 0, 0);
  const min = check.number('min', given.min ?? 0, 0, rate);
  const total = kind === 'warmup_cosine' ? check.integer('total', given.total, warmup) : 0;
  return (step) => {
    const n = check.integer('step', step, 1);
    if (n < warmup) return (rate * n) / warmup;
    if (kind === 'warmup_inverse_sqrt') return rate * Math.sqrt(Math.max(warmup, 1) / n);
    if (kind !== 'warmup_cosine') return rate;
    return n < total ? min + (rate - min) * 0.5 * (1 + cosine((n - warmup) / (total - warmup))) : min;
  };
}

/**
 * cos(pi x) for x from 0 to 1, as sin(pi (1/2 - x)), by the Taylor series of the sine up to u^21 / 21!: the next term is
 * below 2^-59 for u up to pi / 2.
 * @param {number} x
 */
export function cosine(x) {
  const u = Math.PI * (0.5 - x);
  let sum = 1;
  for (let k = 20; k > 0; k -= 2) sum = 1 - ((u * u) / (k * (k + 1))) * sum;
  return u * sum;
}
