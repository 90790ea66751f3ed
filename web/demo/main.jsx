import { render } from 'preact';
import 'uplot/dist/uPlot.min.css';
import { App } from './app.jsx';
import { start } from './session.js';
import { keepOffline } from './shell/offline.js';
import './styles.css';
import './shell/style.css';

start(); // the worker starts up while the page is drawn
const place = document.getElementById('app');
place.replaceChildren(); // what index.html shows until now
render(<App />, place);
keepOffline();
