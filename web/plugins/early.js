// Lets web/demo/workers.js be a script of its own in the built page, before the others, which waits neither for them nor for
// the style: what it begins is fetched while they are, not after they have run.
import { fileURLToPath } from 'node:url';

const workers = fileURLToPath(new URL('../demo/workers.js', import.meta.url));

export const earlyWorker = {
  name: 'early-worker',
  apply: 'build',
  transformIndexHtml: {
    order: 'post',
    handler(html, { bundle }) {
      const { fileName } = Object.values(bundle).find(({ facadeModuleId }) => facadeModuleId === workers);
      const script = `<script type="module" async crossorigin src="./${fileName}"></script>`;
      return html.replace('<script', (first) => `${script}\n    ${first}`);
    },
  },
};
