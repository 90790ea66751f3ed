import { testNatively } from './native.js';

// For what is read before it was written. `determinism` runs every operation, its gradient and the optimisers; the others have
// work space that is laid out in parts. Under valgrind all takes thirty times as long, and the fuzzers fill work space with
// something else each time.
testNatively('gcc, simd, valgrind', {
  cc: 'gcc',
  flags: ['-O2', '-g', '-DAN_TEST_QUICK'],
  under: 'valgrind',
  only: ['determinism', 'linear_bwd', 'matmul', 'mixing', 'module', 'tensor'],
});
