/** Time-based one-time passwords (RFC 6238) with SHA-1, six digits and 30 seconds, which every app supports. */
import { createHmac, timingSafeEqual } from 'node:crypto';

const STEP_MS = 30_000;
const DIGITS = 6;
/** Length of a new secret: 160 bits. RFC 4226 section 4 requires 128 bits and recommends 160. */
export const TOTP_SECRET_BYTES = 20;
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const BITS_OF_CHARACTER = 5;

/** Hash functions of RFC 6238. Most apps support only SHA-1. */
type Algorithm = 'sha1' | 'sha256' | 'sha512';

/** Computes an HOTP value (RFC 4226 section 5.3). */
export function hotp(key: Buffer, counter: number, digits: number = DIGITS, algorithm: Algorithm = 'sha1'): string {
  const block = Buffer.alloc(8);
  block.writeBigUInt64BE(BigInt(counter));
  const mac = createHmac(algorithm, key).update(block).digest();
  const offset = (mac.at(-1) ?? 0) & 15;
  return String((mac.readUInt32BE(offset) & 0x7fff_ffff) % 10 ** digits).padStart(digits, '0');
}

/**
 * Finds the time step of a code. Accepts the current step and one on either side, for clock differences.
 * @param lastStep step of the last accepted code. No code works twice, and no older code works after it (RFC 6238
 * section 5.2).
 * @returns the step, or null if the code is wrong
 */
export function matchingStep(key: Buffer, code: string, nowMs: number, lastStep: number): number | null {
  if (!/^\d{6}$/.test(code)) return null;
  const now = Math.floor(nowMs / STEP_MS);
  const given = Buffer.from(code);
  // Compute all three codes, so that timing does not reveal which one matched.
  const found = [now - 1, now, now + 1].filter((step) => timingSafeEqual(Buffer.from(hotp(key, step)), given));
  return found.find((step) => step > lastStep) ?? null;
}

/** Encodes bytes as base 32 without padding (RFC 4648 section 6), for manual entry. */
export function base32(bytes: Uint8Array): string {
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('');
  const groups = bits.match(new RegExp(`.{1,${BITS_OF_CHARACTER}}`, 'g')) ?? [];
  return groups.map((group) => BASE32[Number.parseInt(group.padEnd(BITS_OF_CHARACTER, '0'), 2)]).join('');
}

/** Builds the `otpauth:` URI for the QR code. */
export function otpauthUri(secret: Buffer, issuer: string, member: string): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(member)}`;
  return `otpauth://totp/${label}?secret=${base32(secret)}&issuer=${encodeURIComponent(issuer)}`;
}
