/** Computes and parses `Retry-After` (RFC 9110 section 10.2.3), for our refusals and from backends. */

/**
 * Maximum wait that a response requests. HTTP libraries obey silently, so a program could sleep for days. Beyond 2^31 -
 * 1 ms (24.8 days), timers overflow and fire immediately.
 */
export const LONGEST_WAIT_MS = 60 * 60 * 1_000;

/**
 * Maximum wait that some SDKs obey, such as that of OpenAI. For a longer wait, these SDKs use much shorter pauses of
 * their own. Jitter therefore never raises a shorter wait above this limit.
 */
const LONGEST_OBEYED_SECONDS = 60;

/** Header fields that tell HTTP libraries not to retry. */
export const DO_NOT_RETRY: readonly string[] = ['X-Should-Retry', 'false'];

/** Minimum range of the jitter, in seconds. Otherwise the range is a quarter of the wait. */
const LEAST_SPREAD_SECONDS = 3;

/**
 * Returns the header fields of a refusal that tell clients when to retry. The wait is in whole seconds, and never ends
 * before the state can change. Jitter spreads the retries of clients that were refused at the same time.
 * @param knownMs time for which the state will not change, in milliseconds; 0 if unknown
 * @param random random number, at least 0 and less than 1
 */
export function retryFields(knownMs: number, random = Math.random()): string[] {
  if (knownMs > LONGEST_WAIT_MS) return [...DO_NOT_RETRY];
  const seconds = Math.max(1, Math.ceil(knownMs / 1_000));
  const jitter = Math.floor(random * Math.max(LEAST_SPREAD_SECONDS, seconds / 4));
  return [
    'Retry-After',
    String(Math.min(addJitter(seconds, jitter), LONGEST_WAIT_MS / 1_000)),
    'X-Should-Retry',
    'true',
  ];
}

/** Adds jitter to a wait. Never raises a shorter wait above `LONGEST_OBEYED_SECONDS`. */
export function addJitter(seconds: number, jitter: number): number {
  return seconds <= LONGEST_OBEYED_SECONDS ? Math.min(seconds + jitter, LONGEST_OBEYED_SECONDS) : seconds + jitter;
}

const SECONDS = /^\d{1,9}(?:\.\d{1,9})?$/;
const HTTP_DATE = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/;

/**
 * Parses a backend's `Retry-After` into whole seconds. Returns undefined for an invalid value, and for more than
 * `LONGEST_WAIT_MS`.
 * @param date the backend's `Date`, because its clock can differ from ours
 */
export function waitSecondsOf(retryAfter: string, date: string | undefined): number | undefined {
  const seconds = SECONDS.test(retryAfter) ? Math.ceil(Number(retryAfter)) : secondsBetween(date ?? '', retryAfter);
  return seconds * 1_000 <= LONGEST_WAIT_MS ? seconds : undefined;
}

/** Returns the whole seconds between two HTTP dates, or NaN if one of them is not a date. */
function secondsBetween(from: string, to: string): number {
  if (!HTTP_DATE.test(from) || !HTTP_DATE.test(to)) return NaN;
  return Math.max(0, Math.ceil((Date.parse(to) - Date.parse(from)) / 1_000));
}
