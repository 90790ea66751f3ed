import { testNatively } from './native.js';

testNatively('gcc, simd', {
  cc: 'gcc',
  library: ['-O2', '-g'],
  runs: [
    // For what is read before it was written. `determinism` runs every operation, its gradient and the optimisers; the others
    // have work space that is laid out in parts. Under valgrind all takes thirty times as long, and the fuzzers fill work
    // space with something else each time.
    {
      flags: ['-O0', '-g', '-DAN_TEST_QUICK', '-DAN_TEST_WATCHED'],
      under: 'valgrind',
      only: ['determinism', 'linear_bwd', 'matmul', 'mixing', 'module', 'tensor'],
    },
    // The double references take most of the time: as much as compiling them better would.
    { flags: ['-O1'] },
  ],
});
