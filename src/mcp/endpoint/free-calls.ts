/**
 * Limits the rate of free MCP calls, which use no quota. All methods and notifications are free, except for calls of
 * API operations.
 */
import type { CachedKey } from '../../keys/cached-key.js';
import type { OwnPolicy } from '../../quota/model/headers.js';
import type { Limiter } from '../../quota/limiter.js';
import { retryAfterOf, type Throttle } from '../../quota/throttle.js';
import { THROTTLES } from '../../quota/model/throttle-rows.js';
import { Problem } from '../../platform/problems/errors.js';

/** Name of the limit in the `RateLimit` field. */
export const FREE_CALLS_POLICY = 'mcp-free-calls';

const { limit: LIMIT, windowMs: WINDOW_MS } = THROTTLES.mcpFreeCalls;

/** FreeCalls counts and limits the free calls of each API key. */
export class FreeCalls {
  private readonly throttle: Throttle;

  constructor(quotas: Pick<Limiter, 'throttle'>) {
    this.throttle = quotas.throttle(THROTTLES.mcpFreeCalls);
  }

  /**
   * Counts a free call of a key. Resolves to the state of the limit, or to the problem if the limit is exceeded.
   * Rejects if the counters are unavailable.
   */
  async count({ record }: CachedKey): Promise<OwnPolicy | Problem> {
    const verdict = await this.throttle.countHit(record.keyId);
    const resetSeconds = retryAfterOf(verdict);
    if (!verdict.admitted) return tooMany(resetSeconds);
    const remaining = LIMIT - verdict.hits;
    return {
      name: FREE_CALLS_POLICY,
      limit: LIMIT,
      windowSeconds: WINDOW_MS / 1_000,
      remaining: remaining,
      resetSeconds,
    };
  }
}

function tooMany(seconds: number): Problem {
  return new Problem('rate_limited', {
    detail:
      `A key can make ${LIMIT} free calls a minute. ` +
      `Try again in ${seconds} seconds. Calls of the API's own tools have the limits of the plan alone.`,
    headers: ['Retry-After', String(seconds), 'X-Should-Retry', 'true'],
    violatedPolicies: [FREE_CALLS_POLICY],
    retryAfter: seconds,
  });
}
