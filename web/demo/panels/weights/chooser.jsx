// Choosing a file or the example; what is wrong with a file stands here, and which file a link still needs.
import { useRef } from 'preact/hooks';
import { LETTERS } from '../../parts/configs.jsx';
import { TRAINED } from '../../presets.js';
import { picks, state, text, update } from '../../session.js';
import { openWeights, stopOpening } from './open-file.js';
import { opening, weightFiles, weightsError } from './opened.js';
import { isFull, needed, withTrained } from './subject.js';
import { errorText } from './words.js';

export function Chooser() {
  const t = text.value.weights;
  const { stop, space } = text.value.sign;
  const error = weightsError.value;
  return (
    <section class="weights-chooser" aria-label={t.choose}>
      <div class="controls">
        <Picker />
        <span class="labelled">
          <span class="caption">{t.examples}</span>
          {TRAINED.map((trained) => (
            <button
              key={trained.id}
              type="button"
              class="button small"
              disabled={isFull(state.value) && !picks.configs.some(({ weights }) => weights === trained.id)}
              onClick={() => update(withTrained(state.value, trained), `weights ${trained.id}`)}
            >
              {trained.name}
            </button>
          ))}
        </span>
        {opening.value && (
          <span class="note" role="status">
            {t.opening(opening.value.name)}{' '}
            <button type="button" class="button small" onClick={stopOpening}>
              {t.stop}
            </button>
          </span>
        )}
      </div>
      <p class="note">{[t.drop + stop.trim(), t.reads, t.privacy].join(space)}</p>
      {error && (
        <p class="error-text" id="weights-error" role="alert">
          {error.name}: {errorText(error)}
        </p>
      )}
    </section>
  );
}

function Picker() {
  const t = text.value.weights;
  const picker = useRef(null);
  const choose = (event) => {
    const [chosen] = event.target.files;
    event.target.value = '';
    if (chosen) openWeights(chosen);
  };
  return (
    <>
      <button type="button" class="button" onClick={() => picker.current.click()}>
        {t.choose}
      </button>
      <input
        ref={picker}
        hidden
        type="file"
        class="weights-picker"
        accept=".safetensors,.gguf,.onnx"
        onChange={choose}
      />
    </>
  );
}

/** Files that configurations of a link name. */
export function Needed() {
  const t = text.value.weights;
  const missing = needed(
    state.value,
    weightFiles.value.map(({ key }) => key),
  );
  return missing.map(({ file, indices }) => (
    <section class="card weights-needed" key={file} role="note">
      <p>
        {t.needed(
          indices.map((index) => LETTERS[index]),
          file,
        )}
      </p>
      <Picker />
    </section>
  ));
}
