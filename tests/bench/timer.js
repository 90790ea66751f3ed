// Samples of several jobs, taken in turn (A B A B), so that whatever slows the machine for a while slows all of them.
// A sample repeats the call until it lasts 20 ms: a browser's clock may tick only every tenth of a millisecond.

const LEAST = 0.02;

/** How much is measured: samples a job, and the seconds after which a slow job takes part in fewer rounds. */
export const settings = { full: { rounds: 15, share: 1 }, quick: { rounds: 7, share: 0.4 } };

/** Seconds that `calls` calls take. */
async function timed(job, calls, clock) {
  const start = clock.now();
  for (let i = 0; i < calls; i++) {
    const pending = job.run();
    if (pending) await pending;
  }
  return (clock.now() - start) / 1000;
}

/** Runs a job until the engine has compiled it for good, and sets how many calls a sample needs. */
async function warm(job, clock) {
  job.calls = 1;
  for (let total = 0, runs = 0; ; runs++) {
    const seconds = await timed(job, job.calls, clock);
    total += seconds;
    job.seconds = Math.max(seconds, LEAST);
    if (job.single ? runs > 2 : seconds >= LEAST && (total > 0.1 || total > 3 * LEAST + job.seconds)) return;
    if (!job.single) job.calls = enough(job.calls, seconds);
  }
}

/** How many calls last long enough, if `calls` took `seconds`; at most ten times as many. */
const enough = (calls, seconds) => Math.ceil(calls * Math.min(10, Math.max(1, (1.15 * LEAST) / seconds)));

/**
 * Fills `samples` of every job with seconds a call. A job: { run, single?, samples: [] }; `single` takes one call a sample,
 * whatever it lasts.
 */
export async function interleave(jobs, { rounds, share }, clock = performance) {
  for (const job of jobs) {
    await warm(job, clock);
    job.quota = Math.min(rounds, Math.max(3, Math.floor(share / job.seconds)));
  }
  for (let round = 0; round < rounds; round++) {
    for (const job of jobs) {
      // Slow jobs are in some rounds only, spread over all of them.
      if (Math.floor(((round + 1) * job.quota) / rounds) === Math.floor((round * job.quota) / rounds)) continue;
      let seconds = await timed(job, job.calls, clock);
      while (!job.single && seconds < LEAST) {
        job.calls = enough(job.calls, seconds);
        seconds = await timed(job, job.calls, clock);
      }
      job.samples.push(seconds / job.calls);
    }
  }
}

/** Minimum, median and spread, which is the distance between the quartiles over the median. */
export function summary(samples) {
  const sorted = samples.toSorted((a, b) => a - b);
  const quantile = (share) => {
    const at = share * (sorted.length - 1);
    const low = sorted[Math.floor(at)];
    return low + (at % 1) * (sorted[Math.ceil(at)] - low);
  };
  const median = quantile(0.5);
  return { min: sorted[0], median, spread: (quantile(0.75) - quantile(0.25)) / median };
}
