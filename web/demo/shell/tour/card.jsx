// The card of the guided tour, below the panel's picture, which it never covers.
import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { count, number, percent, spread } from '../../format.js';
import { depthJob } from '../../panels/depth/job.js';
import { fieldsOf } from '../../presets.js';
import { cancelled, keys, language, panelResults, picks, results, state, text } from '../../session.js';
import { MEASURES, measuredOf } from './measures.js';
import { SOURCES } from './sources.js';
import { shownOf } from './stop-state.js';
import { FURTHER, STOPS } from './stops.js';
import { closeTour, goBeyond, goToStop } from './tour.js';

const texts = signal({}); // by language
const loaders = { en: () => import('./en.js'), zh: () => import('./zh.js') };

async function loadTexts(wanted) {
  if (texts.peek()[wanted]) return;
  const module = await loaders[wanted]();
  texts.value = { ...texts.peek(), [wanted]: module.default };
}

/** 25.1 ± 1.4, (3.8 ± 1.0)e−10: a ratio with half the distance between its quartiles. */
function ratio({ median, half }) {
  const size = Math.abs(median);
  if (size >= 1e-3 && size < 1e4) {
    const decimals = Math.max(0, 2 - Math.floor(Math.log10(size)));
    return `${median.toFixed(decimals)} ± ${half.toFixed(decimals)}`;
  }
  if (median === 0 || !Number.isFinite(median)) return number(median);
  const exponent = Math.floor(Math.log10(size));
  const scaled = (value) => (value / 10 ** exponent).toFixed(2);
  return `(${scaled(median)} ± ${scaled(half)})${number(10 ** exponent, 1).replace('1', '')}`;
}

const figures = {
  number,
  count,
  percent,
  ratio,
  time: (value) => spread(value, 's').replaceAll(' ', '\u00a0'), // in one line
  score: (value) => number(value, 4),
};

export function TourCard() {
  const t = text.value.shell.tour;
  const { tour } = picks;
  const heading = useRef(null);
  const card = useRef(null);
  useEffect(() => {
    loadTexts(language.value);
  }, [language.value]);
  // The first thing said of a new stop is its title; the panel's picture is at the top of what is seen.
  useEffect(() => {
    heading.current.focus({ preventScroll: true });
    // And again whenever anything on the panel or the card becomes higher or lower, until the visitor scrolls.
    let stop = () => {};
    const observed = new Set();
    const observer = new ResizeObserver(() => {
      stop();
      stop = whenDrawn((chart) => {
        if (!card.current || hasScrolled()) return; // it may just have been closed
        showPicture(chart, card.current);
        for (const part of [chart, ...document.getElementById('panel').children]) {
          if (!observed.has(part)) observer.observe(part); // which calls, also where it was observed before
          observed.add(part);
        }
      });
    });
    observer.observe(card.current);
    const [hasScrolled, forget] = visitorScrolls();
    return () => {
      observer.disconnect();
      stop();
      forget();
    };
  }, [tour]);
  const words = texts.value[language.value];
  const stop = words?.stops[tour - 1];
  return (
    <section class="tour" ref={card} aria-label={t.title}>
      <div class="tour-head">
        <h2 ref={heading} tabIndex={-1}>
          <span class="note">{t.of(tour, STOPS.length)}</span> {stop?.title}
        </h2>
        <Steps words={words} />
        <button type="button" class="quiet icon" aria-label={t.close} title={t.close} onClick={closeTour}>
          <svg viewBox="0 0 16 16" aria-hidden="true">
            <path d="m4 4 8 8M12 4l-8 8" />
          </svg>
        </button>
      </div>
      {stop ? <Stop key={`${tour} ${language.value}`} stop={stop} words={words} /> : <p class="note">{t.loading}</p>}
    </section>
  );
}

// ---- The picture stays in view

/** Calls act once the panel has a picture, unless that takes long or the stop is left. */
function whenDrawn(act) {
  const until = performance.now() + 5000;
  let frame = 0;
  const look = () => {
    const chart = document.querySelector('#panel .chart canvas')?.closest('.chart');
    if (chart) act(chart);
    else if (performance.now() < until) frame = requestAnimationFrame(look);
  };
  frame = requestAnimationFrame(look);
  return () => cancelAnimationFrame(frame);
}

const SCROLLING = ['ArrowUp', 'ArrowDown', 'PageUp', 'PageDown', 'Home', 'End', ' ', 'Tab'];

/** What says whether the visitor has scrolled since, as the browser does not, which scrolls too; and what ends it. */
function visitorScrolls() {
  let scrolls = false;
  const note = ({ type, key, target }) => {
    if (type === 'keydown' && !SCROLLING.includes(key)) return;
    if (type === 'pointerdown' && ![document.documentElement, document.getElementById('panel')].includes(target))
      return;
    scrolls = true; // a pointer on these themselves is on their scrollbar, or beside what they have
  };
  const types = ['wheel', 'touchmove', 'keydown', 'pointerdown'];
  for (const type of types) addEventListener(type, note, { capture: true, passive: true });
  return [() => scrolls, () => types.map((type) => removeEventListener(type, note, { capture: true }))];
}

// Scrolls where it does not fit above the card: its head to the top, or where that is too much its plot to the card.
function showPicture(chart, own) {
  if (!own?.isConnected) return;
  const panel = document.getElementById('panel');
  const { top, bottom } = chart.getBoundingClientRect();
  const plot = chart.querySelector('.plot').getBoundingClientRect();
  const scrolled = getComputedStyle(panel).overflowY === 'auto' ? panel : document.scrollingElement;
  const card = own.getBoundingClientRect();
  const edge = scrolled === panel ? panel.getBoundingClientRect().top : 0;
  if (bottom > card.top || top < edge) scrolled.scrollTop += Math.max(top - edge - 8, plot.bottom - card.top + 4);
}

/** Back, a link to each stop, next. */
function Steps({ words }) {
  const t = text.value.shell.tour;
  const { tour } = picks;
  const last = tour === STOPS.length;
  return (
    <nav class="tour-steps" aria-label={t.stops}>
      <button type="button" class="button small" disabled={tour === 1} onClick={() => goToStop(tour - 1)}>
        {t.back}
      </button>
      <ol>
        {STOPS.map((_, i) => (
          <li key={i}>
            <a
              href={`#tour=${i + 1}`}
              aria-label={words ? `${i + 1}. ${words.stops[i].title}` : String(i + 1)}
              title={words?.stops[i].title}
              aria-current={tour === i + 1 ? 'step' : undefined}
              onClick={(event) => {
                if (event.ctrlKey || event.metaKey || event.shiftKey) return;
                event.preventDefault();
                goToStop(i + 1);
              }}
            >
              {i + 1}
            </a>
          </li>
        ))}
      </ol>
      <button type="button" class="button small" onClick={() => goToStop(tour + 1)}>
        {last ? t.end : t.next}
      </button>
    </nav>
  );
}

function Stop({ stop, words }) {
  const { tour } = picks;
  const measured = useMeasured();
  const shown = shownOf(state.value);
  const { see, rows, holds } = words.beyond[shown] ?? stop;
  // What holds may depend on what is measured.
  const said = typeof holds === 'function' ? holds(measured?.progress ? null : measured, figures) : holds;
  return (
    <div class="tour-body">
      <p class="tour-told">{stop.told + text.value.sign.space + see}</p>
      <Measured shown={shown} rows={rows} words={words} measured={measured} />
      <div class="tour-holds">
        <p>{said}</p>
        <p class="tour-links">
          {SOURCES[tour - 1].map(([name, address]) => (
            <a key={name} href={address} target="_blank" rel="noopener noreferrer">
              {name}
            </a>
          ))}
          {Object.keys(FURTHER[tour] ?? {}).map((name) => (
            <button key={name} type="button" class="link" onClick={() => goBeyond(tour, name)}>
              {words.further[name]}
            </button>
          ))}
        </p>
      </div>
    </div>
  );
}

function Measured({ shown, rows, words, measured }) {
  const t = text.value.shell.tour;
  const { tour } = picks;
  const restore = (
    <button type="button" class="button small" onClick={() => goToStop(tour)}>
      {t.restore}
    </button>
  );
  if (!MEASURES[shown]) {
    return (
      <div class="tour-measured">
        <p class="note">{t.changed}</p>
        {restore}
      </div>
    );
  }
  const waiting = !measured || measured.progress;
  return (
    <div
      class="tour-measured"
      role="status"
      aria-busy={Boolean(waiting) || (measured.times === null && !cancelled.value)}
    >
      <h3>{t.measured}</h3>
      {waiting ? (
        <p class="note">{measured ? words.training(Math.min(...measured.progress), measured.end) : t.measuring}</p>
      ) : (
        <dl>
          {rows(measured, figures).map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value ?? (cancelled.value ? '–' : t.measuring)}</dd>
            </div>
          ))}
        </dl>
      )}
      {shown !== tour && restore}
    </div>
  );
}

// ---- What has been measured so far

const trainingSession = signal(null); // loaded with the first stop that trains

function useMeasured() {
  const current = state.value;
  const isTraining = current.panel === 'training';
  useEffect(() => {
    if (!isTraining || trainingSession.peek()) return;
    import('../../panels/training/session.js').then((module) => {
      trainingSession.value = module;
    });
  }, [isTraining]);
  const context = {
    depth: currentDepth(),
    results: results.value.map((entry, i) => (entry?.key === keys.value[i] ? entry : null)),
    training: isTraining ? currentTraining() : null,
  };
  return measuredOf(current, context);
}

/** The Depth panel's result, if it is of what the state asks for. */
function currentDepth() {
  const { value } = panelResults.value.depth ?? {};
  const wanted = depthJob(state.value, {
    configs: picks.configs.map((config) => ({ fields: fieldsOf(config) })),
  });
  const { asked, ...job } = value?.job ?? {}; // asked: the tokens before they were bounded
  return JSON.stringify({ ...job, ...asked }) === JSON.stringify(wanted) ? value : null;
}

function currentTraining() {
  const { value: session } = trainingSession;
  if (!session || session.isBehind?.value) return null;
  const end = picks.trainSteps;
  return session.runs.value.map(({ id, status, steps, tests, parameters }) => {
    const ratio = () => session.curves.ratio(id);
    return { status, steps, tests, parameters, end, ratio };
  });
}
