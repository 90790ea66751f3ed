// One cell through all steps of each norm, in figures; and what batch norm makes of padding, small batches and inference.
import { axisNumber, number, percent } from '../../format.js';
import { Table } from '../../parts/chart.jsx';
import { normName } from '../../parts/configs.jsx';
import { LabelledNumber } from '../../parts/controls.jsx';
import { picks, set, text } from '../../session.js';
import { cell } from './cell.js';
import { BOUND, channelCount, inUnits, onePass, realDifference, walk } from './steps.js';

// As it was typed: a float32 has seven digits.
const plainNumber = (value) => String(Number(value.toPrecision(7))).replaceAll('-', '\u2212');

/** The members of a cell's group. */
const membersOf = ({ groups }, at, { data }) => Array.from(data).filter((_, i) => groups[i] === groups[at]);

export function CellTable({ input, walks, given }) {
  const t = text.value.norms;
  const at = cell.value;
  const { l, d, data, weight, bias } = input;
  const token = Math.floor(at / d);
  const where = t.cell(Math.floor(token / l) + 1, (token % l) + 1, (at % d) + 1);
  const rows = Object.entries(walks).map(([name, walked]) => {
    const { groups, stats, normalised } = walked;
    const result = given?.[name];
    const dashes = t.cellHead.slice(1).map(() => '–');
    if (groups[at] < 0) return [normName(name), t.leftOut, ...dashes.slice(1)];
    if (result?.error) return [normName(name), ...dashes];
    const { mean, variance, count } = stats[groups[at]];
    const isRms = name === 'rms_norm';
    return [
      normName(name),
      t.values(count),
      isRms ? '–' : number(mean),
      number(data[at] - mean),
      number(variance),
      isRms ? '–' : <OnePass key="one" values={membersOf(walked, at, input)} variance={variance} />,
      number(normalised[at]),
      `${axisNumber(weight[at % d])}·n${isRms || bias[at % d] === 0 ? '' : ` + ${axisNumber(bias[at % d])}`}`,
      result?.y ? number(result.y[at]) : '…',
      result?.y ? t.units(number(inUnits(result.y, walked, input), 2), BOUND) : '…',
    ];
  });
  return (
    <section>
      <h3>{t.cellTitle(where, plainNumber(data[at]))}</h3>
      <Table head={t.cellHead} rows={rows} caption={t.cellTitle(where, plainNumber(data[at]))} />
      <p class="note table-note">{t.cellNote(BOUND)}</p>
    </section>
  );
}

// Red where it is off by more than a hundredth.
function OnePass({ values, variance }) {
  const got = onePass(values);
  const isOff = Math.abs(got - variance) > 0.01 * variance;
  return <span class={isOff ? 'norms-off' : ''}>{number(got)}</span>;
}

export function BatchNormTable({ input, ways }) {
  const t = text.value.norms;
  const { normMask, normSeen } = picks;
  const { d, padding } = input;
  const channel = cell.value % d;
  const hasPadding = padding.includes(true);
  // The steps' own for a batch; for inference what the package has kept.
  const variances = [true, false].map((masked) => walk('batch_norm', input, masked).stats[channel]?.variance);
  variances.push(ways?.[2].runningVar[channel]);
  const rows = (ways ?? []).map((way, i) => [
    t.way[way.way](normSeen),
    way.way === 'inference' ? '–' : t.values(channelCount(input, way.way === 'masked')),
    number(way.mean[channel]),
    number(variances[i]),
    number(way.y[cell.value]),
    i === 0 ? '–' : number(realDifference(way.y, ways[0].y, input)),
  ]);
  return (
    <section>
      <h3>{t.batchTitle}</h3>
      <div class="controls">
        <LabelledNumber
          id="norms-seen"
          label={t.seen}
          value={normSeen}
          min={0}
          max={1000}
          integer
          onChange={(value) => set({ normSeen: value }, 'norm seen')}
        />
        <label class="check">
          <input
            type="checkbox"
            checked={normMask}
            disabled={!hasPadding}
            onChange={(event) => set({ normMask: event.target.checked }, 'norm mask')}
          />
          {t.mask}
        </label>
      </div>
      <Table head={t.batchHead(channel + 1)} rows={rows} caption={t.batchTitle} />
      <BatchNormText input={input} ways={ways} />
    </section>
  );
}

function BatchNormText({ input, ways }) {
  const t = text.value;
  const n = t.norms;
  const { normSeen } = picks;
  const { b, padding } = input;
  const counted = ways?.[1] && realDifference(ways[1].y, ways[0].y, input);
  const said = [
    channelCount(input, true) === 1 && n.single,
    channelCount(input, true) > 1 && b === 1 && n.oneSequence,
    padding.includes(true) && counted !== undefined && n.padded(number(counted)),
    n.inference(normSeen, percent(1 - 0.9 ** normSeen)),
  ];
  return (
    <div class="explain norms-text">
      <p>{said.filter(Boolean).join(t.sign.space)}</p>
      <p class="note">
        <a href="https://arxiv.org/abs/1502.03167" target="_blank" rel="noopener noreferrer">
          {t.forward.source('Ioffe and Szegedy 2015')}
        </a>
        {' · '}
        <a href="https://proceedings.mlr.press/v119/shen20e.html" target="_blank" rel="noopener noreferrer">
          {t.forward.source('Shen et al. 2020')}
        </a>{' '}
        {n.powerNorm}
      </p>
    </div>
  );
}
