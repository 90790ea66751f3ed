// The Training panel: the configurations learn a small task in step, on the same data, from the same seed.
import { useEffect, useState } from 'preact/hooks';
import { valuesOf } from '../../fields.js';
import { number } from '../../format.js';
import { LETTERS } from '../../parts/look.js';
import { ModuleError } from '../../parts/module-error.jsx';
import { trainedOf } from '../../presets.js';
import { catalog, picks, text } from '../../session.js';
import { Gradually } from '../../shell/later.js';
import { addTexts } from '../../texts/index.js';
import { GradientChart, LossChart, MetricChart, RateChart } from './charts.jsx';
import { RunControls, Settings } from './controls.jsx';
import { hasVanished } from './curves.js';
import en from './en.js';
import { Gallery } from './gallery.jsx';
import { HeatMaps } from './heat.jsx';
import { isHeld, MAX_STD } from './plan.js';
import { Incidents, Progress } from './progress.jsx';
import { again, curves, failure, mixings, plan, runs, show, slow, task } from './session.js';
import { Summary } from './summary.jsx';
import zh from './zh.js';
import './style.css';

addTexts('training', { en, zh });

export function TrainingPanel() {
  const [open, setOpen] = useState(() => !matchMedia('(max-width: 899.98px)').matches);
  useEffect(() => {
    show(true);
    return () => show(false);
  }, []);
  return (
    <>
      <div class="training-controls">
        <RunControls open={open} onToggle={() => setOpen(!open)} />
        {open && <Settings />}
        <Progress />
      </div>
      <Body />
    </>
  );
}

function Body() {
  if (failure.value) return <Failed error={failure.value} />;
  return task.value ? <Pictures /> : <p class="loading">{text.value.training.loading}</p>;
}

function Failed({ error }) {
  const t = text.value.training;
  return (
    <div class="card error-card" role="alert">
      <h2>{t.cannot}</h2>
      <p>
        <ModuleError error={error} /> <code>{error.code}</code>
      </p>
      <button type="button" class="button" onClick={again}>
        {t.again}
      </button>
    </div>
  );
}

function Pictures() {
  return (
    <>
      <Incidents />
      <Held />
      <Gradually>
        <div class="charts training-charts">
          <Gradually>
            <LossChart />
            <Gallery />
            <MetricChart />
            <HeatMaps />
            <GradientChart />
            <RateChart />
          </Gradually>
        </div>
        <Summary />
        <Explanation />
      </Gradually>
    </>
  );
}

// Whose init_std cannot be what the narrower stack would need.
function Held() {
  const { designs, width } = plan.value;
  const letters = designs.flatMap((design, i) => (isHeld(design, width) ? [LETTERS[i]] : []));
  if (letters.length === 0) return null;
  return <p class="note">{text.value.training.held(letters, MAX_STD)}</p>;
}

// What one sees, and how it was made.
function Explanation() {
  const t = text.value.training;
  const { configs, trainTask } = picks;
  const trained = configs.flatMap(({ weights }, i) => (trainedOf(weights) ? [LETTERS[i]] : []));
  return (
    <div class="explain">
      <p>{t.taskHelp[trainTask]}</p>
      <Lesson />
      <p class="note">
        {t.method(mixings.value.split(',').filter(Boolean))}
        {trained.length > 0 && ` ${t.untrained(trained.join())}`}
      </p>
    </div>
  );
}

const SOURCES = [
  ['Xiong et al. 2020', 'https://arxiv.org/abs/2002.04745'],
  ['Liu et al. 2020', 'https://arxiv.org/abs/2004.08249'],
];

/** Post-Norm beside Pre-Norm, with what was measured in this run; nothing where there are not both. */
function Lesson() {
  slow.value;
  const t = text.value.training;
  const { configs, trainWarmup } = picks;
  const placements = configs.map((config) => valuesOf(config, catalog.value.fields).placement);
  const [post, pre] = ['post', 'pre'].map((wanted) => measured(placements.indexOf(wanted)));
  if (!post || !pre) return null;
  const lesson = trainWarmup > 0 ? 'warm' : hasVanished(post) ? 'vanished' : 'there';
  const figures = (run) => ({
    letter: run.letter,
    first: number(run.first),
    now: number(run.now),
    kept: !hasVanished(run),
  });
  return (
    <p>
      {t.lessons[lesson](figures(post), figures(pre), trainWarmup)}{' '}
      {SOURCES.map(([name, address], i) => (
        <span key={name}>
          {i > 0 && ' · '}
          <a href={address} target="_blank" rel="noopener noreferrer">
            {name}
          </a>
        </span>
      ))}
    </p>
  );
}

function measured(index) {
  const ratio = curves.ratio(runs.peek()[index]?.id);
  return ratio && { letter: LETTERS[index], ...ratio };
}
