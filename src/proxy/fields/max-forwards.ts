/**
 * Handles `Max-Forwards` (RFC 9110 section 7.6.2). With this field, the client of an OPTIONS request limits the number
 * of intermediaries. The intermediary that receives 0 must respond itself.
 */
import type { ClientMessage } from '../../http/client/client-response.js';
import { fieldsOfLines, linesOf } from '../../http/grammar/fields.js';

/** Largest value that is forwarded: "the recipient's maximum supported value" in RFC 9110. */
const MAX_FORWARDS = 1_000_000;
const NAME = 'max-forwards';

/**
 * Returns the value of `Max-Forwards`, or NaN if the value is not a number. Returns undefined without the field, and
 * for all methods except OPTIONS. (TRACE is never forwarded.)
 */
export function forwardsLeft({ method, headers }: ClientMessage): number | undefined {
  const value = headers[NAME];
  if (method !== 'OPTIONS' || value === undefined) return undefined;
  return /^[0-9]+$/.test(value) ? Number(value) : NaN;
}

/**
 * Returns the field lines with `Max-Forwards` reduced by one, and to at most `MAX_FORWARDS`.
 * @param left result of `forwardsLeft`, above 0.
 */
export function decrementMaxForwards(lines: string, left: number): string {
  const fields = fieldsOfLines(lines);
  const others = fields.filter((_, index) => fields[index - (index % 2)]?.toLowerCase() !== NAME);
  return `${linesOf(others)}Max-Forwards: ${Math.min(left - 1, MAX_FORWARDS)}\r\n`;
}
