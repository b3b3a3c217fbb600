/** What an attempt came to, by the status of the response. */

/**
 * - `succeeded`: 2xx.
 * - `gone`: 410, the receiver is not there any more; its endpoint is disabled.
 * - `aborted`: the receiver wants no more attempts of this delivery, and says so.
 * - `failed`: anything else, a redirect and no response at all too; it is attempted again.
 */
export type AttemptOutcome = 'succeeded' | 'gone' | 'aborted' | 'failed';

/** Of an attempt, as far as it says what happens next. */
export interface AttemptResult {
  readonly outcome: AttemptOutcome;
  /** Of 429 and 503: the receiver has too much to do. */
  readonly retryAfterMs?: number | undefined;
}

/** What is looked at of a response. */
export interface AttemptResponse {
  readonly statusCode: number;
  readonly retryAfter?: string | undefined;
  /** The field `webhook-delivery`. */
  readonly webhookDelivery?: string | undefined;
}

const GONE = 410;
const ASKS_FOR_TIME: ReadonlySet<number> = new Set([429, 503]);
/** By which a receiver ends a delivery; Svix has it, too. */
const ABORT = 'abort-message';

/** Judges a response; undefined stands for an attempt without one. */
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
/** The one form of a date that is still sent (RFC 9110 section 5.6.7). */
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
