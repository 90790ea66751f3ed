import { testNatively } from './native.js';

// With the multiply-add that `relaxed` has, by another compiler; the tests in JavaScript have many more values of `relaxed`.
// What is read and written is watched in the scalar build and by the fuzzers: fuzz.test.js. To compile the tests better would
// take longer than they run.
testNatively('clang, fused', {
  cc: 'clang',
  flags: ['-mfma', '-DAN_TEST_FUSED'],
  library: ['-O2'],
  runs: [{ flags: ['-O0', '-DAN_TEST_QUICK'] }],
});
