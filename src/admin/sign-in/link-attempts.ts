/** Limits attempts with invalid links, as for passwords. */
import type { SignInAttempts } from '../../members/sign-in/attempts.js';
import { Problem } from '../../platform/problems/errors.js';

/**
 * Error codes that count as failed attempts. `link_ended` is an invalid link. `missing_credentials` means that the
 * link's email address already belongs to a member. If it did not count, inviters could test many addresses for
 * members.
 */
const COUNTED: ReadonlySet<unknown> = new Set(['link_ended', 'missing_credentials']);

/**
 * Runs `work`, which uses a link, and counts its failures for an address. Rejects with the error of `work`.
 * @throws Problem `too_many_failed_attempts` if the address has had too many failures
 */
export async function countFailedTries<Result>(
  attempts: SignInAttempts,
  ip: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const attempt = await attempts.beginUnnamed(ip);
  try {
    const result = await work();
    await attempt.refunded();
    return result;
  } catch (error) {
    if (!(error instanceof Problem) || !COUNTED.has(error.code)) await attempt.refunded();
    throw error;
  }
}
