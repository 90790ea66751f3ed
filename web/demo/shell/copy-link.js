import { announcement, link, text } from '../session.js';

/** Puts the page's link into the clipboard. */
export async function copyLink() {
  try {
    await navigator.clipboard.writeText(link());
  } catch {
    // Without the permission: through a selection.
    const before = document.activeElement;
    const field = document.createElement('textarea');
    field.value = link();
    document.body.append(field);
    field.select();
    document.execCommand('copy');
    field.remove();
    before?.focus();
  }
  announcement.value = text.value.top.copied;
}
