import { testNatively } from './native.js';

testNatively('gcc, simd, valgrind', { cc: 'gcc', flags: ['-O2', '-g', '-DAN_TEST_QUICK'], under: 'valgrind' });
