// The strip of panels. On a phone it scrolls by itself, the page does not; the shown panel's tab is always in view.
import { useEffect, useRef } from 'preact/hooks';
import { picks, set, text } from '../session.js';
import { PANELS } from '../state.js';
import { afterPaint } from './later.js';

export function Tabs({ panels }) {
  const t = text.value;
  const { panel } = picks;
  const strip = useRef(null);
  // After the frame: what it measures is known then, and need not be laid out for it.
  useEffect(() => afterPaint(() => bringIntoView(strip.current, panel)), [panel, t]);
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
    <div class="tabs" role="tablist" aria-label={t.title} ref={strip} onKeyDown={move}>
      {PANELS.map((name) => (
        <button
          key={name}
          type="button"
          role="tab"
          id={`tab-${name}`}
          aria-selected={name === panel}
          aria-controls="panel"
          tabIndex={name === panel ? 0 : -1}
          onPointerEnter={() => panels[name].preload?.()}
          onFocus={() => panels[name].preload?.()}
          onClick={() => set({ panel: name })}
        >
          {t.panels[name]}
        </button>
      ))}
    </div>
  );
}

// Only the strip is scrolled: scrollIntoView would move the page too.
function bringIntoView(strip, panel) {
  const tab = strip && document.getElementById(`tab-${panel}`);
  if (!tab) return;
  strip.scrollLeft = tab.offsetLeft - strip.offsetLeft - (strip.clientWidth - tab.offsetWidth) / 2;
}
