// Trained weights: of a file that the visitor has, or of the example that comes with the page. What they look like, how
// often the hidden units are active, and what becomes of the output when the block around them is wired otherwise.
import { BatchNote } from '../../parts/batch-note.jsx';
import { InputControl } from '../../parts/input-control.jsx';
import { catalog, panelResults, state, text } from '../../session.js';
import { ActivityChart } from './activity.jsx';
import { Chooser, Needed } from './chooser.jsx';
import { Compare } from './compare.jsx';
import { FileCard } from './file-card.jsx';
import { weightFiles } from './opened.js';
import { subjectOf } from './subject.js';
import { Figures, WeightsChart } from './weights-chart.jsx';
import { errorText } from './words.js';
import './style.css';

export function WeightsPanel() {
  const t = text.value.weights;
  const subject = subjectOf(state.value);
  const { value, error } = panelResults.value.weights ?? {};
  // What is there may be of the weights that were shown before.
  const result = value?.of === subject.trained.file ? value : {};
  const given = { subject, result };
  return (
    <>
      <Chooser />
      <Needed />
      {weightFiles.value.map((file, i) => (
        <FileCard key={file.key} file={file} newest={i === 0} />
      ))}
      <InputControl />
      {error && (
        <p class="error-text" role="alert">
          {errorText(error)} <code>{error.code}</code>
        </p>
      )}
      <Compare {...given} />
      <div class="charts">
        <WeightsChart {...given} />
        <ActivityChart {...given} fields={catalog.value.fields} />
      </div>
      <Figures {...given} />
      <div class="explain">
        <p>
          {t.explain}
          {text.value.sign.space}
          {t.sources}
          <a href="https://arxiv.org/abs/2208.07339" target="_blank" rel="noopener noreferrer">
            {text.value.forward.source('Dettmers et al. 2022')}
          </a>
        </p>
        <BatchNote />
        <p class="note">{text.value.forward.method}</p>
      </div>
    </>
  );
}
