import { sanitizers, testNatively } from './native.js';

// All values and shapes are gcc's; here every path once, with the tests' own code watched too.
testNatively('clang, simd, AddressSanitizer and UBSan', {
  cc: 'clang',
  flags: ['-DAN_TEST_QUICK'],
  watched: sanitizers,
});
