// The selected configuration: its drawing, preset, weights, and a control for every field.
import { useComputed } from '@preact/signals';
import { automatic, differences, drawnOf, GROUPS, matchingWidth, noEffect, valuesOf } from '../fields.js';
import { counterpart, PRESET_GROUPS, PRESETS, presetOf, TRAINED, trainedOf } from '../presets.js';
import { catalog, picks, results, set, state, text, update } from '../session.js';
import { Staged, useLate, useLater } from '../shell/later.js';
import { editConfig, editField } from '../state.js';
import { Source } from './add-dialog.jsx';
import { ConfigActions } from './config-menu.jsx';
import { ConfigError, EqualParameters, LETTERS, lookOf } from './configs.jsx';
import { Field, labelOf } from './field.jsx';
import { Formula } from './formula.jsx';
import { ModuleError } from './module-error.jsx';
import { Wiring } from './wiring.jsx';

const selection = () => ({ configs: picks.configs, selected: picks.selected });

export function Inspector({ onEdit, withActions }) {
  const t = text.value;
  const { onlyDifferent } = picks;
  // The list shows at once which is selected and what it is; the many fields follow.
  const { configs, selected } = useLate(selection);
  const config = configs[selected];
  const { fields } = catalog.value;
  const complete = useLater(true); // the many fields after the drawing
  const values = valuesOf(config, fields);
  const drawn = drawnOf(config, fields);
  // Not for every other news of a run.
  const result = useComputed(() => results.value[selected]?.result).value;
  const error = useComputed(() => results.value[selected]?.error).value;
  const differs = selected === 0 ? new Set() : differences(configs[0], config, fields);
  const shown = onlyDifferent
    ? new Set(configs.slice(1).flatMap((other) => [...differences(configs[0], other, fields)]))
    : new Set(fields.map(({ name }) => name));
  const faulty = /^config\.(\w+):/.exec(error?.message ?? '')?.[1];
  // In the sheet of a phone the fields come first.
  const drawing = (
    <div class={`inspector-drawing ${lookOf(selected)}`}>
      <h3>{t.inspector.wiringOf(LETTERS[selected])}</h3>
      <Wiring values={drawn} stages={result?.stages} name={config.name} onEdit={onEdit} compact />
      <Formula values={drawn} />
    </div>
  );
  // The configuration's colour is given to what shows it: a change of it on the whole would restyle each of the many options.
  return (
    <section class="inspector" aria-label={t.configs.edit(LETTERS[selected])}>
      {withActions && (
        <>
          <h2>
            <b class={`letter ${lookOf(selected)}`}>{LETTERS[selected]}</b> {config.name}
          </h2>
          <ConfigActions />
          {error && <ConfigError error={error} />}
        </>
      )}
      {!withActions && drawing}
      <PresetField index={selected} config={config} />
      <WeightsField index={selected} config={config} seeded={result?.seeded} />
      {configs.length > 1 && (
        <label class="check">
          <input
            type="checkbox"
            checked={onlyDifferent}
            onChange={(event) => set({ onlyDifferent: event.target.checked })}
          />
          {t.configs.onlyDifferent}
        </label>
      )}
      {withActions && <EqualParameters />}
      {onlyDifferent && shown.size === 0 && <p class="note">{t.configs.nothingDiffers}</p>}
      {complete &&
        GROUPS.map((group) => (
          <Staged key={group}>
            <Group
              group={group}
              fields={fields.filter((field) => field.group === group && shown.has(field.name))}
              {...{ config, index: selected, values, differs, faulty, error }}
            />
          </Staged>
        ))}
      {withActions && drawing}
    </section>
  );
}

function Group({ group, fields, config, index, values, differs, faulty, error }) {
  const t = text.value;
  const trained = Boolean(trainedOf(config.weights));
  const { panel } = picks;
  const reasons = new Map(fields.map(({ name }) => [name, noEffect(name, values, catalog.value, trained, panel)]));
  const active = fields.filter(({ name }) => !reasons.get(name));
  const idle = fields.filter(({ name }) => reasons.get(name));
  if (fields.length === 0) return null;
  const control = (field) => (
    <Field
      key={field.name}
      {...{ field, index, values }}
      resolved={automatic(field.name, values, catalog.value)}
      differs={differs.has(field.name)}
      error={faulty === field.name ? <ModuleError error={error} /> : undefined}
      reason={t.noEffect[reasons.get(field.name)]}
    />
  );
  return (
    <fieldset class="group">
      <legend>{t.groups[group] ?? group}</legend>
      {active.map(control)}
      {group === 'size' && <EqualWeights {...{ config, index, values, fields }} />}
      {idle.length > 0 && (
        <details class="idle">
          <summary>{t.inspector.idle(idle.map((field) => labelOf(field, values)))}</summary>
          {idle.map(control)}
        </details>
      )}
    </fieldset>
  );
}

// GELU against SwiGLU is a fair comparison at equal weights.
function EqualWeights({ config, index, values, fields }) {
  const t = text.value;
  const field = fields.find(({ name }) => name === 'd_ff');
  if (index === 0 || !field || trainedOf(config.weights)) return null;
  const width = matchingWidth(valuesOf(picks.configs[0], catalog.value.fields), values);
  if (width === undefined || width < field.min || width > field.max) return null;
  return (
    <p class="note">
      <button
        type="button"
        class="link"
        onClick={() => update(editField(state.value, index, 'd_ff', width), `${index} d_ff`)}
      >
        {t.inspector.equalWeights(width)}
      </button>
    </p>
  );
}

function PresetField({ index, config }) {
  const t = text.value;
  const preset = presetOf(config.preset);
  const other = counterpart(config.preset);
  const changed = Object.keys(config.values).length;
  const choose = (id) => {
    const next = presetOf(id);
    const patch = { preset: next ? id : '', weights: '', values: {} };
    update(editConfig(state.value, index, next ? { ...patch, name: next.name } : patch), `preset ${index}`);
  };
  return (
    <div class="field choice">
      <span class="field-label">
        <label for="preset">{t.inspector.preset}</label>
      </span>
      <span class="control">
        <select id="preset" value={preset?.of ?? config.preset} onChange={(event) => choose(event.target.value)}>
          <option value="">{t.inspector.noPreset}</option>
          {PRESET_GROUPS.map((group) => (
            <optgroup key={group} label={t.dialog[group]}>
              {PRESETS.filter((entry) => entry.group === group).map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </optgroup>
          ))}
        </select>
      </span>
      <p class="note">
        {config.preset && !preset && t.inspector.unknownPreset(config.preset)}
        {preset?.omits.length > 0 && `${t.dialog.leavesOut}${omitsText(preset.omits)}${t.sign.stop}`}
        {preset?.of && preset.omits.length === 0 && `${t.dialog.complete} `}
        {preset && (
          <>
            {t.inspector.source}
            <Source of={preset} />
            {t.sign.stop}
          </>
        )}
        {changed > 0 && (
          <>
            {t.inspector.presetModified(changed)}
            {t.sign.stop}
            <button
              type="button"
              class="link"
              onClick={() => update(editConfig(state.value, index, { values: {} }), 'reset all')}
            >
              {t.inspector.resetAll}
            </button>
          </>
        )}
      </p>
      {other && (
        <p class="with-attention">
          <label class="check">
            <input type="checkbox" checked={Boolean(preset.of)} onChange={() => choose(other.id)} />
            {t.inspector.attention}
          </label>
        </p>
      )}
    </div>
  );
}

/** What a preset leaves out, as one phrase. */
export const omitsText = (omits) => omits.map((key) => text.value.omits[key]).join(text.value.sign.list);

function WeightsField({ index, config, seeded }) {
  const t = text.value;
  const trained = trainedOf(config.weights);
  const choose = (id) => {
    const next = trainedOf(id);
    // The trained block brings its own norm, activation and placement: edits of these start anew.
    const patch = next ? { weights: id, preset: '', values: {}, name: next.name } : { weights: '' };
    update(editConfig(state.value, index, patch), `weights ${index}`);
  };
  return (
    <div class="field choice">
      <span class="field-label">
        <label for="weights">{t.inspector.weights}</label>
      </span>
      <span class="control">
        <select id="weights" value={config.weights} onChange={(event) => choose(event.target.value)}>
          <option value="">{t.inspector.seeded}</option>
          {trained?.source && <option value={config.weights}>{trained.name}</option>}
          {TRAINED.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      </span>
      {trained && (
        <p class="note">
          {t.dialog.leavesOut}
          {omitsText(trained.omits)}
          {t.sign.stop}
          {seeded?.length > 0 && t.inspector.seededToo(seeded.join(t.sign.list))}
        </p>
      )}
    </div>
  );
}
