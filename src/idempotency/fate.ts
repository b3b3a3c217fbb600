/** What becomes of the claim of a request that its backend has responded to. */

/**
 * - `kept`: the response is the result of the request, and is told again.
 * - `released`: the request was not carried out, and may be sent again.
 * - `unknown`: nobody can say, and it is never sent a second time.
 */
export type Fate = 'kept' | 'released' | 'unknown';

/**
 * Statuses that say that a request was not carried out (RFC 9110 section 15, RFC 6585): it did not come in time, came
 * to the wrong place, too early, too often, or to a server that cannot handle it at present.
 */
const NOT_CARRIED_OUT: ReadonlySet<number> = new Set([408, 421, 425, 429, 503]);

/** Of whoever stands between us and what carries the request out, and has lost its response. */
const LOST_BEHIND: ReadonlySet<number> = new Set([502, 504]);

/** By which a service refuses the gateway, and not the caller, unless it `authenticates`. */
const REFUSES_US: ReadonlySet<number> = new Set([401, 403, 407]);

/**
 * The fate by the backend's own status. Any result is kept, also 4xx and 500: a retry hears what the first request
 * heard, and nothing is done twice on the hope that it was not done.
 * @param authenticates whether the service's 401 and 403 speak to the caller.
 */
export function fateOf(status: number, authenticates: boolean): Fate {
  if (NOT_CARRIED_OUT.has(status) || (REFUSES_US.has(status) && !authenticates)) return 'released';
  return LOST_BEHIND.has(status) ? 'unknown' : 'kept';
}
