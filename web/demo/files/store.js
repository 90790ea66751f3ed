// The worker's open files of weights, and the layers read of them lately. The readers are loaded with the first file.
import { FileError } from './errors.js';
import { parseReference } from './reference.js';
import { blobSource } from './source.js';

const MB = 2 ** 20;
// Layers up to this much together are kept; a larger one is read again when it is wanted again.
const KEPT = 192 * MB;

/** A layer's key as a reference has it. */
const written = (key) => key.replaceAll('~', '-');
const bytesOf = (list) => list.reduce((sum, { data }) => sum + data.byteLength, 0);

export class FileStore {
  #files = new Map(); // by key, { id, name, source, layers }
  #opening = new Map(); // by key, what is waited for
  #layers = new Map(); // by file and reference, the parameters; the newest last

  /** @param known the module's activations, see graph.js; may be a promise */
  async open(key, id, blob, known) {
    const read = (async () => {
      const { openWeights } = await import('./open.js');
      const { source, layers, summary } = await openWeights(blobSource(blob), blob.name ?? key, await known);
      this.#files.set(key, { id, source, layers });
      return summary;
    })();
    this.#opening.set(key, read);
    return read.finally(() => this.#opening.get(key) === read && this.#opening.delete(key));
  }

  close(key) {
    const { id } = this.#files.get(key) ?? {};
    for (const place of this.#layers.keys()) if (place.startsWith(`${id} `)) this.#layers.delete(place);
    this.#files.delete(key);
  }

  /** The parameters that a reference names, as makeBlock takes them. */
  async layer(text, breathe) {
    const { file: key, layer: name, fixed } = parseReference(text);
    await this.#opening.get(key)?.catch(() => null);
    const file = this.#files.get(key);
    if (!file) throw new FileError('NEEDED', { file: key }, `the weights are in the file ${key}, which is not open`);
    const layer = file.layers.find((candidate) => written(candidate.key) === name);
    const same = layer && Object.keys(fixed).every((field) => layer.fixed[field] === fixed[field]);
    if (!same)
      throw new FileError('OTHER', { file: key, layer: name }, `the file ${key} has no layer ${name} of this shape`);
    const place = `${file.id} ${text}`;
    const known = this.#layers.get(place);
    if (known) {
      this.#layers.delete(place);
      this.#layers.set(place, known);
      return known;
    }
    const { readLayer } = await import('./read.js');
    const list = await readLayer(file.source, layer, { breathe, gigabytes: globalThis.navigator?.deviceMemory });
    this.#keep(place, list);
    return list;
  }

  #keep(place, list) {
    if (bytesOf(list) > KEPT) return;
    this.#layers.set(place, list);
    let total = 0;
    for (const [other, parameters] of [...this.#layers].reverse()) {
      total += bytesOf(parameters);
      if (total > KEPT) this.#layers.delete(other);
    }
  }
}
