// The colours of amounts and classes. No DOM.

// Viridis (van der Walt and Smith 2015), at equal distances: as bright as the amount, in whatever way colours are seen.
const VIRIDIS = [
  '#440154',
  '#482878',
  '#3e4989',
  '#31688e',
  '#26828e',
  '#1f9e89',
  '#35b779',
  '#6ece58',
  '#b5de2b',
  '#fde725',
];

const rgb = (hex) => [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));
const STOPS = VIRIDIS.map(rgb);

/** The scale as a CSS gradient, from left to right. */
export const GRADIENT = `linear-gradient(to right, ${VIRIDIS.join(', ')})`;

const SHADES = 256;
const SCALE = Array.from({ length: SHADES }, (_, shade) => {
  const at = (shade / (SHADES - 1)) * (STOPS.length - 1);
  const i = Math.min(STOPS.length - 2, Math.floor(at));
  return STOPS[i].map((low, k) => Math.round(low + (at - i) * (STOPS[i + 1][k] - low)));
});

/** The colour of a share from 0 to 1, as red, green, blue. */
export const colorAt = (share) => SCALE[Math.round((SHADES - 1) * Math.min(1, Math.max(0, share)))];

const DECADES = 8;

/** The powers of ten around two positive values, eight decades at most below the larger. */
export function decadesOf([low, high]) {
  const top = Math.ceil(Math.log10(high) - 1e-9);
  return { top, bottom: Math.min(top - 1, Math.max(top - DECADES, Math.floor(Math.log10(low) + 1e-9))) };
}

/** Where a value lies between the decades; what is 0 or below them at their lower end. */
export const shareOf = (value, { top, bottom }) => (value > 0 ? (Math.log10(value) - bottom) / (top - bottom) : 0);

/**
 * A picture of cells: RGBA of width × height, its rows from above, where those of `at` come from below.
 * @param {(x: number, y: number) => number[] | null} at red, green, blue and maybe opacity of a cell; null: none
 */
export function pixels(width, height, at) {
  const data = new Uint8ClampedArray(4 * width * height);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const color = at(x, y);
      if (!color) continue;
      const place = 4 * ((height - 1 - y) * width + x);
      [data[place], data[place + 1], data[place + 2]] = color;
      data[place + 3] = color[3] ?? 255;
    }
  }
  return data;
}

/** "#0072b2" or "rgb(…)" as red, green, blue. */
export function parse(color) {
  if (color.startsWith('#')) return rgb(color);
  return color
    .match(/[\d.]+/g)
    .slice(0, 3)
    .map(Number);
}
