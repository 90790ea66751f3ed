import { plain, sanitizers, testNatively } from './native.js';

testNatively('clang, fused, AddressSanitizer and UBSan', {
  cc: 'clang',
  flags: ['-mfma', '-DAN_TEST_FUSED'],
  watched: sanitizers,
  unwatched: plain,
});
