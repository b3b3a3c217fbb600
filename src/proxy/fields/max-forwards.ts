/**
 * Handles `Max-Forwards` (RFC 9110 section 7.6.2), with which the client of an OPTIONS request can address an
 * intermediary.
 */
import type { ClientMessage } from '../../http/client/client-response.js';
import { fieldsOfLines, linesOf } from '../../http/grammar/fields.js';

/** Largest value that is passed on: "the recipient's maximum supported value". */
const MOST_FORWARDS = 1_000_000;
const NAME = 'max-forwards';

/**
 * Returns the value of `Max-Forwards`, or NaN if it is not a number. Undefined without the field and for other methods
 * than OPTIONS. (TRACE is never forwarded.)
 */
export function forwardsLeft({ method, headers }: ClientMessage): number | undefined {
  const told = headers[NAME];
  if (method !== 'OPTIONS' || told === undefined) return undefined;
  return /^[0-9]+$/.test(told) ? Number(told) : NaN;
}

/**
 * Returns the field lines with `Max-Forwards` reduced by one.
 * @param left result of `forwardsLeft`, above 0.
 */
export function decrementMaxForwards(lines: string, left: number): string {
  const fields = fieldsOfLines(lines);
  const others = fields.filter((_, index) => fields[index - (index % 2)]?.toLowerCase() !== NAME);
  return `${linesOf(others)}Max-Forwards: ${Math.min(left - 1, MOST_FORWARDS)}\r\n`;
}
