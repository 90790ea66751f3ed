// The types of numbers in files of weights: their sizes, and those that are read as float32.
import { readSafetensors } from 'addnorm/formats';

/** Elements and bytes of a block, in all formats; F8, I4 and the like need no more than a name. */
const SIZES = {
  F64: [1, 8],
  F32: [1, 4],
  F16: [1, 2],
  BF16: [1, 2],
  I64: [1, 8],
  U64: [1, 8],
  I32: [1, 4],
  U32: [1, 4],
  I16: [1, 2],
  U16: [1, 2],
  I8: [1, 1],
  U8: [1, 1],
  BOOL: [1, 1],
  C64: [1, 8],
  F8_E4M3: [1, 1],
  F8_E5M2: [1, 1],
  F8_E8M0: [1, 1],
  F4: [2, 1],
  F6_E2M3: [4, 3],
  F6_E3M2: [4, 3],
  // ggml's, see ggml-common.h of llama.cpp
  Q4_0: [32, 18],
  Q4_1: [32, 20],
  Q5_0: [32, 22],
  Q5_1: [32, 24],
  Q8_0: [32, 34],
  Q8_1: [32, 36],
  Q2_K: [256, 84],
  Q3_K: [256, 110],
  Q4_K: [256, 144],
  Q5_K: [256, 176],
  Q6_K: [256, 210],
  Q8_K: [256, 292],
  IQ2_XXS: [256, 66],
  IQ2_XS: [256, 74],
  IQ3_XXS: [256, 98],
  IQ1_S: [256, 50],
  IQ4_NL: [32, 18],
  IQ3_S: [256, 110],
  IQ2_S: [256, 82],
  IQ4_XS: [256, 136],
  IQ1_M: [256, 56],
  TQ1_0: [256, 54],
  TQ2_0: [256, 66],
  MXFP4: [32, 17],
};

const own = (table, key) => (Object.hasOwn(table, key) ? table[key] : undefined);

/** How many elements a block of this type has, or undefined for a type whose size is not known. */
export const blockOf = (dtype) => own(SIZES, dtype)?.[0];

/** Bytes of a number of elements, a multiple of the block; undefined as above. */
export function bytesOf(dtype, elements) {
  const [block, bytes] = own(SIZES, dtype) ?? [];
  return block && (elements / block) * bytes;
}

// Bytes → float32, by the package's own reader: a file with this one tensor.
function convert(dtype, bytes) {
  const n = bytes.length / bytesOf(dtype, 1);
  const header = new TextEncoder().encode(
    `{"t":{"dtype":"${dtype}","shape":[${n}],"data_offsets":[0,${bytes.length}]}}`,
  );
  const file = new Uint8Array(8 + header.length + bytes.length);
  new DataView(file.buffer).setUint32(0, header.length, true);
  file.set(header, 8);
  file.set(bytes, 8 + header.length);
  return readSafetensors(file).tensors.t.data;
}

/** The float16 at the head of every block of quantised numbers. */
function scalesOf(bytes, size) {
  const halves = new Uint8Array((2 * bytes.length) / size);
  for (let from = 0, to = 0; from < bytes.length; from += size, to += 2) {
    halves[to] = bytes[from];
    halves[to + 1] = bytes[from + 1];
  }
  return convert('F16', halves);
}

// Quantised types as ggml's dequantize_row_* define them: 32 numbers that share a scale.
const readers = {
  F32: (bytes) => convert('F32', bytes),
  F16: (bytes) => convert('F16', bytes),
  BF16: (bytes) => convert('BF16', bytes),
  Q8_0(bytes) {
    const scales = scalesOf(bytes, 34);
    const out = new Float32Array(32 * scales.length);
    for (let block = 0; block < scales.length; block++) {
      for (let i = 0; i < 32; i++) {
        out[32 * block + i] = scales[block] * ((bytes[34 * block + 2 + i] << 24) >> 24);
      }
    }
    return out;
  },
  // The lower halves of the 16 bytes are the first 16 numbers, the upper ones the others; 8 is zero.
  Q4_0(bytes) {
    const scales = scalesOf(bytes, 18);
    const out = new Float32Array(32 * scales.length);
    for (let block = 0; block < scales.length; block++) {
      for (let i = 0; i < 16; i++) {
        const two = bytes[18 * block + 2 + i];
        out[32 * block + i] = scales[block] * ((two & 15) - 8);
        out[32 * block + 16 + i] = scales[block] * ((two >> 4) - 8);
      }
    }
    return out;
  },
};

/** The types that are read. */
export const READ = Object.keys(readers);
export const isRead = (dtype) => Object.hasOwn(readers, dtype);

/** Whole blocks of a type that is read, as float32. */
export const decode = (dtype, bytes) => readers[dtype](bytes);
