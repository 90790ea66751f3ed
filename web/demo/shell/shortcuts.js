// Keys: what each does, for the listener and for the list that `?` shows.
import { useEffect, useRef } from 'preact/hooks';
import {
  announcement,
  cancel,
  cancelled,
  language,
  progress,
  redo,
  runNow,
  set,
  state,
  text,
  undo,
  update,
} from '../session.js';
import { duplicateConfig, MAX_CONFIGS, PANELS } from '../state.js';
import { copyLink } from './copy-link.js';
import { afterPaint } from './later.js';
import { nextTheme } from './theme.js';
import { closeTour, goToStop } from './tour/tour.js';

function showPanel(key) {
  const panel = PANELS[Number(key) - 1];
  const inside = document.getElementById('panel')?.contains(document.activeElement);
  set({ panel });
  announcement.value = text.value.panels[panel];
  if (inside) document.getElementById('panel').focus(); // what had the focus is gone
}

function select(step) {
  const { configs, selected } = state.value;
  const next = (selected + step + configs.length) % configs.length;
  set({ selected: next });
  announcement.value = configs[next].name;
}

function duplicate() {
  const { configs, selected } = state.value;
  if (configs.length < MAX_CONFIGS) update(duplicateConfig(state.value, selected), 'duplicate');
}

function cancelOrRun() {
  if (cancelled.value) runNow();
  else if (progress.value) cancel();
}

const tourBy = (step) => {
  const { tour } = state.value;
  if (tour > 0) goToStop(tour + step);
};

/** Single keys. The name is that of its text; the page gives what it has to open itself: add, help. */
export const KEYS = [
  { keys: ['1', '2', '3', '4', '5', '6', '7'], shown: ['1', '–', '7'], name: 'panels', act: showPanel },
  { keys: ['j'], name: 'next', act: () => select(1) },
  { keys: ['k'], name: 'previous', act: () => select(-1) },
  { keys: ['a'], name: 'add', act: (_, page) => page.add() },
  { keys: ['d'], name: 'duplicate', act: duplicate },
  { keys: ['x'], name: 'cancel', act: cancelOrRun },
  { keys: ['t'], name: 'tour', act: () => (state.value.tour > 0 ? closeTour() : goToStop(1)) },
  { keys: ['n'], name: 'tourNext', act: () => tourBy(1) },
  { keys: ['p'], name: 'tourBack', act: () => tourBy(-1) },
  { keys: ['c'], name: 'copyLink', act: copyLink },
  { keys: ['s'], name: 'sidebar', act: () => afterPaint(() => set({ sidebar: !state.value.sidebar })) },
  {
    keys: ['l'],
    name: 'language',
    act: () => afterPaint(() => set({ language: language.value === 'zh' ? 'en' : 'zh' })),
  },
  { keys: ['m'], name: 'theme', act: () => afterPaint(() => set({ theme: nextTheme(state.value.theme) })) },
  { keys: ['?'], name: 'help', act: (_, page) => page.help(), always: true },
];
/** Those with Ctrl or ⌘: [keys as shown, name of the text]. */
export const WITH_CONTROL = [
  [['Ctrl', 'Z'], 'undo'],
  [['Ctrl', 'Shift', 'Z'], 'redo'],
];
/** Those of what has the focus: [keys as shown, name of the text]. */
export const LOCAL = [
  [['←', '→'], 'arrows'],
  [['Esc'], 'escape'],
];

const TYPING =
  'textarea, select, [contenteditable], input:not([type=checkbox], [type=radio], [type=range], [type=file])';
const isTyping = ({ target }) => Boolean(target.closest?.(TYPING));

function onControl(event) {
  const key = event.key.toLowerCase();
  if (isTyping(event) || (key !== 'z' && key !== 'y')) return;
  event.preventDefault();
  afterPaint(key === 'y' || event.shiftKey ? redo : undo);
}

/** @param {{ add: () => void, help: () => void }} page */
export function useShortcuts(page) {
  const latest = useRef(page);
  latest.current = page;
  useEffect(() => {
    const listen = (event) => {
      if (event.altKey || event.defaultPrevented || document.querySelector('dialog[open]')) return;
      if (event.ctrlKey || event.metaKey) return onControl(event);
      if (isTyping(event)) return;
      const found = KEYS.find(({ keys }) => keys.includes(event.key.toLowerCase()));
      if (!found || !(state.value.keys || found.always)) return;
      event.preventDefault();
      found.act(event.key, latest.current);
    };
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  }, []);
}
