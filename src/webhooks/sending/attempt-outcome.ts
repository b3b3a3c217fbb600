/** Determines the outcome of an attempt from the response. */

/**
 * Outcome of an attempt. `succeeded`: 2xx. `gone`: 410, and the endpoint is disabled. `aborted`: the receiver asked for
 * no more attempts of this delivery. `failed`: anything else, including redirects and missing responses. Only `failed`
 * is retried.
 */
export type AttemptOutcome = 'succeeded' | 'gone' | 'aborted' | 'failed';

/** Outcome with the requested pause. */
export interface AttemptResult {
  readonly outcome: AttemptOutcome;
  /** `Retry-After` of a 429 or 503 response. */
  readonly retryAfterMs?: number | undefined;
}

/** The relevant parts of a response. */
export interface AttemptResponse {
  readonly statusCode: number;
  readonly retryAfter?: string | undefined;
  /** Value of the `webhook-delivery` field. */
  readonly webhookDelivery?: string | undefined;
}

const GONE = 410;
const ASKS_FOR_TIME: ReadonlySet<number> = new Set([429, 503]);
/** Value with which a receiver ends a delivery, as with Svix. */
const ABORT = 'abort-message';

/** Returns the outcome for a response; undefined means that there was none. */
export function attemptResult(response: AttemptResponse | undefined, nowMs: number): AttemptResult {
  if (response === undefined) return { outcome: 'failed' };
  const { statusCode, retryAfter, webhookDelivery } = response;
  if (statusCode >= 200 && statusCode <= 299) return { outcome: 'succeeded' };
  if (statusCode === GONE) return { outcome: 'gone' };
  if (webhookDelivery?.trim().toLowerCase() === ABORT) return { outcome: 'aborted' };
  if (!ASKS_FOR_TIME.has(statusCode)) return { outcome: 'failed' };
  return { outcome: 'failed', retryAfterMs: retryAfterMs(retryAfter, nowMs) };
}

const SECONDS = /^\d{1,9}$/;
/** The only date format that may be generated (RFC 9110 section 5.6.7). */
const IMF_FIXDATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;
const MS_PER_SECOND = 1_000;

/** Reads `Retry-After` (RFC 9110 section 10.2.3). Returns at least 0; undefined if the field is missing or malformed. */
export function retryAfterMs(field: string | undefined, nowMs: number): number | undefined {
  const text = field?.trim() ?? '';
  if (SECONDS.test(text)) return Number(text) * MS_PER_SECOND;
  if (!IMF_FIXDATE.test(text)) return undefined;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}
