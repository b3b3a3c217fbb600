/** Who tries links that do not work is throttled like who tries passwords. */
import type { SignInAttempts } from '../../members/sign-in/attempts.js';
import { Problem } from '../../platform/problems/errors.js';

/**
 * Refusals that count as a try: there is no such link, or its address has a member. Without the second one, whoever
 * invites could ask for the members of the installation as fast as they can type addresses.
 */
const COUNTED: ReadonlySet<unknown> = new Set(['link_ended', 'missing_credentials']);

/** Does what a link is tried for, and counts refusals. @throws Problem `too_many_failed_attempts` */
export async function countingTries<Result>(
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
