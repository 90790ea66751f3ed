// The block's formulas in MathML.
import { useEffect, useRef, useState } from 'preact/hooks';
import { resolved } from '../fields.js';
import { formulaLines, formulaOf } from '../formula.js';
import { catalog } from '../session.js';

// Loaded when a formula is first drawn: it is the largest library here. null where that has failed.
let temml;
let loading = null;
const load = () => {
  loading ??= import('temml/temml.js').then(
    (module) => {
      temml = module.default;
      return temml;
    },
    () => {
      loading = null; // the next formula tries again
      return null;
    },
  );
  return loading;
};

const linesOf = (values) => formulaLines(resolved(values, catalog.value), catalog.value);

/** @param props.reference values that it is compared with: what is other is marked */
export function Formula({ values, reference }) {
  const lines = formulaOf(linesOf(values), reference && linesOf(reference));
  return (
    <div class="formula">
      {lines.map((tex) => (
        <TeX key={tex} tex={tex} />
      ))}
    </div>
  );
}

// All TeX is the page's own; classes are what it needs beyond the usual.
const isClass = ({ command }) => command === '\\class';

function whenIdle(act) {
  if (!globalThis.requestIdleCallback) {
    const timer = setTimeout(act, 100);
    return () => clearTimeout(timer);
  }
  const handle = requestIdleCallback(act, { timeout: 500 });
  return () => cancelIdleCallback(handle);
}

/** One line of TeX as MathML. */
export function TeX({ tex }) {
  const place = useRef(null);
  const [library, setLibrary] = useState(temml);
  useEffect(() => {
    if (library) return undefined;
    // After the charts, which a visitor looks at first.
    return whenIdle(() => load().then((loaded) => setLibrary(() => loaded)));
  }, [tex]);
  // Each in a task of its own: all of a block together would be a long one.
  useEffect(() => {
    if (!library) return undefined;
    const timer = setTimeout(() => {
      // It may just have left the page: what takes an effect back is called a frame later.
      if (place.current) library.render(tex, place.current, { throwOnError: false, trust: isClass });
    });
    return () => clearTimeout(timer);
  }, [library, tex]);
  return (
    <div class="tex" key={library === null} ref={place}>
      {library === null && <code>{tex.replaceAll('\\class{changed}', '')}</code>}
    </div>
  );
}
