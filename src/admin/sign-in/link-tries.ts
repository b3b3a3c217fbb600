/** Who tries links that do not work is throttled like who tries passwords. */
import type { SignInAttempts } from '../../members/sign-in/attempts.js';
import { Problem } from '../../problems/errors.js';

/** Does what a link is tried for; counts it where there is no such link. Rejects with `too_many_failed_attempts`. */
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
    if (!(error instanceof Problem) || error.code !== 'link_ended') await attempt.refunded();
    throw error;
  }
}
