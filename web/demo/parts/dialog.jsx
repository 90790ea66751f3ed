// A dialog over the page, which keeps the focus until Escape, its button or a click beside it closes it. Not showModal():
// that makes the page behind inert, and the browser finds the style of every element anew, when it opens and when it closes.
import { useLayoutEffect, useRef } from 'preact/hooks';

const FOCUSABLE = 'a[href], button:not(:disabled), input:not(:disabled), select:not(:disabled), [tabindex="0"]';

/**
 * @param {object} props
 * @param props.class its own class @param props.labelledby the id of its title @param props.onClose
 */
export function Dialog({ class: look = '', labelledby, onClose, children }) {
  const dialog = useRef(null);
  const latest = useRef(onClose);
  latest.current = onClose;
  // Before the next key arrives.
  useLayoutEffect(() => {
    const before = document.activeElement;
    const all = () => [...dialog.current.querySelectorAll(FOCUSABLE)];
    all()[0]?.focus();
    // On the window: a click on text leaves the focus with the page.
    const listen = (event) => {
      if (event.key === 'Escape') {
        event.preventDefault();
        latest.current();
      }
      if (event.key === 'Tab') keepFocus(event, all());
    };
    addEventListener('keydown', listen);
    return () => {
      removeEventListener('keydown', listen);
      before?.focus?.();
    };
  }, []);
  return (
    <>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: Escape does the same by key */}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: as above */}
      <div class="backdrop" onClick={onClose} />
      <dialog class={`dialog ${look}`} ref={dialog} open aria-modal="true" aria-labelledby={labelledby}>
        {children}
      </dialog>
    </>
  );
}

// From the last to the first, from the first to the last, and back from outside.
function keepFocus(event, all) {
  const at = all.indexOf(document.activeElement);
  const leaves = event.shiftKey ? at <= 0 : at === -1 || at === all.length - 1;
  if (!leaves || all.length === 0) return;
  event.preventDefault();
  all.at(event.shiftKey ? -1 : 0).focus();
}
