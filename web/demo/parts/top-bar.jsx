import { useState } from 'preact/hooks';
import { canRedo, canUndo, language, picks, redo, set, text, undo } from '../session.js';
import { copyLink } from '../shell/copy-link.js';
import { ExportMenu } from '../shell/export-menu.jsx';
import { afterPaint } from '../shell/later.js';
import { nextTheme } from '../shell/theme.js';
import { closeTour, goToStop } from '../shell/tour/tour.js';
import { loadTexts } from '../texts/index.js';

export function TopBar({ narrow, onHelp }) {
  const t = text.value;
  const { theme, sidebar } = picks;
  return (
    <header class="top-bar">
      <h1>
        <b>addnorm</b> <span>{t.title}</span>
      </h1>
      <nav aria-label={t.title}>
        <TourButton narrow={narrow} />
        {!narrow && (
          <IconButton
            label={t.top.sidebar}
            pressed={sidebar}
            onClick={() => afterPaint(() => set({ sidebar: !sidebar }))}
          >
            <path d="M2.5 3.5h11v9h-11zM6.5 3.5v9" />
          </IconButton>
        )}
        <IconButton label={t.top.undo} disabled={!canUndo.value} onClick={() => afterPaint(undo)}>
          <path d="M5.5 3 2.5 6l3 3M3 6h6.5a3.5 3.5 0 0 1 0 7H6" />
        </IconButton>
        <IconButton label={t.top.redo} disabled={!canRedo.value} onClick={() => afterPaint(redo)}>
          <path d="m10.5 3 3 3-3 3M13 6H6.5a3.5 3.5 0 0 0 0 7H10" />
        </IconButton>
        <CopyLink narrow={narrow} />
        <ExportMenu narrow={narrow} onHelp={narrow ? onHelp : undefined} />
        {!narrow && (
          <IconButton label={t.shell.keyboard} onClick={onHelp}>
            <path d="M1.5 4h13v8.5h-13zM4 6.5h.5M6.7 6.5h.5M9.3 6.5h.5M12 6.5h.5M4.5 10h7" />
          </IconButton>
        )}
        <button
          type="button"
          class="quiet"
          aria-label={t.top.otherLanguage}
          lang={language.value === 'zh' ? 'en' : 'zh-CN'}
          onPointerEnter={() => loadTexts('zh')}
          onFocus={() => loadTexts('zh')}
          onClick={() => afterPaint(() => set({ language: language.value === 'zh' ? 'en' : 'zh' }))}
        >
          {narrow ? t.top.otherShort : t.top.otherLanguage}
        </button>
        <IconButton label={t.top.theme[theme]} onClick={() => afterPaint(() => set({ theme: nextTheme(picks.theme) }))}>
          <circle cx="8" cy="8" r="5.5" />
          {theme !== 'light' && (
            <path
              class="solid"
              d={theme === 'dark' ? 'M8 2.5a5.5 5.5 0 0 1 0 11 5.5 5.5 0 0 1 0-11z' : 'M8 2.5a5.5 5.5 0 0 1 0 11z'}
            />
          )}
        </IconButton>
      </nav>
    </header>
  );
}

export function IconButton({ label, pressed, children, ...rest }) {
  return (
    <button type="button" class="quiet icon" aria-label={label} title={label} aria-pressed={pressed} {...rest}>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        {children}
      </svg>
    </button>
  );
}

function TourButton({ narrow }) {
  const t = text.value.shell.tour;
  const on = picks.tour > 0;
  const toggle = () => (on ? closeTour() : goToStop(1));
  if (narrow) {
    return (
      <IconButton label={t.title} pressed={on} onClick={toggle}>
        <path d="M3.5 14V2.5h8L9.5 5.5l2 3h-8" />
      </IconButton>
    );
  }
  return (
    <button type="button" class="quiet" aria-pressed={on} onClick={toggle}>
      {t.start}
    </button>
  );
}

function CopyLink({ narrow }) {
  const t = text.value;
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await copyLink();
    setCopied(true);
    setTimeout(setCopied, 1500, false);
  };
  if (narrow) {
    return (
      <IconButton label={copied ? t.top.copied : t.top.copyLink} onClick={copy}>
        {copied ? (
          <path d="m3 8.5 3.2 3.2L13 5" />
        ) : (
          <path d="M7 9a2.5 2.5 0 0 0 3.6 0l2-2A2.5 2.5 0 0 0 9 3.4l-.8.8M9 7a2.5 2.5 0 0 0-3.6 0l-2 2A2.5 2.5 0 0 0 7 12.6l.8-.8" />
        )}
      </IconButton>
    );
  }
  return (
    <button type="button" class="quiet" onClick={copy}>
      {copied ? t.top.copied : t.top.copyLink}
    </button>
  );
}
