/**
 * `Retry-After` (RFC 9110 section 10.2.3): how long a client is asked to wait, and what a backend's own field asks for.
 */

/**
 * The longest that a client is asked to wait. HTTP libraries obey in silence: a program that is asked for days stands
 * still for days, and beyond 2^31 - 1 ms, some 24.8 days, their timers overflow and fire at once.
 */
export const LONGEST_WAIT_MS = 60 * 60 * 1_000;

/**
 * What some SDKs obey at most (openai's, and others made by the same generator): asked for more, they go by pauses of
 * their own, which are much shorter. So chance never lifts a wait above it.
 */
const LONGEST_OBEYED_SECONDS = 60;

/** The fields of what a library is not to send again on its own. */
export const DO_NOT_RETRY: readonly string[] = ['X-Should-Retry', 'false'];

/** A wait is longer by up to a quarter of it, at random, and by up to so much where that is less. */
const LEAST_SPREAD_SECONDS = 3;

/**
 * The fields of a refusal of which nothing was sent to anybody: when to send it again. In whole seconds,
 * never before anything can be different, and later by a little at random: who was refused at the same moment
 * must not come back at the same moment.
 * @param knownMs how long nothing will be different; 0 where nobody knows.
 * @param random from 0 on, below 1.
 */
export function retryFields(knownMs: number, random = Math.random()): string[] {
  if (knownMs > LONGEST_WAIT_MS) return [...DO_NOT_RETRY];
  const seconds = Math.max(1, Math.ceil(knownMs / 1_000));
  const later = Math.floor(random * Math.max(LEAST_SPREAD_SECONDS, seconds / 4));
  return ['Retry-After', String(Math.min(spread(seconds, later), LONGEST_WAIT_MS / 1_000)), 'X-Should-Retry', 'true'];
}

/** A wait with its part of chance, which does not lift it above what all clients obey. */
export function spread(seconds: number, later: number): number {
  return seconds <= LONGEST_OBEYED_SECONDS ? Math.min(seconds + later, LONGEST_OBEYED_SECONDS) : seconds + later;
}

const SECONDS = /^\d{1,9}(?:\.\d{1,9})?$/;
const HTTP_DATE = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/;

/**
 * The whole seconds that a backend's `Retry-After` asks for; undefined where it is neither seconds nor a date, or asks
 * for more than the longest wait.
 * @param date the backend's `Date`, from which a date counts: its clock need not be ours.
 */
export function waitSecondsOf(retryAfter: string, date: string | undefined): number | undefined {
  const seconds = SECONDS.test(retryAfter) ? Math.ceil(Number(retryAfter)) : secondsBetween(date ?? '', retryAfter);
  return seconds * 1_000 <= LONGEST_WAIT_MS ? seconds : undefined;
}

/** NaN where one of them is no date. */
function secondsBetween(from: string, to: string): number {
  if (!HTTP_DATE.test(from) || !HTTP_DATE.test(to)) return NaN;
  return Math.max(0, Math.ceil((Date.parse(to) - Date.parse(from)) / 1_000));
}
