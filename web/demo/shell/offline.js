// Registers the service worker, which keeps the page for offline use, and says when a newer version has been fetched.
import { signal } from '@preact/signals';
import { isOneFile } from '../served.js';

/** true once a newer version of the page is there: a reload opens it. */
export const updated = signal(false);

const LATER = 3000; // the first chart and its libraries come first

export function keepOffline() {
  if (isOneFile || !import.meta.env.PROD) return;
  try {
    const { serviceWorker } = navigator;
    if (!serviceWorker) return;
    // A page that was opened before any worker was there gets its first one, which is no newer version. From the start on: the
    // browser looks for a newer one by itself when it opens the page.
    if (serviceWorker.controller) serviceWorker.addEventListener('controllerchange', () => (updated.value = true));
    const register = () => serviceWorker.register(new URL('sw.js', document.baseURI), { updateViaCache: 'none' });
    // No storage, or a host that does not serve it: the page works all the same, online.
    const later = () => setTimeout(() => register().catch(() => {}), LATER);
    if (document.readyState === 'complete') later();
    else addEventListener('load', later);
  } catch {
    // In a frame without an origin even asking for it throws.
  }
}
