/** The throttle of what costs nothing: lists, prompts, and the tools of the server itself. */
import type { CachedKey } from '../../keys/cached-key.js';
import type { OwnPolicy } from '../../limits/model/headers.js';
import type { Limiter } from '../../limits/limiter.js';
import { Problem } from '../../problems/errors.js';

/** Of one key, whatever its plan says. */
export const FREE_CALLS_PER_MINUTE = 120;
const MINUTE_SECONDS = 60;
/** Its name among the policies of `RateLimit`. */
export const FREE_CALLS_POLICY = 'mcp-free-calls';

/** FreeCalls counts them. */
export class FreeCalls {
  constructor(private readonly quotas: Pick<Limiter, 'increment'>) {}

  /** Counts one: what is left of the limit, or why it is refused. */
  async count({ record }: CachedKey): Promise<OwnPolicy | Problem> {
    const windowMs = MINUTE_SECONDS * 1_000;
    const { isBlocked, totalHits, timeToExpire } = await this.quotas.increment(
      record.keyId,
      windowMs,
      FREE_CALLS_PER_MINUTE,
      0,
      'mcp',
    );
    if (isBlocked) return tooMany(timeToExpire);
    return {
      name: FREE_CALLS_POLICY,
      limit: FREE_CALLS_PER_MINUTE,
      windowSeconds: MINUTE_SECONDS,
      remaining: FREE_CALLS_PER_MINUTE - totalHits,
      resetSeconds: timeToExpire,
    };
  }
}

function tooMany(seconds: number): Problem {
  return new Problem('rate_limited', {
    detail:
      `What costs nothing can be asked for ${FREE_CALLS_PER_MINUTE} times a minute with one key. ` +
      `Try again in ${seconds} seconds. Calls of the API's own tools have the limits of the plan alone.`,
    headers: ['Retry-After', String(seconds), 'X-Should-Retry', 'true'],
    violatedPolicies: [FREE_CALLS_POLICY],
    retryAfter: seconds,
  });
}
