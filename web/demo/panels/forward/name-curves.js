import { labelWidth } from '../../parts/chart.jsx';

/**
 * Where the curves' names stand, in pixels of the plot: at the curve, where it is the outermost and the name covers
 * none; what finds no such place is listed with its marker in the emptier upper corner.
 */
export function placeNames(u, items, size) {
  const [xs, ...values] = u.data;
  const { width, height } = { width: u.bbox.width / devicePixelRatio, height: u.bbox.height / devicePixelRatio };
  const px = xs.map((x) => u.valToPos(x, 'x'));
  const step = px.length > 1 ? px[1] - px[0] : width;
  const tops = values.map((list) => list.map((value) => (value > 0 ? u.valToPos(value, 'y') : height)));
  const envelope = px.map((_, i) => Math.min(...tops.map((top) => top[i])));
  const half = 0.65 * size;
  let taken = [];
  // The highest point of all curves between two abscissas.
  const skyline = (from, to) =>
    envelope.reduce(
      (best, top, i) => (px[i] + step / 2 > from && px[i] - step / 2 < to ? Math.min(best, top) : best),
      height,
    );
  const isFree = ({ from, to, top }) =>
    from >= 0 &&
    to <= width &&
    top - half >= 0 &&
    skyline(from, to) >= top + half &&
    taken.every((other) => to + 8 < other.from || other.to + 8 < from || Math.abs(other.top - top) >= 2 * half);

  const find = (s, own) => {
    const curve = tops[s];
    const rest = px.map((_, i) => Math.min(height, ...tops.filter((_, other) => other !== s).map((top) => top[i])));
    const peak = curve.indexOf(Math.min(...curve));
    let best = null;
    const consider = (place, lead) => {
      if (lead >= 4 && (!best || lead > best.lead) && isFree(place)) best = { ...place, lead };
    };
    const over = { align: 'center', from: px[peak] - own / 2, to: px[peak] + own / 2 };
    const top = skyline(over.from, over.to) - half - 4;
    if (curve[peak] - top < 3.2 * half) consider({ ...over, top }, rest[peak] - curve[peak]);
    for (let i = 0; i < px.length; i++) {
      const lead = rest[i] - curve[i];
      const left = px[i] - step / 2 - 8;
      const right = px[i] + step / 2 + 8;
      consider({ align: 'right', from: left - own, to: left, top: curve[i] }, lead);
      consider({ align: 'left', from: right, to: right + own, top: curve[i] }, lead);
    }
    return best;
  };

  const byHeight = items.map((_, s) => s).sort((a, b) => Math.min(...tops[a]) - Math.min(...tops[b]));
  const keyOf = (listed) => {
    const room = 20 + Math.max(...listed.map((s) => labelWidth(items[s].name, size)));
    const from = skyline(width - room, width) >= skyline(0, room) ? width - room : 0;
    return { from, to: from + room, rows: listed.map((s, i) => ({ s, top: 8 + half + 1.35 * size * i })) };
  };
  // The list takes room, which may drive another name into it.
  let key = null;
  for (;;) {
    taken = (key?.rows ?? []).map(({ top }) => ({ from: key.from, to: key.to, top }));
    const inKey = (s) => key?.rows.some((row) => row.s === s);
    const placed = [];
    const homeless = [];
    for (const s of byHeight) {
      const place = inKey(s) ? null : find(s, labelWidth(items[s].name, size));
      if (place) {
        taken.push(place);
        const left = { left: place.from, center: (place.from + place.to) / 2, right: place.to }[place.align];
        placed.push({ ...items[s], left, top: place.top, align: place.align });
      } else homeless.push(s);
    }
    if (homeless.length === (key?.rows.length ?? 0)) {
      const rows = key?.rows ?? [];
      return [
        ...placed,
        ...rows.map(({ s, top }) => ({ ...items[s], left: key.from + 20, top, align: 'left', marked: true })),
      ];
    }
    key = keyOf(homeless);
  }
}
