// What the Training panel asks for: the run itself, and its settings.
import { TypedNumber } from '../../parts/field.jsx';
import { picks, set, text } from '../../session.js';
import { pause, phase, reset, start, step, task } from './session.js';
import { OPTIMIZERS, RECIPES, SCHEDULES, SPEEDS, TASKS, TRAINING_PROPS } from './state.js';

const propOf = (name) => TRAINING_PROPS.find((prop) => prop.name === name);

/** What a setting is under the task's own recipe. */
const recommended = (name) => RECIPES[picks.trainTask][name] ?? propOf(name).initial;

export function RunControls({ open, onToggle }) {
  const t = text.value.training;
  return (
    <div class="training-run">
      <TaskChoice />
      <Buttons />
      <label class="labelled" title={t.speedHint}>
        <span class="caption">{t.speed}</span>
        <select
          class="training-select"
          id="train-speed"
          value={picks.trainSpeed}
          onChange={(event) => set({ trainSpeed: event.target.value })}
        >
          {SPEEDS.map((speed) => (
            <option key={speed} value={String(speed)}>
              {t.speeds(speed)}
            </option>
          ))}
        </select>
      </label>
      <button
        type="button"
        class="quiet small training-toggle"
        aria-expanded={open}
        aria-controls="training-settings"
        onClick={onToggle}
      >
        {t.settings} {open ? '▴' : '▾'}
      </button>
    </div>
  );
}

function Buttons() {
  const t = text.value.training;
  const running = ['running', 'loading'].includes(phase.value);
  const over = ['done', 'away'].includes(phase.value);
  return (
    <span class="training-buttons">
      <button type="button" class="button training-start" disabled={over} onClick={running ? pause : start}>
        {running ? <Pause /> : <Play />}
        {running ? t.pause : t.start}
      </button>
      <button type="button" class="button" disabled={phase.value !== 'paused'} title={t.stepHint} onClick={step}>
        {t.step}
      </button>
      <button type="button" class="button" title={t.resetHint} onClick={reset}>
        {t.reset}
      </button>
    </span>
  );
}

const Play = () => (
  <svg viewBox="0 0 16 16" aria-hidden="true">
    <path d="M4 2.5v11l9-5.5z" />
  </svg>
);
const Pause = () => (
  <svg viewBox="0 0 16 16" aria-hidden="true">
    <path d="M3.5 2.5h3v11h-3zM9.5 2.5h3v11h-3z" />
  </svg>
);

function TaskChoice() {
  const t = text.value.training;
  const { trainTask } = picks;
  return (
    <label class="labelled" title={t.taskHelp[trainTask]}>
      <span class="caption">{t.task}</span>
      <select
        class="training-select"
        id="train-task"
        value={trainTask}
        onChange={({ target: { value } }) => set({ trainTask: value, ...RECIPES[value] }, 'trainTask')}
      >
        {TASKS.map((name) => (
          <option key={name} value={name}>
            {t.tasks[name]}
          </option>
        ))}
      </select>
    </label>
  );
}

export function Settings() {
  const t = text.value.training;
  const names = TRAINING_PROPS.filter(({ view }) => !view).map(({ name }) => name);
  const changed = names.filter((name) => name !== 'trainTask' && picks[name] !== recommended(name));
  return (
    <section class="training-settings" id="training-settings" aria-label={t.settings}>
      <div class="training-knobs">
        <Choice name="trainOptimizer" options={OPTIMIZERS} texts={t.optimizers} />
        <Knob name="trainRate" />
        <Knob name="trainWarmup" />
        <Choice name="trainSchedule" options={SCHEDULES} texts={t.schedules} />
        <Knob name="trainClip" />
        <Knob name="trainDecay" />
        <Knob name="trainBatch" note={reducedBatch()} />
        <Knob name="trainDepth" />
        <Knob name="trainWidth" />
        <Knob name="trainSteps" />
        <SeedKnob />
      </div>
      {changed.length > 1 && (
        <button
          type="button"
          class="link training-restore"
          onClick={() => set(Object.fromEntries(changed.map((name) => [name, recommended(name)])), 'train settings')}
        >
          {t.resetSettings}
        </button>
      )}
    </section>
  );
}

// Where the page takes fewer samples than asked for.
function reducedBatch() {
  const { batch } = task.value ?? {};
  return batch !== undefined && batch < picks.trainBatch ? text.value.training.reduced(batch) : null;
}

function Frame({ id, name, label, hint, note, children }) {
  const t = text.value;
  const changed = name && picks[name] !== recommended(name);
  return (
    <span class="training-knob" title={hint}>
      <span class="training-label">
        <label for={id}>{label}</label>
        {changed && (
          <button
            type="button"
            class="reset"
            aria-label={t.inspector.reset(label)}
            title={t.inspector.reset(label)}
            onClick={() => set({ [name]: recommended(name) }, `${name} reset`)}
          >
            <svg viewBox="0 0 16 16" aria-hidden="true">
              <path d="M3.5 8a4.5 4.5 0 1 0 1.5-3.3M5 2v3h3" />
            </svg>
          </button>
        )}
      </span>
      {children}
      <span class="visually-hidden" id={`${id}-help`}>
        {hint}
      </span>
      {note && <small class="note">{note}</small>}
    </span>
  );
}

function Knob({ name, note }) {
  const t = text.value.training;
  const [label, hint] = t.knobs[name];
  const { min, max, whole } = propOf(name).type;
  const id = `train-${name.slice(5).toLowerCase()}`;
  return (
    <Frame id={id} name={name} label={label} hint={hint} note={note}>
      <Typed
        id={id}
        label={label}
        value={picks[name]}
        {...{ min, max, whole }}
        onChange={(value) => set({ [name]: value }, name)}
      />
    </Frame>
  );
}

function SeedKnob() {
  const t = text.value;
  return (
    <Frame id="seed" label={t.input.seed} hint={t.training.seedHint}>
      <Typed
        id="seed"
        label={t.input.seed}
        value={picks.seed}
        min={0}
        max={0xffffffff}
        whole
        onChange={(value) => set({ seed: value }, 'seed')}
      />
    </Frame>
  );
}

// What is out of range comes to its end; what is no number stays in the field until it is one.
function Typed({ id, label, value, min, max, whole, onChange }) {
  const commit = (typed) => {
    const number = Number(typed.trim().replace('\u2212', '-'));
    if (typed.trim() === '' || !Number.isFinite(number)) return false;
    onChange(Math.min(max, Math.max(min, whole ? Math.round(number) : number)));
    return true;
  };
  return <TypedNumber id={id} label={label} describedBy={`${id}-help`} value={String(value)} onCommit={commit} />;
}

function Choice({ name, options, texts }) {
  const t = text.value.training;
  const [label, hint] = t.knobs[name];
  const id = `train-${name.slice(5).toLowerCase()}`;
  return (
    <Frame id={id} name={name} label={label} hint={hint}>
      <select
        class="training-select"
        id={id}
        aria-describedby={`${id}-help`}
        value={picks[name]}
        onChange={(event) => set({ [name]: event.target.value }, name)}
      >
        {options.map((option) => (
          <option key={option} value={option}>
            {texts[option]}
          </option>
        ))}
      </select>
    </Frame>
  );
}
