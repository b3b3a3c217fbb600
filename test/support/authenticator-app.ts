/** Simulates an authenticator app, which stores a typed secret and shows one-time codes (TOTP). */
import { hotp } from '../../src/members/sign-in/totp.js';

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const STEP_MS = 30_000;

/** Decodes the base 32 text of a secret, without padding. */
export function fromBase32(text: string): Buffer {
  const bits = [...text].map((character) => BASE32.indexOf(character).toString(2).padStart(5, '0')).join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}

/**
 * Returns the code that the app shows at a time.
 * @param off number of 30-second steps to add to the time
 */
export function codeAt(secret: Buffer, nowMs: number, off = 0): string {
  return hotp(secret, Math.floor(nowMs / STEP_MS) + off);
}

/** Returns a code that is invalid at a time, and also one step before and after it. */
export function wrongCodeAt(secret: Buffer, nowMs: number): string {
  const near = [-1, 0, 1].map((off) => codeAt(secret, nowMs, off));
  return ['000000', '111111', '222222', '333333'].find((code) => !near.includes(code)) ?? '';
}
