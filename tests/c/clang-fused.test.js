import { plain, testNatively } from './native.js';

// With the multiply-add that `relaxed` has, by another compiler; the tests in JavaScript have many more values of `relaxed`.
// What is read and written is watched in the scalar build and by the fuzzers: fuzz.test.js.
testNatively('clang, fused', { cc: 'clang', flags: ['-mfma', '-DAN_TEST_FUSED', '-DAN_TEST_QUICK', ...plain] });
