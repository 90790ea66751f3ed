import { text } from '../../session.js';
import './style.css';

export function DepthPanel() {
  const t = text.value.depth;
  return <h2>{t.title}</h2>;
}
