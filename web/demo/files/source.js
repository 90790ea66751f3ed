// Where a reader gets its bytes: { size, read(offset, length) → Promise<Uint8Array> }. Only what is asked for is read.
import { FileError } from './errors.js';

/** Of a File or Blob: slices of it, never the whole. */
export const blobSource = (blob) => ({
  size: blob.size,
  async read(offset, length) {
    let bytes;
    try {
      bytes = new Uint8Array(await blob.slice(offset, offset + length).arrayBuffer());
    } catch (error) {
      throw new FileError('READ', { message: error.message });
    }
    if (bytes.length !== length) throw new FileError('READ', { message: `${bytes.length} of ${length} bytes` });
    return bytes;
  },
});

const CHUNK = 65536;

/** Goes through a part of a source from its beginning. What is skipped is not read. */
export class Cursor {
  #source;
  #bytes = new Uint8Array(0);
  #view = new DataView(this.#bytes.buffer);
  #start = 0; // of the bytes held, in the source

  constructor(source, at = 0) {
    this.#source = source;
    /** Where the next byte is read. */
    this.at = at;
  }

  get size() {
    return this.#source.size;
  }

  /** Whether the next `length` bytes are at hand. */
  has(length) {
    return this.at >= this.#start && this.at + length <= this.#start + this.#bytes.length;
  }

  /** Brings them to hand. */
  async fill(length) {
    const rest = this.size - this.at;
    if (length > rest) throw new FileError('TRUNCATED', { expected: this.at + length, got: this.size });
    this.#bytes = await this.#source.read(this.at, Math.min(rest, Math.max(length, CHUNK)));
    this.#view = new DataView(this.#bytes.buffer, this.#bytes.byteOffset, this.#bytes.byteLength);
    this.#start = this.at;
  }

  // The bytes must be at hand.
  u8() {
    return this.#bytes[this.at++ - this.#start];
  }

  u32() {
    this.at += 4;
    return this.#view.getUint32(this.at - 4 - this.#start, true);
  }

  bytes(length) {
    this.at += length;
    const from = this.at - length - this.#start;
    return this.#bytes.slice(from, from + length);
  }
}
