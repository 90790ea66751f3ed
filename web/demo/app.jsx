// The screen: top bar, configurations and inspector, the panel, status bar.
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { DepthPanel } from './panels/depth/panel.jsx';
import { AddDialog } from './parts/add-dialog.jsx';
import { ConfigChips, ConfigList } from './parts/configs.jsx';
import { Inspector } from './parts/inspector.jsx';
import { ModuleError } from './parts/module-error.jsx';
import { RunBar, RunNote } from './parts/progress.jsx';
import { StatusBar } from './parts/status-bar.jsx';
import { TopBar } from './parts/top-bar.jsx';
import { announcement, busy, catalog, fatal, picks, pictured, set, text } from './session.js';
import { Boundary } from './shell/boundary.jsx';
import { useFileDrop } from './shell/file-drop.js';
import { useAfterPaint, useLater } from './shell/later.js';
import { lazy, Waiting } from './shell/lazy.jsx';
import { Notices } from './shell/notices.jsx';
import { ShortcutDialog } from './shell/shortcut-dialog.jsx';
import { useShortcuts } from './shell/shortcuts.js';
import { Tabs } from './shell/tabs.jsx';

const NARROW = '(max-width: 899.98px)';
// The first visit's panel comes with the page, the others when they are shown.
const panels = {
  wiring: lazy(() => import('./panels/wiring/panel.jsx').then((module) => module.WiringPanel)),
  forward: lazy(() => import('./panels/forward.jsx').then((module) => module.ForwardPanel)),
  activations: lazy(() => import('./panels/activations/panel.jsx').then((module) => module.ActivationsPanel)),
  depth: DepthPanel,
  training: lazy(() => import('./panels/training/panel.jsx').then((module) => module.TrainingPanel)),
  speed: lazy(() => import('./panels/speed.jsx').then((module) => module.SpeedPanel)),
  weights: lazy(() => import('./panels/weights/panel.jsx').then((module) => module.WeightsPanel)),
};
const TourCard = lazy(() => import('./shell/tour/card.jsx').then((module) => module.TourCard));

export function App() {
  const t = text.value;
  const { panel, sidebar, tour } = picks;
  const [narrow, setNarrow] = useState(() => matchMedia(NARROW).matches);
  const [adding, setAdding] = useState(false);
  const [sheet, setSheet] = useState(false);
  const [help, setHelp] = useState(false);
  // One after the other, so that none is a long task: what is around the panel, the panel with its picture, the inspector.
  const known = useLater(Boolean(catalog.value));
  const inspecting = useLater(known && pictured.value);
  const dropping = useFileDrop();
  // The same functions each time: what has them is not drawn anew with the whole.
  const add = useCallback(() => setAdding(true), []);
  const showHelp = useCallback(() => setHelp(true), []);
  const showSheet = useCallback(() => setSheet(true), []);
  useShortcuts({ add, help: showHelp });

  useEffect(() => {
    const query = matchMedia(NARROW);
    const listen = () => setNarrow(query.matches);
    query.addEventListener('change', listen);
    return () => query.removeEventListener('change', listen);
  }, []);

  // "Click a box to edit it": open the inspector and go to the field.
  const edit = useCallback(
    (field) => {
      if (narrow) setSheet(true);
      else set({ sidebar: true });
      goToField(`field-${field}`);
    },
    [narrow],
  );

  const shown = useAfterPaint(panel); // the tab is marked before its panel is drawn
  const Panel = panels[shown];
  return (
    <div class={`app ${narrow ? 'narrow' : 'wide'} ${sidebar ? '' : 'no-sidebar'}`}>
      <button type="button" class="skip" onClick={() => document.getElementById('panel').focus()}>
        {t.skip}
      </button>
      <TopBar narrow={narrow} onHelp={showHelp} />
      <Notices />
      {narrow ? (
        <ConfigChips onAdd={add} onEdit={showSheet} />
      ) : (
        sidebar && (
          <aside class="sidebar" aria-label={t.configs.title}>
            <ConfigList onAdd={add} />
            {inspecting && <Inspector onEdit={edit} />}
          </aside>
        )
      )}
      <main class="main">
        <div class="tab-bar">
          <Tabs panels={panels} />
          <RunNote />
        </div>
        <div
          class="panel"
          id="panel"
          role="tabpanel"
          tabIndex={-1}
          aria-labelledby={`tab-${panel}`}
          aria-busy={busy.value || shown !== panel || Panel.isReady?.() === false}
        >
          <RunBar />
          {fatal.value ? (
            <Fatal />
          ) : known ? (
            <Boundary key={shown}>
              <Panel onEdit={edit} />
            </Boundary>
          ) : (
            <Waiting />
          )}
        </div>
        {tour > 0 && catalog.value && <TourCard />}
      </main>
      <StatusBar />
      {narrow && sheet && catalog.value && <Sheet onClose={() => setSheet(false)} onEdit={edit} />}
      {adding && catalog.value && <AddDialog onClose={() => setAdding(false)} />}
      {help && <ShortcutDialog onClose={() => setHelp(false)} />}
      {dropping && <div class="drop-target">{t.input.drop}</div>}
      <Announcement />
    </div>
  );
}

const Announcement = () => (
  <div class="visually-hidden" role="status" aria-live="polite">
    {announcement.value}
  </div>
);

// The fields come some frames after the inspector.
function goToField(id, frames = 30) {
  requestAnimationFrame(() => {
    const control = document.getElementById(id);
    if (!control) {
      if (frames > 0) goToField(id, frames - 1);
      return;
    }
    const hidden = control.closest('details');
    if (hidden) hidden.open = true;
    control.scrollIntoView({ block: 'center' });
    control.focus();
  });
}

function Sheet({ onClose, onEdit }) {
  const t = text.value;
  const sheet = useRef(null);
  // Before the next key arrives.
  useLayoutEffect(() => {
    const before = document.activeElement;
    sheet.current.focus();
    return () => before?.focus?.();
  }, []);
  return (
    <section
      class="sheet"
      ref={sheet}
      role="dialog"
      aria-label={t.configs.edit('ABCDEF'[picks.selected])}
      tabIndex={-1}
      onKeyDown={(event) => event.key === 'Escape' && onClose()}
    >
      <div class="sheet-head">
        <h2 class="visually-hidden">{t.configs.edit('ABCDEF'[picks.selected])}</h2>
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
  return (
    <div class="card error-card" role="alert">
      <h2>{t.run.fatal}</h2>
      <p>
        <ModuleError error={fatal.value} /> <code>{fatal.value.code}</code>
      </p>
      <button type="button" class="button" onClick={() => location.reload()}>
        {t.run.reload}
      </button>
    </div>
  );
}
