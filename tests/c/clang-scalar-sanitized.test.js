import { testNatively } from './native.js';

// The values are those of the wasm module's own tests. The tests themselves, half of the time, need not be watched: what they
// pass is from the heap, which is.
testNatively('clang, scalar, AddressSanitizer and UBSan', {
  cc: 'clang',
  flags: ['-DAN_SCALAR'],
  library: ['-g', '-O2', '-fsanitize=address,undefined', '-fno-sanitize-recover=all', '-fno-omit-frame-pointer'],
  runs: [{ flags: ['-O0', '-DAN_TEST_QUICK', '-DAN_TEST_WATCHED'] }],
});
