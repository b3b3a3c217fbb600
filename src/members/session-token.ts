/** Tokens of sessions, sign-in steps and links: random, 256 bits, stored as hashes only. */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';

const TOKEN_BYTES = 32;
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** Creates a token of 256 random bits, in characters that are safe in cookies and URLs. */
export function createToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url');
}

/** Reports whether a value has the format of a secret. No other value can be in the database. */
export function isToken(text: unknown): text is string {
  return typeof text === 'string' && TOKEN.test(text);
}

/** Hashes a secret for storage and lookup: SHA-256, lower-case hex. */
export function hashToken(token: string): string {
  return hash('sha256', token, 'hex');
}

/**
 * Derives the CSRF token of a session from its cookie. A page must send the CSRF token back. The token cannot replace
 * the cookie.
 */
export function csrfTokenOf(sessionToken: string): string {
  return hash('sha256', `csrf\0${sessionToken}`, 'base64url');
}

/** Compares two texts in constant time. */
export function isSame(one: string, other: string): boolean {
  return timingSafeEqual(hash('sha256', one, 'buffer'), hash('sha256', other, 'buffer'));
}
