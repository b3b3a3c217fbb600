/** Ids of rows: `key_01jd3k…`, unique without asking the database, and in the order in which they were made. */
import { randomBytes } from 'node:crypto';

/** Crockford's base 32, lower case: no i, l, o, u to misread. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME_LENGTH = 9;
/** The random part is numbers of 20 bits, the last of which counts. */
const RANDOM_PARTS = 4;
const PART_BITS = 20;
const PART_BYTES = 4;

/** What the ids of a kind of row begin with. */
export type IdPrefix =
  | ('acc' | 'key' | 'aud' | 'req' | 'evt' | 'adj' | 'mem' | 'ses' | 'inv' | 'tok' | 'psk' | 'eml')
  // Of webhooks: endpoint, delivery, attempt, secret.
  | ('whe' | 'whd' | 'wha' | 'whs');

let lastMs = 0;
const random = new Uint32Array(RANDOM_PARTS);
/** Time and random part up to the last number: the same for most of what is made within a millisecond. */
let head = '';

function startAnew(nowMs: number): void {
  const bytes = randomBytes(RANDOM_PARTS * PART_BYTES);
  // The first starts in its lower half, so that counting up within a millisecond never runs over.
  random.forEach((_, at) => {
    random[at] = bytes.readUInt32BE(at * PART_BYTES) >>> (32 - PART_BITS + (at === 0 ? 1 : 0));
  });
  lastMs = nowMs;
  head = headNow();
}

function countUp(): void {
  let at = RANDOM_PARTS - 1;
  for (; at >= 0; at -= 1) {
    random[at] = (random[at]! + 1) % (1 << PART_BITS);
    if (random[at] !== 0) break;
  }
  if (at < RANDOM_PARTS - 1) head = headNow();
}

function headNow(): string {
  let text = '';
  for (let rest = lastMs, count = 0; count < TIME_LENGTH; count += 1, rest = Math.floor(rest / 32)) {
    text = ALPHABET[rest % 32]! + text;
  }
  for (let at = 0; at < RANDOM_PARTS - 1; at += 1) text += digitsOf(random[at]!);
  return text;
}

/** Four digits. */
function digitsOf(part: number): string {
  return ALPHABET[part >>> 15]! + ALPHABET[(part >>> 10) & 31]! + ALPHABET[(part >>> 5) & 31]! + ALPHABET[part & 31]!;
}

/**
 * A new id: prefix, 9 digits of milliseconds (until the year 3084), 16 digits of randomness (79 bits). Ids of one
 * process sort by the order of the calls, also within a millisecond; those of several processes by time.
 */
export function newId(prefix: IdPrefix, nowMs: number): string {
  if (nowMs > lastMs) startAnew(nowMs);
  else countUp();
  return `${prefix}_${head}${digitsOf(random[RANDOM_PARTS - 1]!)}`;
}
