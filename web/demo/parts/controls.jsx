// Small controls that panels share.
import { picks, text } from '../session.js';
import { Letter, lookOf } from './configs.jsx';
import { TypedNumber } from './field.jsx';
import { Marker } from './marker.jsx';

/** One choice of a few, as radio buttons in one bar. */
export function Segmented({ label, hint, name, options, value, onChange }) {
  return (
    <fieldset class="segmented" title={hint}>
      <legend>{label}</legend>
      <span>
        {options.map(({ id, text: label, disabled, title }) => (
          <label key={id} title={title} class={disabled ? 'disabled' : ''}>
            <input
              type="radio"
              name={name}
              value={id}
              checked={id === value}
              disabled={disabled}
              onChange={() => onChange(id)}
            />
            <span>{label}</span>
          </label>
        ))}
      </span>
    </fieldset>
  );
}

/** A number with its label; a slider before it where one is given by position functions, from 0 to 100 or min to max. */
export function LabelledNumber({ id, label, hint, value, min, max, integer, onChange, slider }) {
  const t = text.value;
  const commit = (typed) => {
    const next = Number(typed.trim().replace('\u2212', '-'));
    if (typed.trim() === '' || !Number.isFinite(next)) return false;
    onChange(Math.min(max, Math.max(min, integer ? Math.round(next) : next)));
    return true;
  };
  return (
    <span class="labelled" title={hint}>
      <label for={id}>{label}</label>
      {slider ? (
        <>
          <input
            type="range"
            id={id}
            min={slider.min ?? 0}
            max={slider.max ?? 100}
            value={slider.to(value)}
            aria-valuetext={String(value)}
            onInput={(event) => onChange(slider.from(event.target.valueAsNumber))}
          />
          <TypedNumber label={t.inspector.typed(label)} value={String(value)} onCommit={commit} />
        </>
      ) : (
        <TypedNumber id={id} label={label} value={String(value)} onCommit={commit} />
      )}
    </span>
  );
}

/** Letter, marker colour and name of a configuration, as it stands in tables. */
export const ConfigName = ({ index }) => (
  <span class={`config-name ${lookOf(index)}`}>
    <Marker index={index} />
    <Letter index={index} /> {picks.configs[index]?.name}
  </span>
);
