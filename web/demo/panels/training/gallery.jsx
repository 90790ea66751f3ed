// What the models have learned so far: the plane parted into classes, predictions beside targets, answers, or text.
import { text } from '../../session.js';
import { Answers, answersTable, Written, writtenTable } from './answers.jsx';
import { Card } from './card.jsx';
import { Plane, planeTable } from './plane.jsx';
import { Scatter, scatterTable } from './scatter.jsx';
import { begun, task } from './session.js';

const KINDS = {
  classification: { Kind: Plane, table: planeTable },
  regression: { Kind: Scatter, table: scatterTable },
  sequence: { Kind: Answers, table: answersTable, plain: true },
  text: { Kind: Written, table: writtenTable, plain: true },
};

export function Gallery() {
  const t = text.value.training;
  const { name, kind } = task.value;
  const known = name === 'text' ? 'text' : kind;
  const { Kind, ...rest } = KINDS[known];
  return (
    <Card title={t.gallery[known]} note={t.galleryNotes[known]} empty={!begun.value} class="training-gallery" {...rest}>
      <Kind />
    </Card>
  );
}
