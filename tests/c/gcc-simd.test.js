import { testNatively } from './native.js';

testNatively('gcc, simd', { cc: 'gcc', flags: ['-O2'] });
