import { plain, sanitizers, testNatively } from './native.js';

// The values are those of the wasm module's own tests.
testNatively('clang, scalar, AddressSanitizer and UBSan', {
  cc: 'clang',
  flags: ['-DAN_SCALAR', '-DAN_TEST_QUICK'],
  watched: sanitizers,
  unwatched: plain,
});
