// Protocol buffers (https://protobuf.dev/programming-guides/encoding/), as much as ONNX needs: the fields of a message one
// after another, where each lies, and nothing of what nobody asks for. Messages are descended into by their reader alone,
// so how deep a file nests them costs nothing.
import { FileError } from './errors.js';

const wrong = (at, reason) => new FileError('PROTOBUF', { at, reason });

/**
 * The fields of the message between the cursor and `end`: { field, wire, value } of a number, { field, wire, at, length }
 * of anything else. A reader may move the cursor: the next field is found all the same.
 */
export async function* fields(cursor, end) {
  while (cursor.at < end) {
    const start = cursor.at;
    const tag = await varint(cursor, end);
    const field = Math.floor(tag / 8);
    const wire = tag % 8;
    if (field < 1) throw wrong(start, 'field');
    if (wire === 0) {
      yield { field, wire, value: await varint(cursor, end) };
      continue;
    }
    const length = wire === 2 ? await varint(cursor, end) : { 1: 8, 5: 4 }[wire];
    if (length === undefined) throw wrong(start, 'wire');
    const { at } = cursor;
    if (!(length >= 0 && length <= end - at)) {
      // At the outermost level it is the file that is too short.
      if (end === cursor.size && length >= 0) throw new FileError('TRUNCATED', { expected: at + length, got: end });
      throw wrong(start, 'length');
    }
    yield { field, wire, at, length };
    cursor.at = at + length;
  }
}

/** A number of up to 64 bits, signed; NaN beyond what a Number holds exactly. */
export async function varint(cursor, end) {
  const start = cursor.at;
  let low = 0;
  let high = 0;
  for (let shift = 0; shift < 70; shift += 7) {
    if (cursor.at >= end) throw wrong(start, 'varint');
    if (!cursor.has(1)) await cursor.fill(1);
    const byte = cursor.u8();
    const bits = byte & 0x7f;
    if (shift < 28) low |= bits << shift;
    else if (shift === 28) {
      low |= bits << 28;
      high |= bits >> 4;
    } else high |= shift < 60 ? bits << (shift - 32) : (bits & 1) << 31;
    if (byte < 0x80) {
      const value = high * 2 ** 32 + (low >>> 0);
      return Number.isSafeInteger(value) ? value : Number.NaN;
    }
  }
  throw wrong(start, 'varint');
}

/** The bytes of a field, if they are no more than `limit`. */
export async function payload(cursor, { at, length }, limit) {
  if (!(length <= limit)) throw wrong(at, 'long');
  cursor.at = at;
  if (!cursor.has(length)) await cursor.fill(length);
  return cursor.bytes(length);
}

export const text = async (cursor, field, limit = 4096) =>
  new TextDecoder().decode(await payload(cursor, field, limit));

/** The numbers of a packed field, or the one of a field that is not. */
export async function integers(cursor, field, limit) {
  if (field.wire === 0) return [field.value];
  if (field.wire !== 2) throw wrong(cursor.at, 'wire');
  if (field.length > 10 * limit) throw wrong(field.at, 'long');
  const list = [];
  cursor.at = field.at;
  while (cursor.at < field.at + field.length) list.push(await varint(cursor, field.at + field.length));
  return list;
}
