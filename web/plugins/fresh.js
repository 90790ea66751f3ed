// Empties the folder of the built page but for what build-docs.js has put beside it: the page's footer leads there.
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const KEPT = ['api', 'bench'];

export const freshFolder = {
  name: 'fresh-folder',
  apply: 'build',
  configResolved({ build: { outDir } }) {
    if (!existsSync(outDir)) return;
    for (const entry of readdirSync(outDir)) {
      if (!KEPT.includes(entry)) rmSync(join(outDir, entry), { recursive: true });
    }
  },
};
