/** Reads when a receiver wants to be asked again (RFC 9110 section 10.2.3). */

const SECONDS = /^\d{1,9}$/;
/** The one form of a date that is still sent (RFC 9110 section 5.6.7). */
const IMF_FIXDATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;
const MS_PER_SECOND = 1_000;

/** How long to wait by a `Retry-After`, at least 0; undefined where it says nothing that can be read. */
export function retryAfterMs(field: string | undefined, nowMs: number): number | undefined {
  const text = field?.trim() ?? '';
  if (SECONDS.test(text)) return Number(text) * MS_PER_SECOND;
  if (!IMF_FIXDATE.test(text)) return undefined;
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}
