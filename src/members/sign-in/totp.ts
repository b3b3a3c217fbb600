/**
 * Computes and checks time-based one-time passwords (RFC 6238). Uses SHA-1, six digits and 30 seconds, which every
 * authenticator app supports.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

const STEP_MS = 30_000;
const DIGITS = 6;
/** Length of a new secret in bytes: 160 bits. RFC 4226 section 4 requires 128 bits and recommends 160. */
export const TOTP_SECRET_BYTES = 20;
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const BITS_OF_CHARACTER = 5;

/** Algorithm is a hash function of RFC 6238. Most apps support only SHA-1. */
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
 * Finds the time step of a code. Accepts the current, the previous and the next step, because clocks differ.
 * @param lastStep step of the last accepted code; only codes of later steps are accepted, so that no code works twice
 * (RFC 6238 section 5.2)
 * @returns the step, or null if the code is wrong or not newer than `lastStep`
 */
export function matchingStep(key: Buffer, code: string, nowMs: number, lastStep: number): number | null {
  if (!/^\d{6}$/.test(code)) return null;
  const now = Math.floor(nowMs / STEP_MS);
  const given = Buffer.from(code);
  // Compare all three codes, so that timing does not reveal which code matched.
  const found = [now - 1, now, now + 1].filter((step) => timingSafeEqual(Buffer.from(hotp(key, step)), given));
  return found.find((step) => step > lastStep) ?? null;
}

/** Encodes bytes as base 32 without padding (RFC 4648 section 6), for manual entry in an app. */
export function base32(bytes: Uint8Array): string {
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('');
  const groups = bits.match(new RegExp(`.{1,${BITS_OF_CHARACTER}}`, 'g')) ?? [];
  return groups.map((group) => BASE32[Number.parseInt(group.padEnd(BITS_OF_CHARACTER, '0'), 2)]).join('');
}

/** Returns the `otpauth:` URI of a secret, for the QR code. */
export function otpauthUri(secret: Buffer, issuer: string, member: string): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(member)}`;
  return `otpauth://totp/${label}?secret=${base32(secret)}&issuer=${encodeURIComponent(issuer)}`;
}
