/** The secrets that name a session, a step of a sign-in or a link: random, long, and stored as hashes only. */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';

const TOKEN_BYTES = 32;
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** A new secret of 256 random bits, in characters that a cookie and a URL take as they are. */
export function createToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url');
}

/** Whether a text has the form of one of ours; anything else is in no table. */
export function isToken(text: unknown): text is string {
  return typeof text === 'string' && TOKEN.test(text);
}

/** How a secret is stored and looked up: SHA-256, lower-case hex. */
export function hashToken(token: string): string {
  return hash('sha256', token, 'hex');
}

/** What a page sends back to show that it could read our responses: derived from the cookie, useless as one. */
export function csrfTokenOf(sessionToken: string): string {
  return hash('sha256', `csrf\0${sessionToken}`, 'base64url');
}

/** Whether two texts are the same, in a time that does not tell how much of them is. */
export function isSame(one: string, other: string): boolean {
  return timingSafeEqual(hash('sha256', one, 'buffer'), hash('sha256', other, 'buffer'));
}
