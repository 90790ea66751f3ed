import { text } from '../../session.js';
import './style.css';

export function ActivationsPanel() {
  const t = text.value.activations;
  return <h2>{t.title}</h2>;
}
