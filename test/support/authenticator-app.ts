/** An authenticator app: it keeps a secret that somebody has typed, and shows codes. */
import { hotp } from '../../src/members/sign-in/totp.js';

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const STEP_MS = 30_000;

/** The bytes that an app keeps. */
export function fromBase32(text: string): Buffer {
  const bits = [...text].map((character) => BASE32.indexOf(character).toString(2).padStart(5, '0')).join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}

/** Returns the code of the app at a time. @param off steps from it */
export function codeAt(secret: Buffer, nowMs: number, off = 0): string {
  return hotp(secret, Math.floor(nowMs / STEP_MS) + off);
}

/** A code that is not right at that time, nor near it. */
export function wrongCodeAt(secret: Buffer, nowMs: number): string {
  const near = [-1, 0, 1].map((off) => codeAt(secret, nowMs, off));
  return ['000000', '111111', '222222', '333333'].find((code) => !near.includes(code)) ?? '';
}
