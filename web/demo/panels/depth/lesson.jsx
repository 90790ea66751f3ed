// What is to be seen, in two sentences with their sources, and how it was measured and predicted.
import { useEffect } from 'preact/hooks';
import { number } from '../../format.js';
import { LETTERS } from '../../parts/look.js';
import { trainedOf } from '../../presets.js';
import { announcement, picks, set, text } from '../../session.js';
import { seedOf } from './job.js';
import { lessons, noteKey } from './summary.js';
import { entries, figures, finished, gradient, job } from './view.js';

const PAPERS = [
  ['Schoenholz et al. 2017', 'https://arxiv.org/abs/1611.01232'],
  ['Yang and Schoenholz 2017', 'https://arxiv.org/abs/1712.08969'],
];

const lettersOf = (indices) => indices.map((index) => LETTERS[index]).join(text.value.sign.list);

const Link = ({ paper: [name, address] }) => (
  <a href={address} target="_blank" rel="noopener noreferrer">
    {name}
  </a>
);

export function Lesson() {
  const t = text.value;
  const list = entries.value ?? [];
  const said = lessons(list, figures.value, picks.selected, gradient.value);
  const words = said.map(sentence).join(t.sign.space);
  // Aloud once, and not with every seed that comes.
  useEffect(() => {
    if (finished.value) announcement.value = words;
  }, [finished.value, words]);
  if (list.length === 0) return null;
  const sources = [...new Map(said.map(({ source }) => source)).entries()];
  return (
    <div class="explain">
      <p>{words}</p>
      <p>
        {sources.map((paper, i) => (
          <>
            {i > 0 && ' · '}
            <Link key={paper[0]} paper={paper} />
          </>
        ))}
      </p>
      <Trial list={list} />
      <Method list={list} />
    </div>
  );
}

function sentence({ indices, wiring, topic, mixing, course }) {
  const d = text.value.depth;
  const { show, matrix } = gradient.value;
  const { ratio, growth } = figures.value[indices[0]];
  const symbol = show === 'weights' ? d.symbols[matrix] : 'x';
  const what = d.course[course](ratio ? number(ratio.median) : '');
  const because = course === 'zero' ? d.zeroBecause : course === 'unknown' ? '' : reason(topic, mixing, course, growth);
  return d.lesson(lettersOf(indices), d.wirings[wiring], symbol, what, because);
}

function reason(topic, mixing, course, growth) {
  const { because } = text.value.depth;
  if (topic === 'post')
    return { none: because.post, mean: because.postMean, attention: because.postAttention }[mixing][course];
  return because[topic](growth ? number(growth.median) : '');
}

// One click to the other half of the truth about Post-Norm.
function Trial({ list }) {
  const d = text.value.depth;
  const post = list.filter(({ config }) => config.placement === 'post' && config.residual);
  if (post.length === 0) return null;
  const mixes = post.some(({ config }) => config.mixing !== 'none');
  const patch = mixes ? { depthMixing: 'none' } : { depthMixing: 'mean', depthShow: 'weights', depthMatrix: 'up' };
  return (
    <p>
      <button type="button" class="link depth-try" onClick={() => set(patch, 'depthMixing')}>
        {mixes ? d.tryNoMixing : d.tryMixing}
      </button>
    </p>
  );
}

function Method({ list }) {
  const t = text.value;
  const d = t.depth;
  const { sequences, length, seeds, asked } = job.value;
  const from = seedOf(job.value, 0);
  return (
    <>
      <p class="note">{d.method(d.seedsOf(from, seedOf(job.value, seeds - 1)), sequences, length)}</p>
      {asked.sequences * asked.length > sequences * length && (
        <p class="note">{d.fewerTokens(sequences * length, asked.sequences * asked.length)}</p>
      )}
      {remarks(list).map((remark) => (
        <p key={remark} class="note">
          {remark}
        </p>
      ))}
      <p class="note">
        {d.theoryMethod}{' '}
        {PAPERS.map((paper, i) => (
          <>
            {i > 0 && t.sign.list}
            <Link key={paper[0]} paper={paper} />
          </>
        ))}
      </p>
    </>
  );
}

/** What differs from the configurations as they are, and what theory says beside its curves. */
function remarks(list) {
  const { depth: d } = text.value;
  const groups = new Map();
  const say = (key, index) => groups.set(key, [...(groups.get(key) ?? []), index]);
  const size = ({ d_model, d_ff }) => `${d_model} × ${d_ff}`;
  const made = new Map();
  const remark = (key, index, make) => {
    say(key, index);
    made.set(key, make);
  };
  for (const entry of list) {
    const { index, full, rescaled, held, theory } = entry;
    if (size(entry) !== size(full))
      remark(`${size(full)}`, index, (letters) => d.reduced(letters, size(full), size(entry)));
    if (held) remark('held', index, (letters) => d.held(letters, entry.config.init_std));
    else if (rescaled) remark('std', index, d.rescaled);
    if (trainedOf(picks.configs[index]?.weights)) remark('trained', index, d.untrained);
    for (const note of theory?.notes ?? []) {
      const key = noteKey(note);
      if (key === 'wide') continue; // it holds for all, and stands with the papers
      const words = key ? d.theoryNotes[key] : note;
      const wrap = theory.supported ? d.theoryNote : d.noPrediction;
      remark(`theory ${note}`, index, (letters) => wrap(letters, words));
    }
  }
  return [...groups].map(([key, indices]) => made.get(key)(lettersOf(indices)));
}
