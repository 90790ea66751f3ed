// The export menus: of the whole page in the top bar, of one chart on its card. What they do is loaded when first used.
import { useEffect, useRef, useState } from 'preact/hooks';
import { announcement, busy, catalog, panelResults, picks, results, text } from '../session.js';
import { Disclosure } from './disclosure.jsx';
import { notice } from './notices.jsx';

const tools = () => import('./export/save.js');

const ICON = (
  <svg viewBox="0 0 16 16" aria-hidden="true">
    <path d="M8 2v8M4.8 7 8 10.2 11.2 7M3 13.5h10" />
  </svg>
);

async function attempt(act) {
  const t = text.value.shell;
  try {
    await act(await tools());
    announcement.value = t.saved;
  } catch (error) {
    notice.value = { error: `${t.notSaved} ${error.message}` };
  }
}

/** The buttons for one thing that can be saved. */
function Formats({ entry, close }) {
  const t = text.value.shell;
  const button = (format, act) => (
    <button
      type="button"
      class="button small"
      aria-label={t.saveAs(entry.title, format)}
      onClick={() => {
        close();
        attempt(act);
      }}
    >
      {format}
    </button>
  );
  return (
    <span class="formats">
      {entry.picture && button('PNG', (save) => save.savePicture(entry, 'png'))}
      {entry.picture && button('SVG', (save) => save.savePicture(entry, 'svg'))}
      {entry.table && button('CSV', (save) => save.saveTable(entry))}
    </span>
  );
}

/** On a chart's card. @param props.entry as in export/registry.js */
export function ExportChart({ entry }) {
  const t = text.value.shell;
  return (
    <Disclosure label={t.exportOf(entry.title)} icon={ICON}>
      {(close) => <Formats entry={entry} close={close} />}
    </Disclosure>
  );
}

/** In the top bar. @param props.onHelp shows the shortcuts: on a phone there is no button for them */
export function ExportMenu({ narrow, onHelp }) {
  const t = text.value.shell;
  return (
    <Disclosure label={t.export} icon={narrow ? ICON : undefined}>
      {(close) => (
        <>
          <Everything close={close} />
          <Panel close={close} />
          {onHelp && (
            <button
              type="button"
              class="link"
              onClick={() => {
                close();
                onHelp();
              }}
            >
              {t.keyboard}
            </button>
          )}
        </>
      )}
    </Disclosure>
  );
}

function Everything({ close }) {
  const t = text.value.shell;
  const chooser = useRef(null);
  return (
    <section class="opened-part">
      <h2>{t.everything}</h2>
      <p class="note">{t.everythingNote}</p>
      <div class="button-row">
        <button
          type="button"
          class="button small"
          disabled={!catalog.value}
          onClick={() => {
            close();
            attempt((save) => save.saveEverything());
          }}
        >
          {t.saveJson}
        </button>
        <button type="button" class="button small" onClick={() => chooser.current.click()}>
          {t.openJson}
        </button>
        <input
          ref={chooser}
          type="file"
          class="visually-hidden"
          accept=".json,application/json"
          aria-label={t.openJson}
          tabIndex={-1}
          data-import
          onChange={async (event) => {
            const [chosen] = event.target.files;
            event.target.value = '';
            if (!chosen) return;
            close();
            await openExport(chosen);
          }}
        />
      </div>
    </section>
  );
}

/** Restores a saved page from a file; says why where that fails. */
export async function openExport(chosen) {
  const t = text.value.shell;
  const error = await (await tools()).openEverything(chosen);
  notice.value = error ? { error } : null;
  if (!error) announcement.value = t.opened(chosen.name);
}

function Panel({ close }) {
  const t = text.value.shell;
  const [entries, setEntries] = useState(null);
  // Anew as results come in.
  useEffect(() => {
    let here = true;
    import('./export/collect.js').then(({ collect }) => here && setEntries(collect(document.getElementById('panel'))));
    return () => {
      here = false;
    };
  }, [results.value, panelResults.value, busy.value, picks.panel]);
  return (
    <section class="opened-part">
      <h2>{t.thisPanel}</h2>
      {entries?.length === 0 && <p class="note">{t.nothing}</p>}
      <ul class="export-list">
        {entries?.map((entry, i) => (
          <li key={i}>
            <span>{entry.title}</span>
            <Formats entry={entry} close={close} />
          </li>
        ))}
      </ul>
    </section>
  );
}
