// Panels that are loaded when first shown.
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { text } from '../session.js';

/**
 * @param {() => Promise<Function>} load gives the component
 * @returns a component; `isReady()` says whether it has been loaded, `preload()` begins to
 */
export function lazy(load) {
  const loaded = signal(null);
  const failure = signal(null);
  let loading = false;
  const preload = () => {
    if (loading) return;
    loading = true;
    load().then(
      (component) => {
        loaded.value = { component };
      },
      (error) => {
        failure.value = error;
      },
    );
  };
  function Lazy(props) {
    useEffect(preload, []);
    if (loaded.value) return <loaded.value.component {...props} />;
    return failure.value ? <NotLoaded error={failure.value} /> : <Waiting />;
  }
  Lazy.preload = preload;
  Lazy.isReady = () => loaded.value !== null || failure.value !== null;
  return Lazy;
}

/** As calm as what the page shows before it has started. */
export const Waiting = () => (
  <div class="skeleton-cards" role="status" aria-label={text.value.loading}>
    <i />
    <i />
  </div>
);

function NotLoaded({ error }) {
  const t = text.value;
  return (
    <div class="card error-card" role="alert">
      <h2>{t.shell.notLoaded}</h2>
      <p>{error.message}</p>
      <button type="button" class="button" onClick={() => location.reload()}>
        {t.run.reload}
      </button>
    </div>
  );
}
