// Which floats are looked at, and how far from the true value a float32 is. No DOM.

const bits = new Int32Array(1);
const float = new Float32Array(bits.buffer);

// Floats as whole numbers in their order: neighbours differ by 1, and both zeros are 0.
function orderOf(x) {
  float[0] = x;
  return bits[0] < 0 ? -(bits[0] & 0x7fffffff) : bits[0];
}
function floatOf(order) {
  bits[0] = order < 0 ? -order | 0x80000000 : order;
  return float[0];
}

/**
 * Float32 numbers from low to high, in `bins` of equal width one after the other: of each bin half of the points lie evenly
 * in value and half evenly among all floats there, so that those near 0 are met.
 */
export function points(low, high, bins, each) {
  const list = new Float32Array(bins * each);
  const half = each / 2;
  for (let bin = 0, at = 0; bin < bins; bin++) {
    const from = low + (bin * (high - low)) / bins;
    const to = low + ((bin + 1) * (high - low)) / bins;
    const [first, last] = [orderOf(from), orderOf(to)];
    for (let i = 0; i < half; i++) {
      list[at++] = from + ((i + 0.5) * (to - from)) / half;
      list[at++] = floatOf(Math.round(first + (i * (last - first)) / half)); // from the edge on, so not the same ones
    }
  }
  return list;
}

const wide = new Float64Array(1);
const words = new Uint32Array(wide.buffer);

/** The unit in the last place of float32 in the binade of a double; 2^-149 where it is subnormal. */
export function unit(want) {
  wide[0] = want;
  const exponent = ((words[1] >>> 20) & 0x7ff) - 1023;
  return 2 ** (Math.min(Math.max(exponent, -126), 127) - 23);
}

/** |got - want| in units in the last place. Infinity for a NaN, an infinity or a wrong sign where want is a float. */
export function ulps(got, want) {
  if (got === want) return 0;
  if (!Number.isFinite(got)) return Infinity;
  const rounded = Math.fround(want);
  if (rounded !== 0 && got !== 0 && got > 0 !== rounded > 0) return Infinity;
  return Math.abs(got - want) / unit(want);
}
