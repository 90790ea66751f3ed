// Answers to held-out questions, and text that the models write.
import { nameOf } from '../../parts/chart.jsx';
import { ConfigName } from '../../parts/controls.jsx';
import { lookOf } from '../../parts/look.js';
import { text } from '../../session.js';
import { ids, Shown } from './figures.jsx';
import { pictures, task, ticks } from './session.js';

/** a, b, c, ...; numbers where numbers are added. */
const symbolOf = (name, token) => (name === 'modular_addition' ? String(token) : String.fromCharCode(97 + token));
const separatorOf = (name) => (name === 'modular_addition' ? ' ' : '');
const write = (name, tokens) => tokens.map((token) => symbolOf(name, token)).join(separatorOf(name));

/** Every question in words, the places where an answer is wanted, and what is wanted there. */
function questionsOf({ name, questions, answers, classes }) {
  return questions.map((tokens, row) => {
    const places = answers[row].flatMap((label, i) => (label >= 0 ? [i] : []));
    const asked = tokens.filter((token) => token < classes);
    return {
      question: name === 'modular_addition' ? asked.join(' + ') : write(name, asked),
      places,
      wanted: places.map((i) => answers[row][i]),
    };
  });
}

const predictedBy = (id, row, places) => {
  const predicted = pictures.peek().get(id)?.predicted;
  return predicted && places.map((i) => predicted[row][i]);
};

export function Answers() {
  ticks.pictures.value;
  const t = text.value.training;
  const { name } = task.value;
  return (
    <div class="table-box">
      <table class="training-answers" aria-label={t.gallery.sequence}>
        <thead>
          <tr>
            {[t.question, t.target, ...ids().map((_, i) => nameOf(i))].map((cell) => (
              <th key={cell} scope="col">
                {cell}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {questionsOf(task.value).map(({ question, places, wanted }, row) => (
            <tr key={row}>
              <th scope="row">{question}</th>
              <td>{write(name, wanted)}</td>
              {ids().map((id) => (
                <td key={id}>
                  <Answer given={predictedBy(id, row, places)} wanted={wanted} name={name} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

// Wrong symbols are underlined, and counted for who does not see that.
function Answer({ given, wanted, name }) {
  const t = text.value.training;
  if (!given) return '…';
  const right = given.filter((token, i) => token === wanted[i]).length;
  return (
    <>
      {given.map((token, i) => (
        <span key={i}>
          {i > 0 && separatorOf(name)}
          {token === wanted[i] ? symbolOf(name, token) : <em class="training-wrong">{symbolOf(name, token)}</em>}
        </span>
      ))}
      <span class="visually-hidden"> {t.rightOf(right, given.length)}</span>
    </>
  );
}

export function answersTable() {
  const t = text.value.training;
  const { name } = task.peek();
  return {
    head: [t.question, t.target, ...ids().map((_, i) => nameOf(i))],
    rows: questionsOf(task.peek()).map(({ question, places, wanted }, row) => [
      question,
      write(name, wanted),
      ...ids().map((id) => write(name, predictedBy(id, row, places) ?? [])),
    ]),
  };
}

export function Written() {
  ticks.pictures.value;
  const { prompt } = task.value;
  return (
    <ul class="training-texts">
      {ids().map((id, index) => (
        <li key={id} class={lookOf(index)}>
          <ConfigName index={index} /> <Shown id={id} />
          <p class="training-text">
            <span class="note">{oneLine(prompt)}</span>
            {oneLine(pictures.peek().get(id)?.text ?? '')}
          </p>
        </li>
      ))}
    </ul>
  );
}

const oneLine = (written) => written.replaceAll('\n', '⏎');

export function writtenTable() {
  const t = text.value.training;
  return {
    head: [t.configuration, t.gallery.text],
    rows: ids().map((id, i) => [nameOf(i), pictures.peek().get(id)?.text ?? '']),
  };
}
