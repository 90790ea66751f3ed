// The selected block as PyTorch code to copy.
import { resolved } from '../../fields.js';
import { LETTERS } from '../../parts/configs.jsx';
import { CopyButton } from '../../parts/copy-button.jsx';
import { trainedOf } from '../../presets.js';
import { pytorchCode } from '../../pytorch.js';
import { catalog, text } from '../../session.js';

export function Code({ config, index, values }) {
  const t = text.value.wiring;
  const { activations } = catalog.value;
  const activation = activations.find(({ name }) => name === values.activation);
  if (!activation) return null;
  const title = t.code(LETTERS[index]);
  const code = pytorchCode(
    resolved(values, catalog.value),
    activation,
    config.name,
    Boolean(trainedOf(config.weights)),
  );
  return (
    <section class="card wiring-code" aria-label={title}>
      <div class="card-head">
        <div>
          <h2>{title}</h2>
          <p class="note">{t.codeNote}</p>
        </div>
        <CopyButton content={code} label={t.copy} copied={t.copied} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard */}
      <pre tabIndex={0} lang="en">
        <code>{code}</code>
      </pre>
    </section>
  );
}
