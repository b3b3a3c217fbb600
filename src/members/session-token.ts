/**
 * Creates, checks and hashes the tokens of sessions, sign-in steps and links. A token has 256 random bits. The database
 * stores only its hash.
 */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';

const TOKEN_BYTES = 32;
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** Creates a token of 256 random bits, in characters that are safe in cookies and URLs. */
export function createToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url');
}

/** Reports whether a value has the format of a token. The database contains no hash of any other value. */
export function isToken(text: unknown): text is string {
  return typeof text === 'string' && TOKEN.test(text);
}

/**
 * Hashes a token for storage and lookup, with SHA-256 in lower-case hex. Account token secrets are hashed in the same
 * way.
 */
export function hashToken(token: string): string {
  return hash('sha256', token, 'hex');
}

/**
 * Derives the CSRF token of a session from the session's cookie. A page must send the CSRF token with its requests. The
 * cookie cannot be derived from the CSRF token.
 */
export function csrfTokenOf(sessionToken: string): string {
  return hash('sha256', `csrf\0${sessionToken}`, 'base64url');
}

/** Compares two texts in constant time. */
export function isSame(one: string, other: string): boolean {
  return timingSafeEqual(hash('sha256', one, 'buffer'), hash('sha256', other, 'buffer'));
}
