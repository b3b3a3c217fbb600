/** Decides how the status of a backend response ends the claim of its request. */

/**
 * StatusOutcome tells how a claim ends.
 * - `kept`: the response is the result of the request, and retries get the same response.
 * - `released`: the request was not carried out, and the client can send it again.
 * - `unknown`: the request may have been carried out, and retries are refused.
 */
export type StatusOutcome = 'kept' | 'released' | 'unknown';

/** Status codes of requests that were not carried out (RFC 9110 section 15, RFC 6585, RFC 8470). */
const NOT_CARRIED_OUT: ReadonlySet<number> = new Set([408, 421, 425, 429, 503]);

/** Status codes of a proxy in front of the backend that got no valid response. */
const PROXY_ERRORS: ReadonlySet<number> = new Set([502, 504]);

/** Status codes that reject the credentials of the gateway, unless the service has `authenticates`. */
const REFUSES_GATEWAY: ReadonlySet<number> = new Set([401, 403, 407]);

/**
 * Returns how a claim ends. Returns `kept` for every status outside the three sets, including other 4xx and 500,
 * because the request may have had an effect.
 * @param status status of the backend response, before the gateway changes it.
 * @param authenticates whether 401, 403 and 407 of the service are meant for the caller.
 */
export function outcomeOfStatus(status: number, authenticates: boolean): StatusOutcome {
  if (NOT_CARRIED_OUT.has(status) || (REFUSES_GATEWAY.has(status) && !authenticates)) return 'released';
  return PROXY_ERRORS.has(status) ? 'unknown' : 'kept';
}
