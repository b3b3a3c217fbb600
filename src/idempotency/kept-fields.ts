/** Which field lines of a response are kept: those that are the same each time it is told. */

/**
 * What belongs to one response and not to what it says: when it was made, and whether it was told before, which is the
 * gateway's to say of what it has kept.
 */
const OF_ONE_RESPONSE: ReadonlySet<string> = new Set(['date', 'idempotent-replayed', 'idempotency-stored']);

/** @param lines each with its CRLF. */
export function keptLines(lines: string): string {
  let kept = '';
  for (let at = 0, next = 0; at < lines.length; at = next) {
    next = lines.indexOf('\n', at) + 1;
    const name = lines.slice(at, lines.indexOf(':', at)).toLowerCase();
    if (!OF_ONE_RESPONSE.has(name)) kept += lines.slice(at, next);
  }
  return kept;
}
