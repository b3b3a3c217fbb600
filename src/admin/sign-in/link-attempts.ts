/** Limits the attempts of a network with invalid links, as with wrong passwords. */
import type { SignInAttempts } from '../../members/sign-in/attempts.js';
import { Problem } from '../../platform/problems/errors.js';

/**
 * Error codes that count as failed attempts. `link_ended` is an invalid link. `missing_credentials` can mean that the
 * email address of the link belongs to a member. Otherwise, inviters could test many addresses for members.
 */
const COUNTED: ReadonlySet<unknown> = new Set(['link_ended', 'missing_credentials']);

/**
 * Runs `work`, which reads or uses a link, and counts its failures for the network of `ip`. Rejects with the error of
 * `work`.
 * @throws Problem `too_many_failed_attempts` if the network has had too many failures
 */
export async function countFailedTries<Result>(
  attempts: SignInAttempts,
  ip: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const attempt = await attempts.beginUnnamed(ip);
  try {
    const result = await work();
    await attempt.uncount();
    return result;
  } catch (error) {
    if (!(error instanceof Problem) || !COUNTED.has(error.code)) await attempt.uncount();
    throw error;
  }
}
