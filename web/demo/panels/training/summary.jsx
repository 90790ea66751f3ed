// The last figures of every configuration.
import { count, number } from '../../format.js';
import { Table } from '../../parts/chart.jsx';
import { ConfigName } from '../../parts/controls.jsx';
import { text } from '../../session.js';
import { divergenceText } from './progress.jsx';
import { curves, runs, task, ticks } from './session.js';

export function Summary() {
  ticks.table.value;
  const t = text.value.training;
  const { good } = task.value;
  return (
    <section class="card training-summary">
      <Table
        caption={t.summaryTable}
        head={[
          t.configuration,
          t.lastGood,
          t.loss.toLowerCase(),
          t.smoothed,
          t.metricHeads[good.metric],
          t.gradientHead,
          t.firstByLast,
          t.rate.toLowerCase(),
          t.parameters,
          t.state,
        ]}
        rows={runs.value.map((run, index) => rowOf(run, index, t))}
      />
      <p class="note table-note">{t.firstByLastNote}</p>
    </section>
  );
}

function rowOf(run, index, t) {
  const { id, steps, tests, parameters, status, divergence, error } = run;
  const last = curves.last(id);
  const [at, value] = tests.at(-1) ?? [];
  const state = {
    learning: () => t.states.learning,
    rewound: () => t.states.rewound,
    diverged: () => divergenceText(divergence, t),
    failed: () => error.code,
  }[status]();
  return [
    <ConfigName key="name" index={index} />,
    count(steps),
    number(last?.loss ?? null),
    number(curves.smooth(id, 'loss').at(-1) ?? null),
    value === undefined ? '–' : `${number(value)}${at === steps ? '' : ` (${t.atStep(at)})`}`,
    number(last?.gradient ?? null),
    ratioText(id),
    number(last?.rate ?? null),
    parameters === undefined ? '–' : count(parameters),
    state,
  ];
}

function ratioText(id) {
  const ratio = curves.ratio(id);
  return ratio ? `${number(ratio.first)} → ${number(ratio.now)}` : '–';
}
