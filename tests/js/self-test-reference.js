// The expected values of selfTest(), from the double-precision references. `node tests/js/self-test-reference.js`
// prints them; they stand in web/lib/self-test.js.
import { pathToFileURL } from 'node:url';
import { checksum, numbers } from '../../dist/lib/self-test.js';
import { activations, add, defaults, gradient, linear, norm, rowsOf, softmax } from './reference.js';

export function expected() {
  const rows = rowsOf(numbers(10), 5);
  const result = {};
  for (const name of ['gelu_erf', 'gelu_tanh', 'silu', 'softplus', 'tanh']) {
    result[name] = rows.flat().map((value) => activations[name].f(value, ...defaults(name)));
  }
  result.softmax = rows.flatMap((row) => softmax(row));
  result.layer_norm = norm('layer_norm', rows, { eps: 1e-5 }).flat();
  result.rms_norm = norm('rms_norm', rows, { eps: 1e-6 }).flat();
  result.linear = linear(rows, rowsOf(numbers(15, 3), 5), numbers(3, 5))
    .flat()
    .map(activations.gelu_erf.f);

  const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
  const through = (x) => norm('layer_norm', rowsOf(x, 5), { eps: 1e-5, weight: numbers(5, 6) }).flat();
  result.layer_norm_backward = gradient((x) => dot(through(x), numbers(10, 2)), numbers(10));

  // x + down(silu(gate(n)) * up(n)), n = rms_norm(x) * weight
  const normed = norm('rms_norm', rows, { eps: 1e-6, weight: numbers(5, 6) });
  const gate = linear(normed, rowsOf(numbers(35, 1), 5));
  const up = linear(normed, rowsOf(numbers(35, 2), 5));
  const hidden = gate.map((row, i) => row.map((value, j) => activations.silu.f(value) * up[i][j]));
  result.block = add(linear(hidden, rowsOf(numbers(35, 4), 7)), rows).flat();
  return Object.fromEntries(Object.entries(result).map(([name, values]) => [name, checksum(values)]));
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  for (const [name, value] of Object.entries(expected())) console.log(`  ${name}: ${Number(value.toPrecision(9))},`);
}
