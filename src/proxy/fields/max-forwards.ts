/**
 * How often a request may still be forwarded (RFC 9110 section 7.6.2): the client of an
 * OPTIONS can ask somebody on the way.
 */
import type { ClientMessage } from '../../http/client/client-response.js';
import { fieldsOfLines, linesOf } from '../../http/grammar/fields.js';

/** The most that is passed on: "the recipient's maximum supported value". */
const MOST_FORWARDS = 1_000_000;
const NAME = 'max-forwards';

/**
 * How often a request may be forwarded; undefined where it does not say, or its method does not count: TRACE, which
 * would, is never forwarded. NaN: it says something that is no number.
 */
export function forwardsLeft({ method, headers }: ClientMessage): number | undefined {
  const told = headers[NAME];
  if (method !== 'OPTIONS' || told === undefined) return undefined;
  return /^[0-9]+$/.test(told) ? Number(told) : NaN;
}

/**
 * The field lines of a request that is forwarded, with one less to go.
 * @param left as `forwardsLeft` has it, above 0.
 */
export function withOneForwardLess(lines: string, left: number): string {
  const fields = fieldsOfLines(lines);
  const others = fields.filter((_, index) => fields[index - (index % 2)]?.toLowerCase() !== NAME);
  return `${linesOf(others)}Max-Forwards: ${Math.min(left - 1, MOST_FORWARDS)}\r\n`;
}
