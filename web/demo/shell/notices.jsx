// A line below the top bar: a newer version of the page, a file that could not be opened.
import { signal } from '@preact/signals';
import { text } from '../session.js';
import { updated } from './offline.js';

/** { error: text } or null */
export const notice = signal(null);

export function Notices() {
  const t = text.value;
  return (
    <div class="notices">
      {notice.value && (
        <p class="notice error-text" role="alert">
          {notice.value.error}{' '}
          <button type="button" class="link" onClick={() => (notice.value = null)}>
            {t.configs.close}
          </button>
        </p>
      )}
      {updated.value && (
        <p class="notice" role="status">
          {t.shell.newVersion}{' '}
          <button type="button" class="link" onClick={() => location.reload()}>
            {t.run.reload}
          </button>
        </p>
      )}
    </div>
  );
}
