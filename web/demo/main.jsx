import { render } from 'preact';
import 'uplot/dist/uPlot.min.css';
import { App } from './app.jsx';
import { start } from './session.js';
import './styles.css';

start(); // the worker starts up while the page is drawn
render(<App />, document.getElementById('app'));
