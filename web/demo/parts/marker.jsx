// The mark of each configuration, which goes with its colour: the same shape on the charts' lines, in their keys and
// before names in tables.
import { colorOf } from './look.js';

// Around (0, 0), about 1 in radius.
const SHAPES = [
  'M1 0A1 1 0 1 1-1 0A1 1 0 1 1 1 0Z',
  'M-.88-.88H.88V.88H-.88Z',
  'M0-1.2 1.1.8H-1.1Z',
  'M0-1.25 1.25 0 0 1.25-1.25 0Z',
  'M0 1.2 1.1-.8H-1.1Z',
  'M-.4-1.2H.4V-.4H1.2V.4H.4V1.2H-.4V.4H-1.2V-.4H-.4Z',
];

/** The mark that goes with a colour. */
export const Shape = ({ color }) => (
  <svg class="marker" viewBox="-1.4 -1.4 2.8 2.8" aria-hidden="true">
    <path d={SHAPES[color]} />
  </svg>
);

export const Marker = ({ index }) => <Shape color={colorOf(index)} />;

/** Draws the marker around (x, y) with the context's colours and line width. */
export function drawMarker(ctx, index, x, y, r) {
  const shape = new Path2D();
  shape.addPath(new Path2D(SHAPES[colorOf(index)]), { a: r, d: r, e: x, f: y });
  ctx.fill(shape);
  ctx.stroke(shape);
}
