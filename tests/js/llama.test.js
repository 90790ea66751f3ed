// A whole language model out of single operations: stories260K (../shared/models), a Llama of 260 thousand parameters,
// continues its story greedily, token by token, in every variant. Each of the 200 tokens must be the expected one: an error
// anywhere ends in other words. Rotary positions and the cache of keys and values are not addnorm's and stand here.
//
// The file is llama2.c's: seven int32 (dim, hidden_dim, layers, heads, key/value heads, vocabulary, longest sequence), then
// float32 weights, [out, in] and of all layers together: embedding, attention norms, query, key, value, output,
// feed-forward norms, gate (w1), down (w2), up (w3), final norm; then tables that are computed here. The classifier is the
// embedding, if the vocabulary's size is positive. Its tokenizer's is the longest token's length, then for each token a
// float32 score, an int32 length and UTF-8 bytes.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { instance, readJson, sharedPath, skipWithout, variants } from './shared.js';

const START = 1;

function readModel() {
  const bytes = readFileSync(sharedPath('models', 'stories260K.bin'));
  const [dim, hidden, layers, heads, kvHeads, vocabulary, length] = Array.from({ length: 7 }, (_, i) =>
    bytes.readInt32LE(4 * i),
  );
  assert.ok(vocabulary > 0, 'the classifier is the embedding');
  let at = 28;
  const take = (...shape) => {
    const size = shape.reduce((a, b) => a * b, 1);
    const data = Float32Array.from({ length: size }, (_, i) => bytes.readFloatLE(at + 4 * i));
    at += 4 * size;
    return { data, shape };
  };
  const each = (...shape) => Array.from({ length: layers }, () => take(...shape));
  const keys = (kvHeads * dim) / heads;
  const embedding = take(vocabulary, dim);
  const weights = {
    attentionNorm: each(dim),
    query: each(dim, dim),
    key: each(keys, dim),
    value: each(keys, dim),
    out: each(dim, dim),
    norm: each(dim),
    gate: each(hidden, dim),
    down: each(dim, hidden),
    up: each(hidden, dim),
  };
  const finalNorm = take(dim);
  assert.equal(at + 4 * length * (dim / heads), bytes.length, 'the tables of rotary positions are the rest');
  const layer = (i) => Object.fromEntries(Object.entries(weights).map(([name, all]) => [name, all[i]]));
  const sizes = { dim, hidden, heads, kvHeads, headSize: dim / heads };
  return { ...sizes, embedding, finalNorm, layers: Array.from({ length: layers }, (_, i) => layer(i)) };
}

function readTokens(count) {
  const bytes = readFileSync(sharedPath('models', 'tok512.bin'));
  let at = 4;
  return Array.from({ length: count }, () => {
    const size = bytes.readInt32LE(at + 4);
    const text = bytes.toString('utf8', at + 8, at + 8 + size);
    at += 8 + size;
    return text;
  });
}

// Bytes that are no token of their own are written <0x0A>; the blank before the first word is not part of the text.
function decode(tokens, ids) {
  const text = ids.map((id) =>
    tokens[id].replace(/^<0x(..)>$/, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
  );
  return text.join('').replace(/^ /, '');
}

// Pairs of neighbours in each head of a row turn by an angle that grows with its position.
function rotate(rows, width, headSize, from, base) {
  return rows.map((_, i) => {
    const even = i - (i % 2);
    const angle = (from + Math.floor(i / width)) / base ** (((even % width) % headSize) / headSize);
    const [a, b] = [rows[even], rows[even + 1]];
    return i === even ? a * Math.cos(angle) - b * Math.sin(angle) : a * Math.sin(angle) + b * Math.cos(angle);
  });
}

/** Columns from, from + 1, ... of rows of a width. */
const columns = (rows, width, from, count) => rows.filter((_, i) => i % width >= from && i % width < from + count);

// The model in an instance: a function that takes the next tokens and gives the logits behind each of them.
function run(an, { dim, heads, kvHeads, headSize, embedding, finalNorm, layers }, { eps, rope_theta: base }) {
  const width = kvHeads * headSize;
  const classifier = an.tensor(embedding);
  const parts = layers.map(({ norm, gate, up, down, ...layer }) => {
    const ffn = { d_model: dim, d_ff: gate.shape[0], activation: 'silu', gated: true, bias: false };
    const config = { ...ffn, norm: 'rms_norm', eps, placement: 'pre' };
    const tensors = Object.entries(layer).map(([name, weight]) => [name, an.tensor(weight)]);
    const block = an.block(config, { weights: { gate, up, down, norm_weight: norm } });
    return { ...Object.fromEntries(tensors), block, keys: [], values: [] };
  });
  let length = 0;

  // What head h sees: its queries' products with the keys, up to each one's own position, weigh the values.
  const attend = (part, queries, rows, h) => {
    const own = Math.floor((h * kvHeads) / heads) * headSize;
    const [keys, seen] = [part.keys, part.values].map((cache) => columns(cache, width, own, headSize));
    const total = keys.length / headSize;
    const cached = (list) => ({ data: Float32Array.from(list), shape: [total, headSize] });
    const query = columns(queries, dim, h * headSize, headSize).map((q) => q / Math.sqrt(headSize));
    const scores = an.linear({ data: query, shape: [rows, headSize] }, cached(keys));
    const causal = scores.map((score, i) => (i % total > length + Math.floor(i / total) ? -Infinity : score));
    const shares = an.softmax({ data: causal, shape: [rows, total] });
    return an.linear({ data: shares, shape: [rows, total] }, cached(seen), { layout: 'in_out' });
  };

  return (tokens) => {
    const rows = tokens.length;
    const shaped = (data) => ({ data, shape: [rows, data.length / rows] });
    const normed = (data, weight) => shaped(an.norm('rms_norm', shaped(data), { weight, eps }));
    let x = Float32Array.from(tokens.flatMap((id) => [...embedding.data.subarray(id * dim, (id + 1) * dim)]));
    for (const part of parts) {
      const input = normed(x, part.attentionNorm);
      const turned = (weight, n) => rotate(an.linear(input, weight), n, headSize, length, base);
      const queries = turned(part.query, dim);
      part.keys.push(...turned(part.key, width));
      part.values.push(...an.linear(input, part.value));
      const seen = Array.from({ length: heads }, (_, h) => attend(part, queries, rows, h));
      const mixed = Float32Array.from({ length: rows * dim }, (_, i) => {
        const [row, column] = [Math.floor(i / dim), i % dim];
        return seen[Math.floor(column / headSize)][row * headSize + (column % headSize)];
      });
      x = part.block.forward(shaped(an.add(an.linear(shaped(mixed), part.out), x)));
    }
    length += rows;
    const logits = an.linear(normed(x, finalNorm), classifier);
    return tokens.map((_, row) => logits.slice((row * logits.length) / rows, ((row + 1) * logits.length) / rows));
  };
}

/** The largest logit's place, and how far the next one is. */
function best(logits) {
  const [first, second] = [...logits].sort((a, b) => b - a);
  return { token: logits.indexOf(first), margin: first - second };
}

const skip = skipWithout('models/stories260K.bin', `200 tokens of a language model in ${variants.length} variants`);
if (skip) test('stories260K', { skip });
else {
  const { tokens: story, text, config } = readJson('models', 'stories260K_greedy.json');
  const model = readModel();
  const next = story.slice(1);
  const margins = {};

  test('the model and its tokens are what the expected story says', () => {
    const { dim, hidden, heads, kvHeads, layers, embedding } = model;
    assert.deepEqual(
      [dim, hidden, layers.length, heads, kvHeads, embedding.shape[0]],
      [config.dim, config.hidden_dim, config.n_layers, config.n_heads, config.n_kv_heads, config.vocab],
    );
    assert.equal(story[0], START);
    assert.equal(next.length, 200);
    assert.equal(decode(readTokens(embedding.shape[0]), next), text);
  });

  for (const variant of variants) {
    test(`200 tokens, one after another, ${variant}`, async () => {
      const an = await instance(variant);
      an.scope(() => {
        const forward = run(an, model, config);
        const told = [START];
        margins[variant] = Infinity;
        while (told.length <= next.length) {
          const { token, margin } = best(forward(told.slice(-1))[0]);
          margins[variant] = Math.min(margins[variant], margin);
          told.push(token);
        }
        assert.deepEqual(told, story);
      });
    });

    test(`200 tokens at once, each from those before it, ${variant}`, async () => {
      const an = await instance(variant);
      an.scope(() => {
        const logits = run(an, model, config)(story.slice(0, -1));
        assert.deepEqual(
          logits.map((row) => best(row).token),
          next,
        );
      });
    });
  }

  after(() => {
    console.log('stories260K: 200 tokens, the narrowest distance between the two largest logits');
    for (const [variant, margin] of Object.entries(margins)) console.log(`  ${variant.padEnd(8)} ${margin.toFixed(6)}`);
  });
}
