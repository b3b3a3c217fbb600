/**
 * Format of API key secrets: `tg_live_<30 base62><6 base62 CRC-32>`, as in GitHub's tokens. The checksum covers the 30
 * random characters, so that most invalid keys are detected without a lookup. `tg_test_` marks keys of the test
 * environment.
 */
import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const PREFIX_LENGTH = 'tg_live_'.length;
const RANDOM_LENGTH = 30;
const CHECKSUM_LENGTH = 6;

/** Length of a secret in characters. */
export const SECRET_LENGTH = PREFIX_LENGTH + RANDOM_LENGTH + CHECKSUM_LENGTH;

export type ApiKeyEnvironment = 'live' | 'test';

/** Returns the CRC-32 (IEEE) of the random characters in base62, left-padded with `0` to six characters. */
export function checksum(random: string): string {
  let value = crc32(random);
  let text = '';
  while (value > 0) {
    text = ALPHABET.charAt(value % 62) + text;
    value = Math.floor(value / 62);
  }
  return text.padStart(CHECKSUM_LENGTH, '0');
}

/** Creates a secret with 178 random bits. */
export function createSecret(environment: ApiKeyEnvironment): string {
  const random = randomBase62(RANDOM_LENGTH);
  return `tg_${environment}_${random}${checksum(random)}`;
}

/** Returns uniformly distributed base62 characters. Discards bytes of 248 and above to avoid a bias. */
export function randomBase62(length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length + 8)) {
      if (byte < 248 && text.length < length) text += ALPHABET.charAt(byte % 62);
    }
  }
  return text;
}

/** Value of a base62 digit by character code, or -1. */
const DIGITS = new Int8Array(128).fill(-1);
for (let value = 0; value < ALPHABET.length; value++) DIGITS[ALPHABET.charCodeAt(value)] = value;

/** Lookup table for CRC-32 (IEEE 802.3, reflected). */
const CRC_TABLE = Int32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = (crc & 1) === 0 ? crc >>> 1 : 0xedb88320 ^ (crc >>> 1);
  return crc;
});

/**
 * Reports whether a text has the format and checksum of a secret. Runs for every request. One pass over the characters
 * takes less than half the time of zlib's `crc32` with a separate check of the digits.
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
  // Compares the checksum as a number to avoid creating a string.
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

/** A token68 (RFC 9110 section 11.2) of a reasonable length. */
const TOKEN68 = /^(?=.{16,200}$)[A-Za-z0-9\-._~+/]+=*$/;

/**
 * Reports whether a text can be an imported secret of another system (a foreign secret). A text with a prefix
 * of our own secrets cannot, because those need a checksum.
 */
export function isForeignSecret(text: string): boolean {
  return !isOwnFormat(text) && TOKEN68.test(text);
}

/**
 * Reports whether a secret begins like our own secrets: `tg_`, four characters, `_`. `tg_` alone is not enough, because
 * one of 100,000 random secrets of another system may begin with it.
 */
export function isOwnFormat(secret: string): boolean {
  return secret.startsWith('tg_') && secret.charAt(PREFIX_LENGTH - 1) === '_';
}

/** Returns the SHA-256 of a secret in lower-case hex. The database stores secrets only in this form. */
export function hashSecret(secret: string): string {
  return hash('sha256', secret, 'hex');
}

/**
 * Returns the SHA-256 of a secret as a Latin-1 string, which takes half the memory of hex. Runs on the request path.
 */
export function digestOf(secret: string): string {
  return hash('sha256', secret, 'latin1');
}

/** Converts a digest from `digestOf` to the hex form of the database. */
export function hexOfDigest(digest: string): string {
  return Buffer.from(digest, 'latin1').toString('hex');
}

/** Converts a hash from the hex form of the database to the form of `digestOf`. */
export function digestOfHex(hex: string): string {
  return Buffer.from(hex, 'hex').toString('latin1');
}

/**
 * Returns the prefix and the last four characters of a secret, by which people recognize it. The hint of a foreign
 * secret has no prefix, because that may be part of what makes it secret.
 */
export function hintOf(secret: string): string {
  if (!isOwnFormat(secret)) return `…${secret.slice(-4)}`;
  return `${secret.slice(0, PREFIX_LENGTH)}…${secret.slice(-4)}`;
}

/** Secrets of API keys and access tokens. Foreign secrets are not recognized. */
const SECRET = /tg_(?:live|test|mcpt)_[0-9A-Za-z]{36}/;
const SECRETS = /tg_(live|test|mcpt)_[0-9A-Za-z]{36}/g;

/** Reports whether a text contains a secret or an access token, plain or percent-encoded. */
export function holdsSecret(text: string): boolean {
  return (text.includes('tg_') && SECRET.test(text)) || (text.includes('%') && SECRET.test(decoded(text)));
}

/**
 * Redacts the secrets in a client's text that is logged or sent back. A text with a percent-encoded secret is decoded,
 * so that plain and encoded secrets are both found.
 */
export function withoutSecrets(text: string): string {
  if (!holdsSecret(text)) return text;
  const redacted = text.replaceAll(SECRETS, 'tg_$1_[redacted]');
  return holdsSecret(redacted) ? decoded(redacted).replaceAll(SECRETS, 'tg_$1_[redacted]') : redacted;
}

/** Percent-decodes a text once. Leaves invalid escapes unchanged. */
function decoded(text: string): string {
  return text.replaceAll(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/**
 * Prefix of the access tokens of OAuth clients. The rest has the format of a secret. The prefix distinguishes tokens
 * from keys without a lookup, and a token is not accepted as a key.
 */
const ACCESS_TOKEN_PREFIX = 'tg_mcpt_';

/** Hint for keys whose secrets are access tokens. */
export const ACCESS_TOKEN_HINT = `${ACCESS_TOKEN_PREFIX}…`;

/** Creates an access token with 178 random bits. */
export function createAccessToken(): string {
  const random = randomBase62(RANDOM_LENGTH);
  return `${ACCESS_TOKEN_PREFIX}${random}${checksum(random)}`;
}

/** Reports whether a text has the format and checksum of an access token. */
export function isAccessToken(text: string): boolean {
  return (
    text.startsWith(ACCESS_TOKEN_PREFIX) && isWellFormedSecret(`tg_live_${text.slice(ACCESS_TOKEN_PREFIX.length)}`)
  );
}
