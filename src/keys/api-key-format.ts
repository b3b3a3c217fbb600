/**
 * Defines the format of API key secrets: `tg_live_<30 base62><6 base62 CRC-32>`, as in GitHub's tokens. The checksum
 * covers the 30 random characters, so that most invalid keys are detected without a lookup. Keys of the test
 * environment begin with `tg_test_`.
 */
import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const PREFIX_LENGTH = 'tg_live_'.length;
const RANDOM_LENGTH = 30;
const CHECKSUM_LENGTH = 6;

/** Length of a secret with its prefix and checksum, in characters. */
export const SECRET_LENGTH = PREFIX_LENGTH + RANDOM_LENGTH + CHECKSUM_LENGTH;

export type ApiKeyEnvironment = 'live' | 'test';

/**
 * Returns the checksum of the random characters: their CRC-32 (IEEE) in base62, left-padded with `0` to six characters.
 */
export function keyChecksum(random: string): string {
  let value = crc32(random);
  let text = '';
  while (value > 0) {
    text = ALPHABET.charAt(value % 62) + text;
    value = Math.floor(value / 62);
  }
  return text.padStart(CHECKSUM_LENGTH, '0');
}

/** Creates a secret with 178 bits of entropy. */
export function createSecret(environment: ApiKeyEnvironment): string {
  const random = randomBase62(RANDOM_LENGTH);
  return `tg_${environment}_${random}${keyChecksum(random)}`;
}

/**
 * Returns random base62 characters with a uniform distribution. Discards bytes of 248 and above, which would cause a
 * bias.
 */
export function randomBase62(length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length + 8)) {
      if (byte < 248 && text.length < length) text += ALPHABET.charAt(byte % 62);
    }
  }
  return text;
}

/** Values of base62 digits by character code. -1 for other characters. */
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
  // Compare the checksum as a number, to avoid creating a string.
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

/** Matches a token68 (RFC 9110 section 11.2) of 16 to 200 characters. */
const TOKEN68 = /^(?=.{16,200}$)[A-Za-z0-9\-._~+/]+=*$/;

/**
 * Reports whether a text can be an imported secret of another system (a foreign secret). A text with the prefix format
 * of the gateway's own secrets cannot, because such a text needs a checksum.
 */
export function isForeignSecret(text: string): boolean {
  return !isOwnFormat(text) && TOKEN68.test(text);
}

/**
 * Reports whether a secret begins like the gateway's own secrets: `tg_`, four characters, `_`. Checking only `tg_` is
 * not enough. About one in 260,000 random base64url secrets of other systems begins with `tg_`.
 */
export function isOwnFormat(secret: string): boolean {
  return secret.startsWith('tg_') && secret.charAt(PREFIX_LENGTH - 1) === '_';
}

/** Returns the SHA-256 of a secret in lower-case hex, the only form in which the database stores secrets. */
export function hashSecret(secret: string): string {
  return hash('sha256', secret, 'hex');
}

/**
 * Returns the SHA-256 of a secret as a Latin-1 string, which needs half the memory of hex. Runs on the request path.
 */
export function digestOf(secret: string): string {
  return hash('sha256', secret, 'latin1');
}

/** Converts a result of `digestOf` to the hex form of the database. */
export function hexOfDigest(digest: string): string {
  return Buffer.from(digest, 'latin1').toString('hex');
}

/** Converts a hash in the hex form of the database to the form of `digestOf`. */
export function digestOfHex(hex: string): string {
  return Buffer.from(hex, 'hex').toString('latin1');
}

/**
 * Returns the hint by which people recognize a secret: its prefix and its last four characters. The hint of a foreign
 * secret has no prefix, because the prefix may be part of the secret.
 */
export function hintOf(secret: string): string {
  if (!isOwnFormat(secret)) return `…${secret.slice(-4)}`;
  return `${secret.slice(0, PREFIX_LENGTH)}…${secret.slice(-4)}`;
}

/** Matches secrets of API keys and access tokens. Does not match foreign secrets. */
const SECRET = /tg_(?:live|test|mcpt)_[0-9A-Za-z]{36}/;
const SECRETS = /tg_(live|test|mcpt)_[0-9A-Za-z]{36}/g;

/** Reports whether a text contains a secret of the gateway or an access token, plain or percent-encoded. */
export function holdsSecret(text: string): boolean {
  return (text.includes('tg_') && SECRET.test(text)) || (text.includes('%') && SECRET.test(decoded(text)));
}

/**
 * Redacts the secrets and access tokens in a client's text that is logged or sent back. If a secret is percent-encoded,
 * the result is the decoded text, so that plain and encoded secrets are both redacted.
 */
export function withoutSecrets(text: string): string {
  if (!holdsSecret(text)) return text;
  const redacted = text.replaceAll(SECRETS, 'tg_$1_[redacted]');
  return holdsSecret(redacted) ? decoded(redacted).replaceAll(SECRETS, 'tg_$1_[redacted]') : redacted;
}

/** Percent-decodes a text once, byte by byte. Leaves invalid escapes unchanged. */
function decoded(text: string): string {
  return text.replaceAll(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/**
 * Prefix of the access tokens of OAuth clients. The rest of a token has the format of a secret. The prefix
 * distinguishes tokens from keys without a lookup, and a token is not accepted as a key.
 */
const ACCESS_TOKEN_PREFIX = 'tg_mcpt_';

/** Hint of keys whose secrets are access tokens. */
export const ACCESS_TOKEN_HINT = `${ACCESS_TOKEN_PREFIX}…`;

/** Creates an access token with 178 bits of entropy. */
export function createAccessToken(): string {
  const random = randomBase62(RANDOM_LENGTH);
  return `${ACCESS_TOKEN_PREFIX}${random}${keyChecksum(random)}`;
}

/** Reports whether a text has the format and checksum of an access token. */
export function isAccessToken(text: string): boolean {
  return (
    text.startsWith(ACCESS_TOKEN_PREFIX) && isWellFormedSecret(`tg_live_${text.slice(ACCESS_TOKEN_PREFIX.length)}`)
  );
}
