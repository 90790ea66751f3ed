import { render } from 'preact';
import 'uplot/dist/uPlot.min.css';
import { App } from './app.jsx';
import { firstTexts, start } from './session.js';
import { keepOffline } from './shell/offline.js';
import './styles.css';
import './shell/style.css';

// The worker begins at once. If it says within this many milliseconds what the module lists, the page is drawn once and not
// twice.
const MOMENT = 100;
const moment = new Promise((resolve) => setTimeout(resolve, MOMENT));

// Each in a task of its own: together with all modules' first run it would be a long one.
const listed = new Promise((resolve) => setTimeout(() => start().then(resolve)));
setTimeout(async () => {
  await Promise.all([firstTexts, Promise.race([listed, moment])]);
  const place = document.getElementById('app');
  place.replaceChildren(); // what index.html shows until now
  render(<App />, place);
  keepOffline();
});
