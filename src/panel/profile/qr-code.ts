/** Draws a text as a QR code (ISO/IEC 18004) on this page: a secret that is to be scanned is sent nowhere for it. */
import { codewordsOf } from './qr-codewords.js';

/** Rows of modules; true is dark. */
export type Modules = readonly (readonly boolean[])[];

/** Level L, as the format says it. */
const LEVEL = 0b01;
const FORMAT_DIVISOR = 0x537;
const FORMAT_MASK = 0x5412;
const VERSION_DIVISOR = 0x1f25;

/** Which modules a mask turns over. */
const MASKS: readonly ((x: number, y: number) => boolean)[] = [
  (x, y) => (x + y) % 2 === 0,
  (_, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2 === 0,
  (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0,
];

/** The code of a text; null for one that is too long. @param mask Undefined: the one that is easiest to read. */
export function qrCode(text: string, mask?: number): Modules | null {
  const codewords = codewordsOf(text);
  if (codewords === null) return null;
  const { version, bytes } = codewords;
  const grid = new Grid(version);
  grid.drawPatterns();
  grid.drawData(bytes);
  const drawn = mask === undefined ? MASKS.map((_, each) => grid.masked(each)) : [grid.masked(mask)];
  return drawn.reduce((best, each) => (penaltyOf(each) < penaltyOf(best) ? each : best));
}

/** Where the centres of the small squares stand, on both axes. */
function alignments(version: number, size: number): number[] {
  if (version === 1) return [];
  const count = Math.floor(version / 7) + 2;
  const step = Math.ceil((size - 13) / (count * 2 - 2)) * 2;
  const later = Array.from({ length: count - 1 }, (_, index) => size - 7 - index * step);
  return [6, ...later.toReversed()];
}

/** A number with the bits behind it that let it be mended. */
function withCheck(value: number, divisor: number, bits: number): number {
  let rest = value;
  for (let bit = 0; bit < bits; bit++) rest = (rest << 1) ^ ((rest >>> (bits - 1)) * divisor);
  return (value << bits) | rest;
}

class Grid {
  private readonly version: number;
  private readonly size: number;
  private readonly dark: boolean[][];
  /** Modules that are no data. */
  private readonly taken: boolean[][];

  constructor(version: number) {
    this.version = version;
    this.size = version * 4 + 17;
    const empty = (): boolean[][] => Array.from({ length: this.size }, () => Array<boolean>(this.size).fill(false));
    this.dark = empty();
    this.taken = empty();
  }

  drawPatterns(): void {
    const { size } = this;
    for (let each = 0; each < size; each++) {
      this.draw(6, each, each % 2 === 0);
      this.draw(each, 6, each % 2 === 0);
    }
    const corners = [
      [3, 3],
      [size - 4, 3],
      [3, size - 4],
    ] as const;
    for (const [x, y] of corners) this.drawSquares(x, y, 4, [2, 4]);
    const centres = alignments(this.version, size);
    const last = centres.length - 1;
    centres.forEach((x, column) =>
      centres.forEach((y, row) => {
        const isAtFinder = (column === 0 && (row === 0 || row === last)) || (column === last && row === 0);
        if (!isAtFinder) this.drawSquares(x, y, 2, [1]);
      }),
    );
    this.drawFormat(this.dark, 0);
    if (this.version >= 7) this.drawVersion();
  }

  /** Two modules at a time upwards and downwards, from the right. */
  drawData(bytes: Uint8Array): void {
    let bit = 0;
    for (let right = this.size - 1; right >= 1; right -= 2) {
      if (right === 6) right = 5;
      const isUpwards = ((right + 1) & 2) === 0;
      for (let step = 0; step < this.size; step++) {
        const y = isUpwards ? this.size - 1 - step : step;
        for (const x of [right, right - 1]) {
          if (this.taken[y]?.[x] === true || bit >= bytes.length * 8) continue;
          const row = this.dark[y];
          if (row !== undefined) row[x] = (((bytes[bit >>> 3] ?? 0) >>> (7 - (bit & 7))) & 1) === 1;
          bit++;
        }
      }
    }
  }

  masked(mask: number): Modules {
    const turns = MASKS[mask] ?? (() => false);
    const modules = this.dark.map((row, y) =>
      row.map((dark, x) => dark !== (this.taken[y]?.[x] !== true && turns(x, y))),
    );
    this.drawFormat(modules, mask);
    return modules;
  }

  /** Draws rings around a centre: dark but for those at these distances. */
  private drawSquares(x: number, y: number, radius: number, light: readonly number[]): void {
    for (let dy = -radius; dy <= radius; dy++) {
      for (let dx = -radius; dx <= radius; dx++) {
        this.draw(x + dx, y + dy, !light.includes(Math.max(Math.abs(dx), Math.abs(dy))));
      }
    }
  }

  /** Level and mask, twice. */
  private drawFormat(modules: boolean[][], mask: number): void {
    const bits = withCheck((LEVEL << 3) | mask, FORMAT_DIVISOR, 10) ^ FORMAT_MASK;
    const put = (x: number, y: number, bit: number): void => {
      this.draw(x, y, ((bits >>> bit) & 1) === 1, modules);
    };
    for (let bit = 0; bit < 6; bit++) put(8, bit, bit);
    put(8, 7, 6);
    put(8, 8, 7);
    put(7, 8, 8);
    for (let bit = 9; bit < 15; bit++) put(14 - bit, 8, bit);
    for (let bit = 0; bit < 8; bit++) put(this.size - 1 - bit, 8, bit);
    for (let bit = 8; bit < 15; bit++) put(8, this.size - 15 + bit, bit);
    this.draw(8, this.size - 8, true, modules);
  }

  private drawVersion(): void {
    const bits = withCheck(this.version, VERSION_DIVISOR, 12);
    for (let bit = 0; bit < 18; bit++) {
      const isDark = ((bits >>> bit) & 1) === 1;
      const [far, near] = [this.size - 11 + (bit % 3), Math.floor(bit / 3)];
      this.draw(far, near, isDark);
      this.draw(near, far, isDark);
    }
  }

  private draw(x: number, y: number, isDark: boolean, modules = this.dark): void {
    const [row, taken] = [modules[y], this.taken[y]];
    if (row === undefined || taken === undefined || x < 0 || x >= this.size) return;
    row[x] = isDark;
    taken[x] = true;
  }
}

/** How hard a code is to read: long rows, blocks, what looks like a corner, and too much of one colour. */
function penaltyOf(modules: Modules): number {
  const rows = modules.map((row) => row.map(Number).join(''));
  const columns = rows.map((_, x) => rows.map((row) => row[x]).join(''));
  const lines = [...rows, ...columns];
  const runs = lines.flatMap((line) => line.match(/0{5,}|1{5,}/g) ?? []);
  const corners = lines.flatMap((line) => [...line.matchAll(/(?=10111010000|00001011101)/g)]);
  const blocks = rows.flatMap((row, y) =>
    [...row].filter((own, x) => {
      const others = [row[x + 1], rows[y + 1]?.[x], rows[y + 1]?.[x + 1]];
      return others.every((other) => other === own);
    }),
  );
  const dark = rows.join('').replaceAll('0', '').length / rows.length ** 2;
  const ofRuns = runs.reduce((sum, { length }) => sum + length - 2, 0);
  return ofRuns + corners.length * 40 + blocks.length * 3 + Math.floor(Math.abs(dark - 0.5) * 20) * 10;
}
