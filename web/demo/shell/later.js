import { useEffect, useState } from 'preact/hooks';

/** false at first, true once what is shown without it has been painted: so that no task of the page is a long one. */
export function useLater(wanted) {
  const [now, setNow] = useState(false);
  useEffect(() => {
    if (!wanted || now) return undefined;
    let timer = 0;
    const frame = requestAnimationFrame(() => {
      timer = setTimeout(setNow, 0, true);
    });
    return () => {
      cancelAnimationFrame(frame);
      clearTimeout(timer);
    };
  }, [wanted]);
  return wanted && now;
}
