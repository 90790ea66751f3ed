// All blocks beside each other: drawing and formula.
import { valuesOf } from '../fields.js';
import { lookOf, summaryOf } from '../parts/configs.jsx';
import { ConfigName } from '../parts/controls.jsx';
import { Formula } from '../parts/formula.jsx';
import { Wiring } from '../parts/wiring.jsx';
import { catalog, results, set, state, text } from '../session.js';

export function WiringPanel({ onEdit }) {
  const t = text.value;
  const { configs, selected } = state.value;
  return (
    <>
      <div class="wirings">
        {configs.map((config, index) => {
          const values = valuesOf(config, catalog.value.fields);
          const edit = (field) => {
            set({ selected: index });
            onEdit(field);
          };
          return (
            <section
              key={index}
              class={`card ${lookOf(index)} ${index === selected ? 'current' : ''}`}
              aria-label={t.wiring.drawing(config.name)}
            >
              <h2>
                <ConfigName index={index} />
              </h2>
              <p class="note">{summaryOf(config)}</p>
              <Wiring values={values} stages={results.value[index]?.result?.stages} name={config.name} onEdit={edit} />
              <Formula values={values} />
            </section>
          );
        })}
      </div>
      <div class="explain">
        <p>
          {t.wiring.explain} {t.wiring.where}
        </p>
        <p class="note">{t.wiring.click}</p>
      </div>
    </>
  );
}
