/** Addresses that keep trying tokens, of whatever kind, are let try no more for a while. */
import { normalizeIp, type ThrottlerStorage } from '@nestjs/throttler';
import { Problem } from '../../problems/errors.js';

/** A person mistypes a token a few times; a program tries thousands. */
const FAILED_ATTEMPTS = { limit: 10, windowMs: 60_000 } as const;

/**
 * Counts a wrong token. Rejects with 429 where there were too many from this address. The right token is never locked
 * out: it cannot be guessed, and its owner may share the address of who tries.
 */
export async function countFailedToken(storage: ThrottlerStorage, ip: string): Promise<void> {
  const { limit, windowMs } = FAILED_ATTEMPTS;
  const key = `admin-failed:${normalizeIp(ip)}`;
  const attempts = await storage.increment(key, windowMs, limit, windowMs, 'admin-failed');
  if (!attempts.isBlocked) return;
  const seconds = String(Math.max(1, Math.ceil(attempts.timeToBlockExpire)));
  throw new Problem('too_many_failed_attempts', {
    detail: `Too many wrong tokens from this address. Wait ${seconds} seconds.`,
    headers: ['Retry-After', seconds],
  });
}
