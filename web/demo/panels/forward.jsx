// What comes out of each block for the same input: distribution, size at every step, statistics.
import { explanations } from '../explain.js';
import { valuesOf } from '../fields.js';
import { BatchNote } from '../parts/batch-note.jsx';
import { LETTERS } from '../parts/configs.jsx';
import { Segmented } from '../parts/controls.jsx';
import { InputControl } from '../parts/input-control.jsx';
import { trainedOf } from '../presets.js';
import { catalog, file, keys, picks, results, set, text } from '../session.js';
import { Gradually } from '../shell/later.js';
import { SIGNALS } from '../state.js';
import { Histogram } from './forward/histogram.jsx';
import { Sizes } from './forward/sizes.jsx';
import { Statistics } from './forward/statistics.jsx';
import { Norms } from './norms/panel.jsx';

export function ForwardPanel() {
  const t = text.value;
  const { signal } = picks;
  return (
    <>
      <InputControl />
      <div class="controls">
        <Segmented
          label={t.forward.show}
          name="signal"
          value={signal}
          options={SIGNALS.map((id) => ({ id, text: t.signals[id] }))}
          onChange={(id) => set({ signal: id })}
        />
      </div>
      <Gradually>
        <div class="charts">
          <Histogram />
          <Sizes />
        </div>
        <Statistics />
        <Explanation />
        <Norms />
      </Gradually>
    </>
  );
}

function Explanation() {
  const t = text.value;
  const f = t.forward;
  const { configs, selected, seed } = picks;
  const values = configs.map((config) => valuesOf(config, catalog.value.fields));
  const trained = configs.map(({ weights }) => Boolean(trainedOf(weights)));
  const lettersOf = (indices) => indices.map((index) => LETTERS[index]).join(t.sign.list);
  const withTrained = trained.flatMap((own, index) => (own ? [index] : []));
  // A damaged link may name a placement that there is not.
  const measured = keys.value.map((key, index) =>
    results.value[index]?.key === key ? results.value[index].result : undefined,
  );
  const said = explanations(values, trained, selected, measured).filter(({ key }) => Object.hasOwn(f.placements, key));
  const sources = new Map(said.flatMap(({ source }) => (source ? [source] : [])));
  return (
    <div class="explain">
      <p>
        {file.value ? f.sameFile(seed) : f.sameSeed(seed)}
        {withTrained.length > 0 && f.trainedWeights(lettersOf(withTrained))}
        {said.map(({ letters, key, toOne }) => f.placements[key](lettersOf(letters), toOne)).join(t.sign.space)}{' '}
        {[...sources].map(([name, address], i) => (
          <>
            {i > 0 && ' · '}
            <a href={address} target="_blank" rel="noopener noreferrer">
              {f.source(name)}
            </a>
          </>
        ))}
      </p>
      <BatchNote />
      <p class="note">{f.method}</p>
    </div>
  );
}
