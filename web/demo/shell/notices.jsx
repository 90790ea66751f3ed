// A line below the top bar: a newer version of the page, a file that could not be opened.
import { effect, signal } from '@preact/signals';
import { weightFiles } from '../panels/weights/opened.js';
import { file, seededInput, text } from '../session.js';
import { textsError } from '../texts/index.js';
import { updated } from './offline.js';

/** { error: text } or null */
export const notice = signal(null);

// It is over with the next good file and with the next edit of the input.
effect(() => {
  file.value;
  weightFiles.value;
  seededInput.value;
  notice.value = null;
});

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
      {textsError.value && (
        <p class="notice error-text" role="alert">
          {t.shell.notLoaded} {textsError.value.message}
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
