import { text } from '../../session.js';
import './style.css';

export function WeightsPanel() {
  const t = text.value.weights;
  return <h2>{t.title}</h2>;
}
