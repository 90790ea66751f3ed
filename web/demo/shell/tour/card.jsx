import { text } from '../../session.js';

export function TourCard() {
  return <p>{text.value.shell.tour.loading}</p>;
}
