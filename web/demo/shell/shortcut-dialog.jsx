// The list of shortcuts, by `?`.
import { Dialog } from '../parts/dialog.jsx';
import { picks, set, text } from '../session.js';
import { KEYS, LOCAL, WITH_CONTROL } from './shortcuts.js';

export function ShortcutDialog({ onClose }) {
  const t = text.value;
  const s = t.shell.shortcuts;
  const rows = [...KEYS.map(({ keys, shown = keys, name }) => [shown, name]), ...WITH_CONTROL, ...LOCAL];
  return (
    <Dialog class="shortcut-dialog" labelledby="shortcuts-title" onClose={onClose}>
      <div class="dialog-head">
        <h2 id="shortcuts-title">{t.shell.keyboard}</h2>
        <button type="button" class="quiet" onClick={onClose}>
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
          <input type="checkbox" checked={picks.keys} onChange={(event) => set({ keys: event.target.checked })} />
          {t.shell.singleKeys}
        </label>
      </div>
    </Dialog>
  );
}
