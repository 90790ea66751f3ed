// How near a block comes to what this engine can do at most: the roof over it (Williams, Waterman, Patterson 2009) and
// how that is measured. No DOM.
import { agree, medianSpread } from './numbers.js';

// Beyond this caches hardly help; more would only take memory.
const MAX_SET = 5e7;
const MIN_SET = 1e5;

/**
 * How many bytes are read to measure the bandwidth that a block has: 1, 2 or 5 × 10ⁿ, the next to its own, so that blocks
 * of about one size share a measurement.
 */
export function workingSet(bytes) {
  const wanted = Math.min(MAX_SET, Math.max(MIN_SET, bytes));
  const scale = 10 ** Math.floor(Math.log10(wanted));
  const distance = (step) => Math.abs(Math.log((step * scale) / wanted));
  return scale * [1, 2, 5, 10].reduce((best, step) => (distance(step) < distance(best) ? step : best));
}

const WARM_UP = 4;
const TURNS = 3; // in which each working set has been read once

/** The limits of one variant, measured again and again between other things. */
export class Gauge {
  #open;
  #an = null;
  #next = 0;
  #error = null;
  #peaks = [];
  #reads;

  /**
   * @param {() => Promise<object>} open gives an instance of the package. It is the gauge's own: memory never shrinks, and
   *   what a block takes is shown
   * @param {number[]} sets bytes
   */
  constructor(open, sets) {
    this.#open = open;
    this.#reads = new Map(sets.map((bytes) => [bytes, []]));
  }

  /** Measures once more. `pause` is awaited after each measurement; false repeats it. */
  async sample(pause) {
    const sets = [...this.#reads.keys()];
    if (!this.#an) await this.#warmUp(sets[0], pause);
    for (let left = Math.ceil(sets.length / TURNS); left > 0 && !this.#error; ) {
      const bytes = sets[this.#next % sets.length];
      const limits = this.#measure(bytes);
      if (!(await pause()) || !limits) continue;
      this.#peaks.push(limits.flops);
      this.#reads.get(bytes).push(limits.read);
      this.#next++;
      left--;
    }
  }

  // The engine compiles again while it runs: until two measurements agree, none counts.
  async #warmUp(bytes, pause) {
    this.#an = await this.#open();
    let before = 0;
    for (let i = 0; i < WARM_UP && !this.#error; i++) {
      const flops = this.#measure(bytes)?.flops;
      await pause();
      if (agree(flops, before)) return;
      before = flops;
    }
  }

  #measure(bytes) {
    try {
      return this.#an.limits({ bytes });
    } catch (error) {
      this.#error = { code: error.code ?? error.name, message: error.message };
      return null;
    }
  }

  /** { peak, read: with bytes }, each with median, quartiles and count; { error }; null until there are some. */
  figures(bytes) {
    if (this.#error) return { error: this.#error };
    const reads = this.#reads.get(bytes);
    if (reads.length === 0) return null;
    return { peak: medianSpread(this.#peaks), read: { bytes, ...medianSpread(reads) } };
  }

  dispose() {
    this.#an?.dispose();
  }
}

/** Where a block stands under its roof, by its cost and its time with the limits of the same run; null without these. */
export function standing({ flops, bytes }, time) {
  if (!time?.limits?.peak) return null;
  const { peak, read } = time.limits;
  const intensity = flops / bytes;
  const rate = flops / time.median;
  const slope = intensity * read.median;
  const roof = Math.min(slope, peak.median);
  return {
    intensity,
    rate,
    peak,
    read,
    roof,
    ofPeak: rate / peak.median,
    ofRoof: rate / roof,
    bound: slope < peak.median ? 'memory' : 'arithmetic',
  };
}
