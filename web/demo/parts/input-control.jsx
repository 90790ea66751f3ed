// Where the numbers come from: seeded, or a file. Errors about the file stand here.
import { useRef } from 'preact/hooks';
import { dropFile, file, fileError, openFile, picks, set, text } from '../session.js';
import { LabelledNumber } from './controls.jsx';

const MAX_ROWS = 4096;
// 1, 2, 3, 4, 6, 8, 12, ... 4096 by position
const rowsSlider = {
  to: (rows) => Math.round((100 * Math.log2(Math.min(rows, MAX_ROWS))) / Math.log2(MAX_ROWS)),
  from: (position) => {
    const rows = 2 ** ((position / 100) * Math.log2(MAX_ROWS));
    const step = Math.max(1, 2 ** (Math.floor(Math.log2(rows)) - 2));
    return Math.round(rows / step) * step;
  },
};

export function InputControl() {
  const t = text.value;
  const { rows, seed, inputMean, inputStd } = picks;
  const picker = useRef(null);
  const error = fileError.value;
  const choose = async (event) => {
    const [chosen] = event.target.files;
    event.target.value = '';
    if (chosen) await openFile(chosen);
  };
  return (
    <div class="input-control">
      <div class="controls">
        {file.value ? (
          <span class="labelled">
            <span class="caption">{t.input.title}</span>
            <span class="file-chip">
              {file.value.name} <small>{file.value.shape.join(' × ')}</small>
              <button type="button" class="quiet" aria-label={t.input.remove} title={t.input.remove} onClick={dropFile}>
                ✕
              </button>
            </span>
          </span>
        ) : (
          <>
            <LabelledNumber
              id="rows"
              label={t.input.rows}
              value={rows}
              min={1}
              max={65536}
              integer
              slider={rowsSlider}
              onChange={(value) => set({ rows: value }, 'rows')}
            />
            <LabelledNumber
              id="input-mean"
              label={t.input.mean}
              value={inputMean}
              min={-1e6}
              max={1e6}
              onChange={(value) => set({ inputMean: value }, 'mean')}
            />
            <LabelledNumber
              id="input-std"
              label={t.input.std}
              value={inputStd}
              min={0}
              max={1e6}
              onChange={(value) => set({ inputStd: value }, 'std')}
            />
          </>
        )}
        <span class="labelled">
          <LabelledNumber
            id="seed"
            label={t.input.seed}
            value={seed}
            min={0}
            max={0xffffffff}
            integer
            onChange={(value) => set({ seed: value }, 'seed')}
          />
          <button
            type="button"
            class="quiet icon"
            aria-label={t.input.newSeed}
            title={t.input.newSeed}
            onClick={() => set({ seed: (seed + 1) % 0x100000000 }, 'seed')}
          >
            <svg viewBox="0 0 16 16" aria-hidden="true">
              <path d="M13 6.5A5.3 5.3 0 0 0 3.5 5M3 9.5A5.3 5.3 0 0 0 12.5 11M3.5 2v3h3M12.5 14v-3h-3" />
            </svg>
          </button>
        </span>
        <button type="button" class="button small" title={t.input.hint} onClick={() => picker.current.click()}>
          {t.input.choose}
        </button>
        <input ref={picker} hidden type="file" accept=".npy,.json,.csv,.tsv,.txt" onChange={choose} />
      </div>
      {error && (
        <p class="error-text" id="input-error" role="alert">
          {error.name}: {(t.inputErrors[error.code] ?? t.inputErrors.READ)(error.detail)}
        </p>
      )}
    </div>
  );
}
