// The list of shortcuts, by `?`.
import { useEffect, useRef } from 'preact/hooks';
import { set, state, text } from '../session.js';
import { KEYS, LOCAL, WITH_CONTROL } from './shortcuts.js';

export function ShortcutDialog({ onClose }) {
  const t = text.value;
  const s = t.shell.shortcuts;
  const dialog = useRef(null);
  useEffect(() => dialog.current.showModal(), []);
  const rows = [...KEYS.map(({ keys, shown = keys, name }) => [shown, name]), ...WITH_CONTROL, ...LOCAL];
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: a click beside the dialog; Escape is the dialog's own key
    <dialog
      class="add-dialog shortcut-dialog"
      ref={dialog}
      aria-labelledby="shortcuts-title"
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && dialog.current.close()}
    >
      <div class="dialog-head">
        <h2 id="shortcuts-title">{t.shell.keyboard}</h2>
        <button type="button" class="quiet" onClick={() => dialog.current.close()}>
          {t.configs.close}
        </button>
      </div>
      <div class="dialog-body">
        <dl class="shortcuts">
          {rows.map(([keys, name]) => (
            <div key={name}>
              <dt>
                {keys.map((key) =>
                  key === '–' ? ' – ' : <kbd key={key}>{key.length === 1 ? key.toUpperCase() : key}</kbd>,
                )}
              </dt>
              <dd>{s[name]}</dd>
            </div>
          ))}
        </dl>
        <label class="check">
          <input type="checkbox" checked={state.value.keys} onChange={(event) => set({ keys: event.target.checked })} />
          {t.shell.singleKeys}
        </label>
      </div>
    </dialog>
  );
}
