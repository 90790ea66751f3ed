// What waits for the next frame, so that the page answers at once and no task is a long one.
import { effect } from '@preact/signals';
import { toChildArray } from 'preact';
import { useEffect, useState } from 'preact/hooks';

// From an input on its answer has the page to itself for this many milliseconds.
const ANSWER = 200;
let acted = -Infinity;
const told = new Set();
for (const type of ['pointerdown', 'pointerup', 'keydown', 'input']) {
  const note = () => {
    acted = performance.now();
    for (const tell of told) tell(ANSWER);
  };
  addEventListener(type, note, { capture: true, passive: true });
}

/** Calls tell at every input, before it is dealt with, with the milliseconds that its answer may take. */
export const onInput = (tell) => told.add(tell);

/** Whether the page answers an input, so that what can wait had better wait. */
export const isAnswering = () => performance.now() - acted < ANSWER;

/** Calls act once the next frame has been painted; a hidden page has none. Returns what takes it back. */
export function afterPaint(act) {
  let timer = 0;
  const soon = () => {
    timer = setTimeout(act);
  };
  const frame = document.hidden ? soon() : requestAnimationFrame(soon);
  return () => {
    if (frame) cancelAnimationFrame(frame);
    clearTimeout(timer);
  };
}

/** false at first, true once what is shown without it has been painted. */
export function useLater(wanted) {
  const [now, setNow] = useState(false);
  useEffect(() => (wanted && !now ? afterPaint(() => setNow(true)) : undefined), [wanted]);
  return wanted && now;
}

/**
 * What read gives, once the frame after a change of it has been painted. Unlike with useAfterPaint the component is not
 * drawn for the change itself, so that what a visitor has just put into a field stays there.
 */
export function useLate(read) {
  const [shown, show] = useState(read);
  useEffect(() => {
    let cancel = () => {};
    const leave = effect(() => {
      const value = read();
      cancel();
      cancel = afterPaint(() => show(() => value));
    });
    return () => {
      leave();
      cancel();
    };
  }, []);
  return shown;
}

/** Draws its children in a task of their own, the first time and whenever they are others. */
export function Staged({ children }) {
  const [shown, show] = useState(null);
  useEffect(() => {
    const timer = setTimeout(show, 0, children);
    return () => clearTimeout(timer);
  }, [children]);
  return shown;
}

/** How many of a list are drawn: so many at first, and as many more after every frame. */
export function useGrowing(length, step) {
  const [count, setCount] = useState(step);
  useEffect(() => (count < length ? afterPaint(() => setCount(count + step)) : undefined), [count, length, step]);
  return count;
}

/** Its children, one more after every frame: all at once would be one long task of layout. */
export function Gradually({ children }) {
  const list = toChildArray(children);
  return list.slice(0, useGrowing(list.length, 1));
}

/** A value, a frame later where it changes: what hangs on it is drawn after the rest. */
export function useAfterPaint(value) {
  const [shown, show] = useState(() => value);
  // Also where what was shown has just become another, late: what takes an effect back is called a frame later.
  useEffect(() => (Object.is(shown, value) ? undefined : afterPaint(() => show(() => value))), [value, shown]);
  return shown;
}
