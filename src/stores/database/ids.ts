/** Creates row IDs such as `key_01jd3k…`, which are unique without a query and sorted by creation time. */
import { randomBytes } from 'node:crypto';

/** Crockford's Base32 in lower case, without the ambiguous letters i, l, o and u. */
export const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME_LENGTH = 9;
/** Latest time that an ID can contain. */
const LATEST_MS = 32 ** TIME_LENGTH - 1;
/** Number of 20-bit random numbers in an ID. Each further ID of a millisecond increments the last number. */
const RANDOM_PARTS = 4;
const PART_BITS = 20;
const PART_BYTES = 4;

/** IdPrefix is the prefix of IDs of one kind of row. */
export type IdPrefix =
  | ('acc' | 'key' | 'aud' | 'req' | 'evt' | 'adj' | 'mem' | 'ses' | 'inv' | 'tok' | 'psk' | 'eml')
  // Webhooks: endpoint, delivery, attempt, secret.
  | ('whe' | 'whd' | 'wha' | 'whs');

let lastMs = 0;
const random = new Uint32Array(RANDOM_PARTS);
/** Encoded time and all random numbers except the last. It rarely changes within a millisecond. */
let head = '';

function startMillisecond(nowMs: number): void {
  const bytes = randomBytes(RANDOM_PARTS * PART_BYTES);
  // The first number starts in its lower half, so that incrementing never overflows.
  random.forEach((_, at) => {
    random[at] = bytes.readUInt32BE(at * PART_BYTES) >>> (32 - PART_BITS + (at === 0 ? 1 : 0));
  });
  lastMs = nowMs;
  head = encodeHead();
}

/** Increments the random numbers as one number. */
function increment(): void {
  let at = RANDOM_PARTS - 1;
  for (; at >= 0; at -= 1) {
    random[at] = (random[at]! + 1) % (1 << PART_BITS);
    if (random[at] !== 0) break;
  }
  if (at < RANDOM_PARTS - 1) head = encodeHead();
}

function encodeHead(): string {
  let text = encodeTime(lastMs);
  for (let at = 0; at < RANDOM_PARTS - 1; at += 1) text += digitsOf(random[at]!);
  return text;
}

function encodeTime(ms: number): string {
  let text = '';
  for (let rest = ms, count = 0; count < TIME_LENGTH; count += 1, rest = Math.floor(rest / 32)) {
    text = ALPHABET[rest % 32]! + text;
  }
  return text;
}

/** Encodes a 20-bit number as four digits. */
function digitsOf(part: number): string {
  return ALPHABET[part >>> 15]! + ALPHABET[(part >>> 10) & 31]! + ALPHABET[(part >>> 5) & 31]! + ALPHABET[part & 31]!;
}

/**
 * Creates an ID: prefix, 9 digits of milliseconds (until the year 3084) and 16 digits of randomness (79 bits). IDs of
 * one process sort in the order of the calls, even within a millisecond. IDs of several processes sort by time.
 * @param nowMs current time, in milliseconds since the epoch
 */
export function newId(prefix: IdPrefix, nowMs: number): string {
  if (nowMs > lastMs) startMillisecond(nowMs);
  else increment();
  return `${prefix}_${head}${digitsOf(random[RANDOM_PARTS - 1]!)}`;
}

/**
 * Returns a lower bound of the IDs that were created at a time or later. There is no upper bound for a time: after the
 * clock goes back, new IDs still have the latest time. Use it in a query only if `sortsIdsByTime`.
 * @param ms time in milliseconds since the epoch
 */
export function firstIdAt(prefix: IdPrefix, ms: number): string {
  return `${prefix}_${encodeTime(Math.max(0, Math.min(ms, LATEST_MS)))}`;
}
