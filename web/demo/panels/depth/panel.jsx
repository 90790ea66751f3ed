// Stacks of all configurations at their initialisation, block by block: gradients, stream and branches, measured over
// seeds and as theory predicts them.

import { ModuleError } from '../../parts/module-error.jsx';
import { panelResults, pictured, text } from '../../session.js';
import { Gradually } from '../../shell/later.js';
import { Controls } from './controls.jsx';
import { Lesson } from './lesson.jsx';
import { Picture, SmallPictures } from './pictures.jsx';
import { Faults, Summary } from './summary-table.jsx';
import './style.css';

export function DepthPanel() {
  const error = panelResults.value.depth?.error;
  const more = pictured.value; // what is below the large picture comes after it
  return (
    <>
      <Controls />
      {error && (
        <p class="error-text" role="alert">
          {text.value.run.failed} <ModuleError error={error} /> <code>{error.code}</code>
        </p>
      )}
      <Gradually>
        <Picture />
        {more && <SmallPictures />}
        {more && <Faults />}
        {more && <Summary />}
        {more && <Lesson />}
      </Gradually>
    </>
  );
}
