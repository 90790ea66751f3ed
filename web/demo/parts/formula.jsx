// The block's formula in MathML, put together from the TeX that the module gives for placement, norm and activation.
import { useEffect, useRef, useState } from 'preact/hooks';
import { catalog, text } from '../session.js';

let temml; // loaded when a formula is first drawn: it is the largest library here

const find = (list, name) => list.find((entry) => entry.name === name);

/** Lines of TeX: the block, then what its letters mean. */
export function formulaOf(values, { placements, norms, activations }) {
  const placement = find(placements, values.placement)?.formula ?? '';
  const norm = find(norms, values.norm);
  const activation = find(activations, values.activation);
  const inner = values.bias ? (matrix, bias, of) => `${matrix} ${of} + ${bias}` : (matrix, _, of) => `${matrix} ${of}`;
  const up = inner('W_1', 'b_1', 'x');
  const hidden = values.gated ? 'h' : `\\varphi(${up})`;
  const lines = [
    `y = ${values.residual ? placement : withoutStream(placement)}`,
    `\\mathrm{F}(x) = ${inner('W_2', 'b_2', `\\,${hidden}`)}`,
    ...(values.gated ? [`h = \\varphi(${inner('W_g', 'b_g', 'x')}) \\odot (${up})`] : []),
    `\\varphi(x) = ${activation?.formula ?? ''}`,
  ];
  const hasNorm = placement.includes('mathrm{N}') && values.norm !== 'none';
  if (hasNorm) lines.push(`\\mathrm{N}(x) = ${norm?.formula ?? ''}`);
  return lines;
}

// Without the residual the block is its branch alone.
const withoutStream = (formula) => formula.replace(/(\\alpha )?x \+ /, '');

export function Formula({ values }) {
  const t = text.value;
  const lines = formulaOf(values, catalog.value);
  return (
    <section class="formula" aria-label={t.wiring.formula}>
      {lines.map((tex) => (
        <TeX key={tex} tex={tex} />
      ))}
    </section>
  );
}

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
    return whenIdle(() => {
      import('temml').then((module) => {
        temml = module.default;
        setLibrary(() => temml);
      });
    });
  }, [library]);
  useEffect(() => {
    if (library) library.render(tex, place.current, { throwOnError: false });
  }, [library, tex]);
  return <div class="tex" ref={place} />;
}
