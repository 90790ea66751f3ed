// The screen: top bar, configurations and inspector, the panel, status bar.
import { useEffect, useRef, useState } from 'preact/hooks';
import { ActivationsPanel } from './panels/activations/panel.jsx';
import { DepthPanel } from './panels/depth/panel.jsx';
import { ForwardPanel } from './panels/forward.jsx';
import { SpeedPanel } from './panels/speed.jsx';
import { TrainingPanel } from './panels/training/panel.jsx';
import { WeightsPanel } from './panels/weights/panel.jsx';
import { WiringPanel } from './panels/wiring.jsx';
import { AddDialog } from './parts/add-dialog.jsx';
import { ConfigChips, ConfigList } from './parts/configs.jsx';
import { Inspector } from './parts/inspector.jsx';
import { RunBar, RunNote } from './parts/progress.jsx';
import { StatusBar } from './parts/status-bar.jsx';
import { TopBar } from './parts/top-bar.jsx';
import { announcement, busy, catalog, fatal, openFile, redo, set, state, text, undo } from './session.js';
import { PANELS } from './state.js';

const NARROW = '(max-width: 899.98px)';
const panels = {
  wiring: WiringPanel,
  forward: ForwardPanel,
  activations: ActivationsPanel,
  depth: DepthPanel,
  training: TrainingPanel,
  speed: SpeedPanel,
  weights: WeightsPanel,
};

export function App() {
  const t = text.value;
  const { panel, sidebar } = state.value;
  const [narrow, setNarrow] = useState(() => matchMedia(NARROW).matches);
  const [adding, setAdding] = useState(false);
  const [sheet, setSheet] = useState(false);
  const dropping = useFileDrop();
  useShortcuts();

  useEffect(() => {
    const query = matchMedia(NARROW);
    const listen = () => setNarrow(query.matches);
    query.addEventListener('change', listen);
    return () => query.removeEventListener('change', listen);
  }, []);

  // "Click a box to edit it": open the inspector and go to the field.
  const edit = (field) => {
    if (narrow) setSheet(true);
    else set({ sidebar: true });
    requestAnimationFrame(() => {
      const control = document.getElementById(`field-${field}`);
      const hidden = control?.closest('details');
      if (hidden) hidden.open = true;
      control?.scrollIntoView({ block: 'center' });
      control?.focus();
    });
  };

  const Panel = panels[panel];
  return (
    <div class={`app ${narrow ? 'narrow' : 'wide'} ${sidebar ? '' : 'no-sidebar'}`}>
      <button type="button" class="skip" onClick={() => document.getElementById('panel').focus()}>
        {t.skip}
      </button>
      <TopBar narrow={narrow} />
      {narrow ? (
        <ConfigChips onAdd={() => setAdding(true)} onEdit={() => setSheet(true)} />
      ) : (
        sidebar && (
          <aside class="sidebar" aria-label={t.configs.title}>
            <ConfigList onAdd={() => setAdding(true)} />
            {catalog.value && <Inspector onEdit={edit} />}
          </aside>
        )
      )}
      <main class="main">
        <div class="tab-bar">
          <Tabs />
          <RunNote />
        </div>
        <div
          class="panel"
          id="panel"
          role="tabpanel"
          tabIndex={-1}
          aria-labelledby={`tab-${panel}`}
          aria-busy={busy.value}
        >
          <RunBar />
          {fatal.value ? <Fatal /> : catalog.value ? <Panel onEdit={edit} /> : <p class="loading">{t.loading}</p>}
        </div>
      </main>
      <StatusBar />
      {narrow && sheet && catalog.value && <Sheet onClose={() => setSheet(false)} onEdit={edit} />}
      {adding && catalog.value && <AddDialog onClose={() => setAdding(false)} />}
      {dropping && <div class="drop-target">{t.input.drop}</div>}
      <div class="visually-hidden" role="status" aria-live="polite">
        {announcement.value}
      </div>
    </div>
  );
}

function Tabs() {
  const t = text.value;
  const { panel } = state.value;
  const move = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const index = PANELS.indexOf(panel);
    const next = step ? (index + step + PANELS.length) % PANELS.length : { Home: 0, End: PANELS.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    set({ panel: PANELS[next] });
    document.getElementById(`tab-${PANELS[next]}`).focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={t.title} onKeyDown={move}>
      {PANELS.map((name) => (
        <button
          key={name}
          type="button"
          role="tab"
          id={`tab-${name}`}
          aria-selected={name === panel}
          aria-controls="panel"
          tabIndex={name === panel ? 0 : -1}
          onClick={() => set({ panel: name })}
        >
          {t.panels[name]}
        </button>
      ))}
    </div>
  );
}

function Sheet({ onClose, onEdit }) {
  const t = text.value;
  const sheet = useRef(null);
  useEffect(() => {
    const before = document.activeElement;
    sheet.current.focus();
    return () => before?.focus?.();
  }, []);
  return (
    <section
      class="sheet"
      ref={sheet}
      role="dialog"
      aria-label={t.configs.edit('ABCDEF'[state.value.selected])}
      tabIndex={-1}
      onKeyDown={(event) => event.key === 'Escape' && onClose()}
    >
      <div class="sheet-head">
        <span class="grip" aria-hidden="true" />
        <button type="button" class="quiet" onClick={onClose}>
          {t.configs.close}
        </button>
      </div>
      <div class="sheet-body">
        <Inspector onEdit={onEdit} withActions />
      </div>
    </section>
  );
}

function Fatal() {
  const t = text.value;
  const { code, message } = fatal.value;
  return (
    <div class="card error-card" role="alert">
      <h2>{t.run.fatal}</h2>
      <p>
        <code>{code}</code> {message}
      </p>
      <button type="button" class="button" onClick={() => location.reload()}>
        {t.run.reload}
      </button>
    </div>
  );
}

// A file may be dropped anywhere on the page.
function useFileDrop() {
  const [over, setOver] = useState(false);
  useEffect(() => {
    let depth = 0;
    const isFile = (event) => event.dataTransfer?.types.includes('Files');
    const listeners = {
      dragenter: (event) => isFile(event) && ++depth && setOver(true),
      dragleave: (event) => isFile(event) && --depth <= 0 && setOver(false),
      dragover: (event) => isFile(event) && event.preventDefault(),
      drop: (event) => {
        if (!isFile(event)) return;
        event.preventDefault();
        depth = 0;
        setOver(false);
        const [first] = event.dataTransfer.files;
        if (first) openFile(first);
      },
    };
    for (const [name, listener] of Object.entries(listeners)) addEventListener(name, listener);
    return () => {
      for (const [name, listener] of Object.entries(listeners)) removeEventListener(name, listener);
    };
  }, []);
  return over;
}

function useShortcuts() {
  useEffect(() => {
    const listen = (event) => {
      if (!(event.ctrlKey || event.metaKey) || event.target.matches?.('input:not([type=range]), textarea')) return;
      const key = event.key.toLowerCase();
      if (key === 'z' || key === 'y') {
        event.preventDefault();
        if (key === 'y' || event.shiftKey) redo();
        else undo();
      }
    };
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  }, []);
}
