import { useState } from 'preact/hooks';
import { announcement } from '../session.js';

/** A button that puts a text into the clipboard, and says so for a moment. */
export function CopyButton({ content, label, copied }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await copyText(content);
    announcement.value = copied;
    setDone(true);
    setTimeout(setDone, 1500, false);
  };
  return (
    <button type="button" class="button small" onClick={copy}>
      {done ? copied : label}
    </button>
  );
}

async function copyText(content) {
  try {
    await navigator.clipboard.writeText(content);
  } catch {
    // Without the permission: through a selection.
    const before = document.activeElement;
    const field = document.createElement('textarea');
    field.value = content;
    document.body.append(field);
    field.select();
    document.execCommand('copy');
    field.remove();
    before?.focus();
  }
}
