import { plain, sanitizers, testNatively } from './native.js';

// All values and shapes are gcc's; here every path once.
testNatively('clang, simd, AddressSanitizer and UBSan', {
  cc: 'clang',
  flags: ['-DAN_TEST_QUICK'],
  watched: sanitizers,
  unwatched: plain,
});
