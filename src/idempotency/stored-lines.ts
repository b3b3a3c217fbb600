/** Selects the header lines of a response that are stored for retries of its request. */

/** Headers that belong to a single response. The gateway sets its own values when it replays a stored response. */
const NOT_STORED: ReadonlySet<string> = new Set(['date', 'idempotent-replayed', 'idempotency-stored']);

/**
 * Returns the header lines to store, in the original order.
 * @param lines header lines, each with its CRLF.
 */
export function selectStoredLines(lines: string): string {
  let kept = '';
  for (let at = 0, next = 0; at < lines.length; at = next) {
    next = lines.indexOf('\n', at) + 1;
    const name = lines.slice(at, lines.indexOf(':', at)).toLowerCase();
    if (!NOT_STORED.has(name)) kept += lines.slice(at, next);
  }
  return kept;
}
