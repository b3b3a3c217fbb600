/** Limits tries of invalid links like tries of passwords. */
import type { SignInAttempts } from '../../members/sign-in/attempts.js';
import { Problem } from '../../platform/problems/errors.js';

/**
 * Problems that count as a failed try: an invalid link, or an address that already has a member. Without the second,
 * inviters could test quickly which addresses have a member.
 */
const COUNTED: ReadonlySet<unknown> = new Set(['link_ended', 'missing_credentials']);

/**
 * Runs a try with a link and counts failures.
 * @throws Problem `too_many_failed_attempts`
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
