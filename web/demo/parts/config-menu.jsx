// What can be done with a configuration: its menu in the list, and the same as buttons in the sheet of a phone.
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { announcement, picks, state, text, update } from '../session.js';
import {
  cleanName,
  duplicateConfig,
  editConfig,
  MAX_CONFIGS,
  moveConfig,
  recolorConfig,
  removeConfig,
} from '../state.js';
import { colorOf, colors, LETTERS } from './look.js';
import { Shape } from './marker.jsx';

/** Moves a configuration and says where it is now. */
export function move(from, to) {
  const { configs } = picks;
  const next = moveConfig(state.value, from, to);
  if (next === state.value) return;
  update(next, `move ${from} ${to}`);
  announcement.value = text.value.configs.movedTo(configs[from].name, LETTERS[to]);
}

/** What can be done, in the order of the menu; all but the colours, which stand before the last. */
function actionsOf(index, onRename) {
  const t = text.value.configs;
  const { configs } = picks;
  const edit = (change, label) => () => update(change(state.value, index), label);
  return {
    first: [
      [t.rename, onRename],
      [t.duplicate, edit(duplicateConfig, 'duplicate'), configs.length >= MAX_CONFIGS],
      [t.moveUp, () => move(index, index - 1), index === 0],
      [t.moveDown, () => move(index, index + 1), index === configs.length - 1],
    ],
    last: [[t.remove, edit(removeConfig, 'remove'), configs.length <= 1]],
  };
}

/** The six colours, each with its mark; one that another configuration has is exchanged. */
function Swatches({ index, role, onDone }) {
  const t = text.value.configs;
  const own = colorOf(index);
  return Array.from({ length: MAX_CONFIGS }, (_, color) => {
    const holder = colors.value.indexOf(color);
    const taken = holder >= 0 && holder !== index ? t.takenBy(LETTERS[holder]) : '';
    return (
      <button
        key={color}
        type="button"
        role={role}
        class={`swatch look-${color}`}
        {...{ [role ? 'aria-checked' : 'aria-pressed']: color === own }}
        aria-label={`${t.colors[color]}${taken}`}
        title={`${t.colors[color]}${taken}`}
        onClick={() => {
          update(recolorConfig(state.value, index, color), `color ${index}`);
          onDone?.();
        }}
      >
        <Shape color={color} />
      </button>
    );
  });
}

const ITEMS = '[role^=menuitem]:not(:disabled)';
const STEPS = { ArrowDown: 1, ArrowUp: -1, ArrowRight: 1, ArrowLeft: -1 };

export function ConfigMenu({ index, onRename }) {
  const t = text.value;
  const [open, setOpen] = useState(false);
  const root = useRef(null);
  const { configs } = picks;
  // Before the next key arrives.
  useLayoutEffect(() => {
    if (!open) return undefined;
    root.current.querySelector(ITEMS).focus();
    const outside = (event) => root.current.contains(event.target) || setOpen(false);
    addEventListener('pointerdown', outside);
    return () => removeEventListener('pointerdown', outside);
  }, [open]);
  const close = () => {
    setOpen(false);
    root.current.querySelector('button').focus();
  };
  const onKeyDown = (event) => {
    if (event.key === 'Escape' && open) close();
    const step = STEPS[event.key];
    if (!open || !step) return;
    event.preventDefault();
    const items = [...root.current.querySelectorAll(ITEMS)];
    items[(items.indexOf(document.activeElement) + step + items.length) % items.length].focus();
  };
  const { first, last } = actionsOf(index, onRename);
  const item = ([label, act, disabled]) => (
    <button
      key={label}
      type="button"
      role="menuitem"
      disabled={disabled}
      onClick={() => {
        setOpen(false);
        act();
      }}
    >
      {label}
    </button>
  );
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: keys of the menu inside
    <div class="menu" ref={root} onKeyDown={onKeyDown}>
      <button
        type="button"
        class="quiet dots"
        aria-haspopup="menu"
        aria-expanded={open}
        aria-label={t.configs.menu(configs[index].name)}
        onClick={() => setOpen(!open)}
      >
        ⋯
      </button>
      {open && (
        <div role="menu" class="menu-items">
          {first.map(item)}
          {/* biome-ignore lint/a11y/useSemanticElements: a group of menu items */}
          <div role="group" class="swatches" aria-label={t.configs.color}>
            <Swatches index={index} role="menuitemradio" onDone={close} />
          </div>
          {last.map(item)}
        </div>
      )}
    </div>
  );
}

/** For the sheet, where there is room for buttons and no list. */
export function ConfigActions() {
  const t = text.value;
  const { selected } = picks;
  const [renaming, setRenaming] = useState(false);
  if (renaming) return <NameField index={selected} onDone={() => setRenaming(false)} />;
  const { first, last } = actionsOf(selected, () => setRenaming(true));
  return (
    <div class="config-actions">
      {[...first, ...last].map(([label, act, disabled]) => (
        <button key={label} type="button" class="button small" disabled={disabled} onClick={act}>
          {label}
        </button>
      ))}
      <fieldset class="swatches">
        <legend class="visually-hidden">{t.configs.color}</legend>
        <Swatches index={selected} />
      </fieldset>
    </div>
  );
}

export function NameField({ index, onDone }) {
  const t = text.value;
  const field = useRef(null);
  const done = useRef(false);
  useLayoutEffect(() => field.current.select(), []);
  const finish = (keep) => {
    if (done.current) return;
    done.current = true;
    if (keep) update(editConfig(state.value, index, { name: cleanName(field.current.value) }), `rename ${index}`);
    onDone();
  };
  return (
    <input
      ref={field}
      class="name-field"
      aria-label={t.configs.name}
      maxLength={40}
      defaultValue={picks.configs[index].name}
      onBlur={() => finish(true)}
      onKeyDown={(event) => {
        if (event.key === 'Enter') finish(true);
        if (event.key === 'Escape') finish(false);
      }}
    />
  );
}
