/**
 * What an API key's secret looks like: `tg_live_<30 base62><6 base62 CRC-32>`, GitHub's token format with our prefix.
 * The checksum covers the 30 random characters, so junk is told apart without asking a store.
 */
import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const PREFIX_LENGTH = 'tg_live_'.length;
const RANDOM_LENGTH = 30;
const CHECKSUM_LENGTH = 6;

/** Length of every secret, in characters. */
export const SECRET_LENGTH = PREFIX_LENGTH + RANDOM_LENGTH + CHECKSUM_LENGTH;

export type ApiKeyEnvironment = 'live' | 'test';

/** The checksum of 30 random characters: CRC-32 (IEEE) in base62, left-padded with `0` to six characters. */
export function checksum(random: string): string {
  let value = crc32(random);
  let text = '';
  while (value > 0) {
    text = ALPHABET.charAt(value % 62) + text;
    value = Math.floor(value / 62);
  }
  return text.padStart(CHECKSUM_LENGTH, '0');
}

/** A new secret with 178 bits from the system's random source. */
export function createSecret(environment: ApiKeyEnvironment): string {
  const random = randomBase62(RANDOM_LENGTH);
  return `tg_${environment}_${random}${checksum(random)}`;
}

/** Uniform base62 characters: bytes of 248 and above are thrown away, so that no character is likelier than another. */
export function randomBase62(length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length + 8)) {
      if (byte < 248 && text.length < length) text += ALPHABET.charAt(byte % 62);
    }
  }
  return text;
}

/** By character code the value of a base62 digit, or -1. */
const DIGITS = new Int8Array(128).fill(-1);
for (let value = 0; value < ALPHABET.length; value++) DIGITS[ALPHABET.charCodeAt(value)] = value;

/** What each value of a byte does to a CRC-32 (IEEE 802.3, reflected). */
const CRC_TABLE = Int32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = (crc & 1) === 0 ? crc >>> 1 : 0xedb88320 ^ (crc >>> 1);
  return crc;
});

/**
 * Whether the text has the shape of a secret and its checksum fits. Costs no look-up. Every request is asked this: one
 * pass over the characters takes less than half of what a call of zlib's `crc32` and a look at each digit do.
 */
export function isWellFormedSecret(text: string): boolean {
  if (text.length !== SECRET_LENGTH) return false;
  if (!text.startsWith('tg_live_') && !text.startsWith('tg_test_')) return false;
  let crc = -1;
  let index = PREFIX_LENGTH;
  for (; index < PREFIX_LENGTH + RANDOM_LENGTH; index++) {
    const code = text.charCodeAt(index);
    if (digitOf(code) < 0) return false;
    crc = (CRC_TABLE[(crc ^ code) & 0xff] ?? 0) ^ (crc >>> 8);
  }
  // The last six characters are compared as a number, which saves building the expected string.
  let claimed = 0;
  for (; index < SECRET_LENGTH; index++) {
    const digit = digitOf(text.charCodeAt(index));
    if (digit < 0) return false;
    claimed = claimed * 62 + digit;
  }
  return claimed === ~crc >>> 0;
}

function digitOf(code: number): number {
  return DIGITS[code] ?? -1;
}

/** SHA-256 of the whole secret in lower-case hex: the only form in which a secret is written down. */
export function hashSecret(secret: string): string {
  return hash('sha256', secret, 'hex');
}

/**
 * The same hash as it stays in memory, for each key in use: a character for each of its 32
 * bytes, half as long. On the request path.
 */
export function digestOf(secret: string): string {
  return hash('sha256', secret, 'latin1');
}

/** The hash as the database has it. @param digest as `digestOf` gives it. */
export function hexOfDigest(digest: string): string {
  return Buffer.from(digest, 'latin1').toString('hex');
}

/** The hash as it stays in memory. @param hex as the database has it. */
export function digestOfHex(hex: string): string {
  return Buffer.from(hex, 'hex').toString('latin1');
}

/** What people recognise a key by: its prefix and its last four characters. */
export function hintOf(secret: string): string {
  return `${secret.slice(0, PREFIX_LENGTH)}…${secret.slice(-4)}`;
}

/** Access tokens have the same form: see below. */
const SECRET = /tg_(?:live|test|mcpt)_[0-9A-Za-z]{36}/;
const SECRETS = /tg_(live|test|mcpt)_[0-9A-Za-z]{36}/g;

/** Whether an API key stands in a text, as it is or percent-encoded. */
export function holdsSecret(text: string): boolean {
  return (text.includes('tg_') && SECRET.test(text)) || (text.includes('%') && SECRET.test(decoded(text)));
}

/** A text with every API key in it made unreadable, for texts of the client's own that are logged or sent back. */
export function withoutSecrets(text: string): string {
  if (!holdsSecret(text)) return text;
  return (SECRET.test(text) ? text : decoded(text)).replaceAll(SECRETS, 'tg_$1_[redacted]');
}

/** Decoded once, whatever else is wrong with it. */
function decoded(text: string): string {
  return text.replaceAll(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/**
 * An access token of an OAuth client has the form of a key's secret, with a prefix of its own: it is told apart from a
 * key without a look-up, and where keys are taken it is none.
 */
const ACCESS_TOKEN_PREFIX = 'tg_mcpt_';

/** What stands in the place of a hint, where a key's secrets are access tokens. */
export const ACCESS_TOKEN_HINT = `${ACCESS_TOKEN_PREFIX}…`;

/** A new token with 178 bits from the system's random source. */
export function createAccessToken(): string {
  const random = randomBase62(RANDOM_LENGTH);
  return `${ACCESS_TOKEN_PREFIX}${random}${checksum(random)}`;
}

/** Whether the text has the shape of an access token and its checksum fits. Costs no look-up. */
export function isAccessToken(text: string): boolean {
  return (
    text.startsWith(ACCESS_TOKEN_PREFIX) && isWellFormedSecret(`tg_live_${text.slice(ACCESS_TOKEN_PREFIX.length)}`)
  );
}
