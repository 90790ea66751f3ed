// Activations: function and derivative, what each block puts into its own, GELU's approximations, errors of float32.
import { BatchNote } from '../../parts/batch-note.jsx';
import { InputControl } from '../../parts/input-control.jsx';
import { ModuleError } from '../../parts/module-error.jsx';
import { picks, text } from '../../session.js';
import { addTexts } from '../../texts/index.js';
import { Chips, RangeControl } from './controls.jsx';
import { DerivativeChart, FunctionChart } from './curves.jsx';
import { DifferenceChart, DifferenceTable } from './differences.jsx';
import en from './en.js';
import { ErrorChart, ErrorTable } from './errors.jsx';
import { Formulas } from './formulas.jsx';
import { InputsTable } from './inputs.jsx';
import { currentView } from './view.js';
import zh from './zh.js';
import './style.css';

addTexts('activations', { en, zh });

export function ActivationsPanel() {
  const t = text.value;
  const a = t.activations;
  const view = currentView();
  return (
    <>
      <InputControl />
      <Chips />
      <RangeControl range={view.range} />
      {view.error && (
        <p class="error-text" role="alert">
          {t.run.failed} <ModuleError error={view.error} />
        </p>
      )}
      <div class="charts acts-charts">
        <FunctionChart view={view} />
        <DerivativeChart view={view} />
      </div>
      <p class="note">{a.zoomHint}</p>
      <InputsTable view={view} />
      <Formulas curves={view.curves} />
      <div class="charts">
        <DifferenceChart view={view} />
        <ErrorChart view={view} />
      </div>
      <ErrorTable view={view} />
      <DifferenceTable view={view} />
      <div class="explain">
        <p>
          {a.explain(String(picks.flat))}{' '}
          <a href="https://arxiv.org/abs/1903.06733" target="_blank" rel="noopener noreferrer">
            {t.forward.source(a.dying)}
          </a>
        </p>
        <p>{a.naive}</p>
        <BatchNote />
        <p class="note">{t.forward.method}</p>
      </div>
    </>
  );
}
