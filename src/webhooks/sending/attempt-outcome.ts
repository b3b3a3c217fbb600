/** Determines the outcome of a webhook attempt from the response, and parses `Retry-After`. */

/**
 * Outcome of an attempt.
 * - `succeeded`: 2xx.
 * - `gone`: 410. The endpoint is then disabled.
 * - `aborted`: the receiver wants no more attempts of this delivery.
 * - `failed`: anything else, including redirects and missing responses. Only this outcome is retried.
 */
export type AttemptOutcome = 'succeeded' | 'gone' | 'aborted' | 'failed';

/** Outcome of an attempt, with the pause that the receiver requested. */
export interface AttemptResult {
  readonly outcome: AttemptOutcome;
  /** `Retry-After` of a 429 or 503 response in milliseconds; undefined if missing or malformed. */
  readonly retryAfterMs?: number | undefined;
}

/** The parts of a response that determine the outcome. */
export interface AttemptResponse {
  readonly statusCode: number;
  readonly retryAfter?: string | undefined;
  /** Value of the `webhook-delivery` header field. */
  readonly webhookDelivery?: string | undefined;
}

const GONE = 410;
/** Status codes for which `Retry-After` is used. */
const RETRY_AFTER_STATUSES: ReadonlySet<number> = new Set([429, 503]);
/** Value of `webhook-delivery` with which a receiver ends a delivery. Svix uses the same value. */
const ABORT = 'abort-message';

/** Returns the outcome for a response. @param response undefined if there was no response. */
export function attemptResult(response: AttemptResponse | undefined, nowMs: number): AttemptResult {
  if (response === undefined) return { outcome: 'failed' };
  const { statusCode, retryAfter, webhookDelivery } = response;
  if (statusCode >= 200 && statusCode <= 299) return { outcome: 'succeeded' };
  if (statusCode === GONE) return { outcome: 'gone' };
  if (webhookDelivery?.trim().toLowerCase() === ABORT) return { outcome: 'aborted' };
  if (!RETRY_AFTER_STATUSES.has(statusCode)) return { outcome: 'failed' };
  return { outcome: 'failed', retryAfterMs: retryAfterMs(retryAfter, nowMs) };
}

const SECONDS = /^\d{1,9}$/;
/** The only date format that senders may generate (RFC 9110 section 5.6.7). */
const IMF_FIXDATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;
const MS_PER_SECOND = 1_000;

/** Returns the pause of `Retry-After` (RFC 9110 section 10.2.3); undefined if the field is missing or malformed. */
export function retryAfterMs(field: string | undefined, nowMs: number): number | undefined {
  const text = field?.trim() ?? '';
  if (SECONDS.test(text)) return Number(text) * MS_PER_SECOND;
  if (!IMF_FIXDATE.test(text)) return undefined;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}
