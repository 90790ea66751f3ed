// What mixes tokens, as steps of trace.js. No DOM.
//
// A step is x → { y, back: dy → dx }. Gradients are made in a scope of their own: those of the weights are not kept.

/** Steps one after another, as one. */
export const chain =
  (...steps) =>
  (x) => {
    const backs = [];
    let y = x;
    for (const step of steps) {
      const done = step(y);
      y = done.y;
      backs.unshift(done.back);
    }
    return { y, back: (dy) => backs.reduce((gradient, back) => back(gradient), dy) };
  };

/** A row again and again. */
export function repeated(row, size) {
  const all = new Float32Array(size);
  for (let i = 0; i < size; i += row.length) all.set(row, i);
  return all;
}

// The mean over the tokens, with `causal` over those up to each; in double, as the module sums.
export const mean = (an, causal, d) => (x) => ({
  y: an.tensor(running(x.toArray(), d, causal), x.shape),
  back: (dy) => {
    // Every token's gradient goes back to all that it has seen.
    const given = dy.toArray();
    const length = given.length / d;
    const dx = new Float32Array(given.length);
    const sum = new Float64Array(d);
    if (!causal) for (let i = 0; i < given.length; i++) sum[i % d] += given[i] / length;
    for (let t = length - 1; t >= 0; t--) {
      for (let j = 0; j < d; j++) {
        if (causal) sum[j] += given[t * d + j] / (t + 1);
        dx[t * d + j] = sum[j];
      }
    }
    return an.tensor(dx, dy.shape);
  },
});

function running(x, d, causal) {
  const length = x.length / d;
  const y = new Float32Array(x.length);
  const sum = new Float64Array(d);
  for (let t = 0; t < length; t++) {
    for (let j = 0; j < d; j++) {
      sum[j] += x[t * d + j];
      if (causal) y[t * d + j] = sum[j] / (t + 1);
    }
  }
  return causal
    ? y
    : repeated(
        Float32Array.from(sum, (value) => value / length),
        x.length,
      );
}

const QK_EPS = 1e-6; // the module's own

// Multi-head self-attention up to the concatenated heads. Scores are a product with the keys as a weight [out, in], and
// the sums one with the values as a weight [in, out].
export const attention = (an, block, linear, note) => (x) => {
  const { d_model, heads, causal, qk_norm } = block.config;
  const size = d_model / heads;
  const length = x.size / d_model;
  const part = (tensor, h) => an.tensor(columns(tensor.toArray(), d_model, h * size, size), [length, size]);
  const perHead = (name) => (y) => {
    const options = { weight: block.parameters[`${name}_norm_weight`], eps: QK_EPS };
    const split = an.tensor(y, [length * heads, size]);
    const normed = an.norm('rms_norm', split, options);
    return {
      y: an.tensor(normed, y.shape),
      back: (dy) =>
        an.scope(() => {
          const { dx } = an.normBackward('rms_norm', split, an.tensor(dy, split.shape), options);
          return an.tensor(dx, y.shape);
        }),
    };
  };
  const of = (name) => {
    const normed = qk_norm && name !== 'value' ? [perHead(name), note(`${name}_normed`)] : [];
    return chain(linear(name), note(name), ...normed)(x);
  };
  const [query, key, value] = ['query', 'key', 'value'].map(of);

  const scale = 1 / Math.sqrt(size);
  const share = (q, k) => {
    const scores = an.linear(q, k).toArray();
    for (let t = 0; t < length; t++) {
      for (let s = 0; s < length; s++) scores[t * length + s] *= scale;
      if (causal) scores.fill(-Infinity, t * length + t + 1, (t + 1) * length);
    }
    return an.softmax(an.tensor(scores, [length, length]));
  };
  const eachHead = (use) => {
    for (let h = 0; h < heads; h++) {
      an.scope(() => {
        const [q, k, v] = [query, key, value].map(({ y }) => part(y, h));
        use({ h, q, k, v, p: share(q, k) });
      });
    }
  };
  const mixed = new Float32Array(x.size);
  const put = (all, h, tensor) => setColumns(all, d_model, h * size, size, tensor.toArray());
  eachHead(({ h, v, p }) => put(mixed, h, an.linear(p, v, { layout: 'in_out' })));

  const back = (dy) => {
    const gradients = [1, 2, 3].map(() => new Float32Array(x.size));
    eachHead(({ h, q, k, v, p }) => {
      const through = an.linearBackward(p, v, part(dy, h), { layout: 'in_out' });
      const dScores = an.softmaxBackward(p, through.dx);
      const { dx, dWeight } = an.linearBackward(q, k, an.add(dScores, an.zeros(dScores.shape), { alpha: scale }));
      for (const [i, gradient] of [dx, dWeight, through.dWeight].entries()) put(gradients[i], h, gradient);
    });
    const [dq, dk, dv] = gradients.map((gradient) => an.tensor(gradient, x.shape));
    return an.add(an.add(query.back(dq), key.back(dk)), value.back(dv));
  };
  return { y: an.tensor(mixed, x.shape), back };
};

function columns(all, d, from, size) {
  const part = new Float32Array((all.length / d) * size);
  for (let i = from, to = 0; to < part.length; i += d, to += size) part.set(all.subarray(i, i + size), to);
  return part;
}

function setColumns(all, d, from, size, part) {
  for (let i = from, at = 0; at < part.length; i += d, at += size) all.set(part.subarray(at, at + size), i);
}
