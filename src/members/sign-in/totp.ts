/** Codes of an authenticator app: RFC 6238 with SHA-1, six digits and thirty seconds, which is what every app takes. */
import { createHmac, timingSafeEqual } from 'node:crypto';

const STEP_MS = 30_000;
const DIGITS = 6;
/** RFC 4226 section 4 asks for 128 bits, and recommends 160. */
export const TOTP_SECRET_BYTES = 20;
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const BITS_OF_CHARACTER = 5;

/** The hash functions of RFC 6238; apps know the first alone. */
type Algorithm = 'sha1' | 'sha256' | 'sha512';

/** Works out the code of one number (RFC 4226 section 5.3). */
export function hotp(key: Buffer, counter: number, digits: number = DIGITS, algorithm: Algorithm = 'sha1'): string {
  const block = Buffer.alloc(8);
  block.writeBigUInt64BE(BigInt(counter));
  const mac = createHmac(algorithm, key).update(block).digest();
  const offset = (mac.at(-1) ?? 0) & 15;
  return String((mac.readUInt32BE(offset) & 0x7fff_ffff) % 10 ** digits).padStart(digits, '0');
}

/**
 * Finds the time step that a code belongs to: now, or one either side for a clock that is off.
 * @param lastStep of the code that was taken last: no code works twice, nor an older one after it (RFC 6238, 5.2).
 * @returns null where it is none of them.
 */
export function matchingStep(key: Buffer, code: string, nowMs: number, lastStep: number): number | null {
  if (!/^\d{6}$/.test(code)) return null;
  const now = Math.floor(nowMs / STEP_MS);
  const given = Buffer.from(code);
  // All three are worked out, so that the time does not tell which of them it was.
  const found = [now - 1, now, now + 1].filter((step) => timingSafeEqual(Buffer.from(hotp(key, step)), given));
  return found.find((step) => step > lastStep) ?? null;
}

/** Writes bytes in base 32 without padding (RFC 4648 section 6), as apps take a secret by hand. */
export function base32(bytes: Uint8Array): string {
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('');
  const groups = bits.match(new RegExp(`.{1,${BITS_OF_CHARACTER}}`, 'g')) ?? [];
  return groups.map((group) => BASE32[Number.parseInt(group.padEnd(BITS_OF_CHARACTER, '0'), 2)]).join('');
}

/** What the picture that an app scans says: the secret, and under which name the app shows its codes. */
export function otpauthUri(secret: Buffer, issuer: string, member: string): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(member)}`;
  return `otpauth://totp/${label}?secret=${base32(secret)}&issuer=${encodeURIComponent(issuer)}`;
}
