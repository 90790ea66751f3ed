// One picture a configuration, of what its model has learned so far.
import { ConfigName } from '../../parts/controls.jsx';
import { lookOf } from '../../parts/look.js';
import { errorWords } from '../../parts/module-error.jsx';
import { text } from '../../session.js';
import { order, pictures, runs, ticks } from './session.js';

/** The runs, in the configurations' order. */
export const ids = () => order.value.split(',').filter(Boolean).map(Number);

/** One picture a configuration, with the number of steps that it shows. */
export function Figures({ children }) {
  return (
    <div class="training-figures">
      {ids().map((id, index) => (
        <figure key={id} class={lookOf(index)}>
          {children(id, index)}
          <figcaption>
            <ConfigName index={index} /> <Shown id={id} />
          </figcaption>
        </figure>
      ))}
    </div>
  );
}

/** "step 120", and what failed if it did. */
export function Shown({ id }) {
  ticks.pictures.value;
  const t = text.value.training;
  const picture = pictures.peek().get(id);
  if (picture?.error) return <small class="error-text">{errorWords(picture.error)}</small>;
  const failed = runs.peek().find((run) => run.id === id)?.status === 'failed';
  return <small>{picture ? t.atStep(picture.step) : failed ? '–' : '…'}</small>;
}

/** The last measure of a run on the held-out data. */
export const reached = (id) =>
  runs
    .peek()
    .find((run) => run.id === id)
    ?.tests.at(-1)?.[1] ?? null;
