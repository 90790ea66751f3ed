// The Training panel: the configurations learn a small task in step, on the same data, from the same seed.
import { useEffect } from 'preact/hooks';
import { valuesOf } from '../../fields.js';
import { LETTERS } from '../../parts/look.js';
import { trainedOf } from '../../presets.js';
import { catalog, state, text } from '../../session.js';
import { GradientChart, LossChart, MetricChart, RateChart } from './charts.jsx';
import { RunControls, Settings } from './controls.jsx';
import { Gallery } from './gallery.jsx';
import { HeatMaps } from './heat.jsx';
import { Incidents, Progress } from './progress.jsx';
import { runs, show, status, task } from './session.js';
import { Summary } from './summary.jsx';
import './style.css';

export function TrainingPanel() {
  useEffect(() => {
    show(true);
    return () => show(false);
  }, []);
  const narrow = matchMedia('(max-width: 899.98px)').matches;
  return (
    <>
      <div class="training-controls">
        <RunControls />
        <Settings open={!narrow} />
        <Progress />
      </div>
      <Body />
    </>
  );
}

function Body() {
  const { error } = status.value;
  if (error) return <Failed error={error} />;
  return task.value ? <Pictures /> : <p class="loading">{text.value.training.loading}</p>;
}

function Failed({ error }) {
  const t = text.value.training;
  return (
    <div class="card error-card" role="alert">
      <h2>{t.cannot}</h2>
      <p>
        <code>{error.code}</code> {error.message}
      </p>
    </div>
  );
}

function Pictures() {
  return (
    <>
      <Incidents />
      <div class="charts">
        <LossChart />
        <Gallery />
        <MetricChart />
        <HeatMaps />
        <GradientChart />
        <RateChart />
      </div>
      <Summary />
      <Explanation />
    </>
  );
}

const XIONG = 'https://arxiv.org/abs/2002.04745';
const LIU = 'https://arxiv.org/abs/2004.08249';

// What one sees, and how it was made.
function Explanation() {
  const t = text.value.training;
  const { configs, trainWarmup, trainTask } = state.value;
  const values = configs.map((config) => valuesOf(config, catalog.value.fields));
  const lettersOf = (placement) => values.flatMap((own, i) => (own.placement === placement ? [LETTERS[i]] : []));
  const [post, pre] = [lettersOf('post'), lettersOf('pre')];
  const trained = configs.flatMap(({ weights }, i) => (trainedOf(weights) ? [LETTERS[i]] : []));
  const mixed = [...new Set(runs.value.map(({ mixing }) => mixing))];
  return (
    <div class="explain">
      <p>{t.taskHelp[trainTask]}</p>
      {post.length > 0 && pre.length > 0 && (
        <p>
          {trainWarmup === 0 ? t.lessons.cold(post.join(), pre.join()) : t.lessons.warm(post.join(), trainWarmup)}{' '}
          <a href={XIONG} target="_blank" rel="noopener noreferrer">
            Xiong et al. 2020
          </a>
          {' · '}
          <a href={LIU} target="_blank" rel="noopener noreferrer">
            Liu et al. 2020
          </a>
        </p>
      )}
      <p class="note">
        {t.method(mixed)}
        {trained.length > 0 && ` ${t.untrained(trained.join())}`}
      </p>
    </div>
  );
}
