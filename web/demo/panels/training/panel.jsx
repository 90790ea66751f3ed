import { text } from '../../session.js';
import './style.css';

export function TrainingPanel() {
  const t = text.value.training;
  return <h2>{t.title}</h2>;
}
