import { plain, testNatively } from './native.js';

// Every value with the multiply-add that `relaxed` has. What is read and written is watched in the other builds, and by the
// fuzzers: fuzz.test.js.
testNatively('clang, fused', { cc: 'clang', flags: ['-mfma', '-DAN_TEST_FUSED', ...plain] });
