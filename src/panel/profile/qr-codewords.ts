/** What a QR code is made of (ISO/IEC 18004): its text as codewords, with those that mend errors (level L, 7 %). */

/** By version, from 1 on: codewords that mend errors in each block, and blocks. */
const MENDING = [7, 10, 15, 20, 26, 18, 20, 24, 30, 18, 20, 24, 26, 30, 22, 24, 28, 30, 28, 28];
const BLOCKS = [1, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4, 4, 6, 6, 6, 6, 7, 8];
const BYTE_MODE = 0b0100;
const PADDING = [0xec, 0x11];
/** x⁸ + x⁴ + x³ + x² + 1 */
const FIELD = 0x11d;

/** A code's size, and what stands in it. */
export interface Codewords {
  /** 1 to 20: it is 17 + 4 × version modules wide. */
  readonly version: number;
  readonly bytes: Uint8Array;
}

/** Modules that hold no pattern, as whole codewords. */
function room(version: number): number {
  let modules = (16 * version + 128) * version + 64;
  if (version >= 2) {
    const alignments = Math.floor(version / 7) + 2;
    modules -= (25 * alignments - 10) * alignments - 55;
    if (version >= 7) modules -= 36;
  }
  return Math.floor(modules / 8);
}

const mendingOf = (version: number): number => MENDING[version - 1] ?? 0;
const blocksOf = (version: number): number => BLOCKS[version - 1] ?? 1;
const roomForData = (version: number): number => room(version) - mendingOf(version) * blocksOf(version);
const lengthBits = (version: number): number => (version < 10 ? 8 : 16);

/** The codewords of a text in the smallest version that holds it; null for one of more than 858 bytes. */
export function codewordsOf(text: string): Codewords | null {
  const data = new TextEncoder().encode(text);
  const versions = BLOCKS.map((_, index) => index + 1);
  const version = versions.find((each) => 4 + lengthBits(each) + data.length * 8 <= roomForData(each) * 8);
  return version === undefined ? null : { version, bytes: interleaved(version, padded(version, data)) };
}

/** Mode, length, text and padding. */
function padded(version: number, data: Uint8Array): Uint8Array {
  const length = data.length.toString(2).padStart(lengthBits(version), '0');
  const text = Array.from(data, (byte) => byte.toString(2).padStart(8, '0')).join('');
  const bits = BYTE_MODE.toString(2).padStart(4, '0') + length + text;
  const size = roomForData(version);
  const whole = bits.padEnd(Math.min(size * 8, Math.ceil((bits.length + 4) / 8) * 8), '0');
  const bytes = (whole.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2));
  const padding = Array.from({ length: size - bytes.length }, (_, index) => PADDING[index % 2] ?? 0);
  return Uint8Array.from([...bytes, ...padding]);
}

/** Block by block with what mends it, and then the first codeword of each, the second of each, and so on. */
function interleaved(version: number, data: Uint8Array): Uint8Array {
  const blocks = blocksOf(version);
  const shortest = Math.floor(data.length / blocks);
  const longer = data.length % blocks;
  const divisor = divisorOf(mendingOf(version));
  const parts: Uint8Array[] = [];
  let from = 0;
  for (let index = 0; index < blocks; index++) {
    const to = from + shortest + (index < blocks - longer ? 0 : 1);
    parts.push(data.subarray(from, to));
    from = to;
  }
  const mending = parts.map((part) => remainderOf(part, divisor));
  return Uint8Array.from([...byColumns(parts), ...byColumns(mending)]);
}

function byColumns(rows: readonly Uint8Array[]): number[] {
  const longest = Math.max(...rows.map(({ length }) => length));
  const columns = Array.from({ length: longest }, (_, column) => rows.map((row) => row[column]));
  return columns.flat().filter((byte) => byte !== undefined);
}

/** Product in the field of 256 elements. */
function times(a: number, b: number): number {
  let product = 0;
  for (let bit = 7; bit >= 0; bit--) {
    product = (product << 1) ^ ((product >>> 7) * FIELD);
    product ^= ((b >>> bit) & 1) * a;
  }
  return product & 0xff;
}

/** (x − 1)(x − 2)(x − 4)…, without its first coefficient, which is 1. */
function divisorOf(degree: number): Uint8Array {
  const result = new Uint8Array(degree);
  result[degree - 1] = 1;
  let root = 1;
  for (let factor = 0; factor < degree; factor++) {
    for (let index = 0; index < degree; index++) {
      result[index] = times(result[index] ?? 0, root) ^ (result[index + 1] ?? 0);
    }
    root = times(root, 2);
  }
  return result;
}

function remainderOf(data: Uint8Array, divisor: Uint8Array): Uint8Array {
  const result = new Uint8Array(divisor.length);
  for (const byte of data) {
    const factor = byte ^ (result[0] ?? 0);
    result.copyWithin(0, 1);
    result[result.length - 1] = 0;
    divisor.forEach((coefficient, index) => (result[index] = (result[index] ?? 0) ^ times(coefficient, factor)));
  }
  return result;
}
