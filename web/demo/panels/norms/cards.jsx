// The five norms side by side: at the chosen step every cell's value, in the colour of the group that it shares it with.
import { number } from '../../format.js';
import { normName } from '../../parts/configs.jsx';
import { TeX } from '../../parts/formula.jsx';
import { ModuleError } from '../../parts/module-error.jsx';
import { catalog, picks, text } from '../../session.js';
import { cell, looking } from './cell.js';

const COLORS = 8;

/** @param walks by norm, what walk() gives @param given by norm, what the package gives, or undefined */
export function Cards({ input, walks, given }) {
  const t = text.value.norms;
  const { normStep } = picks;
  return (
    <>
      <p class="note norms-step">{t.stepNote[normStep]}</p>
      <div class="norms-cards" style={{ '--d': input.d }} {...looking}>
        {Object.entries(walks).map(([name, walked]) => (
          <Card key={name} name={name} input={input} walked={walked} given={given?.[name]} step={normStep} />
        ))}
      </div>
      <NoSpread walks={walks} />
    </>
  );
}

// Without spread what is left is the bias.
function NoSpread({ walks }) {
  const t = text.value;
  const flat = Object.keys(walks).filter((name) => walks[name].stats.some((group) => group?.variance === 0));
  return flat.length > 0 && <p class="note norms-note">{t.norms.noSpread(flat.map(normName).join(t.sign.list))}</p>;
}

// What a cell shows at a step; at the last one what the package has computed.
function valuesAt(step, name, { groups, stats, normalised }, given) {
  const ofGroup = (key) => groups.map((group) => (group < 0 ? null : stats[group][key]));
  if (step === 'mean') return name === 'rms_norm' ? groups.map(() => null) : ofGroup('mean');
  if (step === 'variance') return ofGroup('variance');
  if (step === 'normalise') return normalised.map((value, i) => (groups[i] < 0 ? null : value));
  return given?.y ? Array.from(given.y) : groups.map(() => undefined);
}

function Card({ name, input, walked, given, step }) {
  const t = text.value.norms;
  const { b, l, d, padding } = input;
  const { groups, stats } = walked;
  const values = valuesAt(step, name, walked, given);
  const here = groups[cell.value];
  const norm = catalog.value.norms.find((other) => other.name === name);
  return (
    <section class="norms-card" aria-labelledby={`norms-${name}`}>
      <h3 id={`norms-${name}`}>{normName(name)}</h3>
      <p class="note">{t.shares[name](stats.filter(Boolean).length)}</p>
      {given?.error ? (
        <p class="error-text" role="alert">
          <ModuleError error={given.error} />
        </p>
      ) : (
        <table class="norms-matrix" aria-label={t.cardLabel(normName(name), t.steps[step])}>
          {Array.from({ length: b }, (_, s) => (
            <tbody key={s}>
              {Array.from({ length: l }, (_, token) => (
                <tr key={token}>
                  {Array.from({ length: d }, (_, c) => {
                    const at = (s * l + token) * d + c;
                    return (
                      <td key={c} data-cell={at} class={lookOfCell(groups[at], padding[s * l + token], here, at)}>
                        {values[at] === undefined ? '…' : number(values[at])}
                      </td>
                    );
                  })}
                </tr>
              ))}
            </tbody>
          ))}
        </table>
      )}
      <TeX tex={norm.formula} />
    </section>
  );
}

const lookOfCell = (group, isPadding, here, at) =>
  [
    group < 0 ? 'norms-out' : `norms-g${group % COLORS}`,
    isPadding && 'norms-padding',
    group >= 0 && group === here && 'norms-shared',
    at === cell.value && 'norms-here',
  ]
    .filter(Boolean)
    .join(' ');
