// A button and what it opens below itself: closed by Escape, by a click elsewhere, or by what is done inside.
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { afterPaint } from './later.js';

/**
 * @param {object} props
 * @param props.label the button's name @param props.icon what stands on the button, in place of the label
 * @param props.class the button's @param props.children (close) => what is opened
 */
export function Disclosure({ label, icon, class: look = 'quiet', children }) {
  const [open, setOpen] = useState(false);
  const root = useRef(null);
  const id = useId();
  useLayoutEffect(() => {
    if (!open) return undefined;
    // What is given the focus has to be laid out: after the frame that shows it, it is.
    const cancel = afterPaint(() => root.current?.querySelector('.opened')?.focus());
    const outside = (event) => root.current.contains(event.target) || setOpen(false);
    addEventListener('pointerdown', outside);
    addEventListener('focusin', outside);
    return () => {
      cancel();
      removeEventListener('pointerdown', outside);
      removeEventListener('focusin', outside);
    };
  }, [open]);
  const close = () => {
    setOpen(false);
    root.current?.querySelector('button').focus();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape closes what is inside
    <div
      class="disclosure"
      ref={root}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || !open) return;
        event.stopPropagation();
        close();
      }}
    >
      <button
        type="button"
        class={`${look} ${icon ? 'icon' : ''}`}
        aria-label={icon ? label : undefined}
        title={icon ? label : undefined}
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        onClick={() => setOpen(!open)}
      >
        {icon ?? label}
      </button>
      {open && (
        <section class="opened" id={id} aria-label={label} tabIndex={-1}>
          {children(close)}
        </section>
      )}
    </div>
  );
}
