import { render } from 'preact';
import 'uplot/dist/uPlot.min.css';
import { App } from './app.jsx';
import { start } from './session.js';
import { keepOffline } from './shell/offline.js';
import './styles.css';
import './shell/style.css';

// Each in a task of its own: together with all modules' first run it would be a long one.
setTimeout(start); // the worker starts up while the page is drawn
setTimeout(() => {
  const place = document.getElementById('app');
  place.replaceChildren(); // what index.html shows until now
  render(<App />, place);
  keepOffline();
});
