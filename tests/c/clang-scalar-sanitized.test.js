import { plain, sanitizers, testNatively } from './native.js';

testNatively('clang, scalar, AddressSanitizer and UBSan', {
  cc: 'clang',
  flags: ['-DAN_SCALAR'],
  watched: sanitizers,
  unwatched: plain,
});
