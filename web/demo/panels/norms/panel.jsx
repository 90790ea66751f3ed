// The four steps of a norm, walked through on a small matrix, for five norms side by side.
import { panelResults, picks, state, text } from '../../session.js';
import { Gradually } from '../../shell/later.js';
import { addTexts } from '../../texts/index.js';
import { Cards } from './cards.jsx';
import { Editor, Examples, Settings, StepControl } from './editor.jsx';
import en from './en.js';
import { inputOf } from './job.js';
import { NORMS, takes, walk } from './steps.js';
import { BatchNormTable, CellTable } from './tables.jsx';
import zh from './zh.js';
import './style.css';

addTexts('norms', { en, zh });

export function Norms() {
  const t = text.value.norms;
  const { normMask } = picks;
  const input = takes(inputOf(state.value));
  const walks = Object.fromEntries(NORMS.map((name) => [name, walk(name, input, normMask)]));
  const { value } = panelResults.value.forward ?? {};
  // Results of another size belong to the matrix before.
  const isCurrent = value?.ways?.[0]?.y.length === input.data.length;
  const given = isCurrent ? value.norms : undefined;
  return (
    <section class="card norms" aria-labelledby="norms-title">
      <div>
        <h2 id="norms-title">{t.title}</h2>
        <p class="note">{t.note}</p>
      </div>
      <Gradually>
        <Examples />
        <div class="norms-top">
          <Editor />
          <Settings />
        </div>
        <StepControl />
        <Cards input={input} walks={walks} given={given} />
        <CellTable input={input} walks={walks} given={given} />
        <BatchNormTable input={input} ways={isCurrent ? value.ways : undefined} />
      </Gradually>
    </section>
  );
}
