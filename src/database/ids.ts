/** Ids of rows: `key_01jd3k…`, unique without asking the database, and in the order in which they were made. */
import { randomBytes } from 'node:crypto';

/** Crockford's base 32, lower case: no i, l, o, u to misread. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME_LENGTH = 9;
const RANDOM_LENGTH = 16;

/** What the ids of a kind of row begin with. */
export type IdPrefix =
  | ('acc' | 'key' | 'aud' | 'req' | 'evt' | 'adj' | 'mem' | 'ses' | 'inv' | 'tok' | 'psk' | 'eml')
  // Of webhooks: endpoint, delivery, attempt, secret.
  | ('whe' | 'whd' | 'wha' | 'whs');

let lastMs = 0;
let lastRandom: number[] = [];

function randomDigits(): number[] {
  // The first digit starts low so that counting up within a millisecond never runs over.
  return [...randomBytes(RANDOM_LENGTH)].map((byte, index) => (index === 0 ? byte & 15 : byte & 31));
}

function increment(digits: readonly number[]): number[] {
  const next = [...digits];
  for (let index = next.length - 1; index >= 0; index -= 1) {
    const digit = (next[index] ?? 0) + 1;
    next[index] = digit & 31;
    if (digit < 32) break;
  }
  return next;
}

/**
 * A new id: prefix, 9 digits of milliseconds (until the year 3084), 16 digits of randomness (79 bits). Ids of one
 * process sort by the order of the calls, also within a millisecond; those of several processes by time.
 */
export function newId(prefix: IdPrefix, nowMs: number): string {
  lastRandom = nowMs > lastMs ? randomDigits() : increment(lastRandom);
  lastMs = Math.max(nowMs, lastMs);
  let time = '';
  for (let rest = lastMs, count = 0; count < TIME_LENGTH; count += 1, rest = Math.floor(rest / 32)) {
    time = (ALPHABET[rest % 32] ?? '') + time;
  }
  return `${prefix}_${time}${lastRandom.map((digit) => ALPHABET[digit]).join('')}`;
}
