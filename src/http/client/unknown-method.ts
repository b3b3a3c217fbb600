/** Tells a method that nobody knows from bytes that are no HTTP, where Node's parser has refused both alike. */
import { isNameByte } from '../grammar/bytes.js';

const INVALID_METHOD = 'HPE_INVALID_METHOD';
/** A request line to the letter (RFC 9112 section 3), with a method as long as one may be. */
const REQUEST_LINE = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,40} [\x21-\x7e]+ HTTP\/1\.[01]\r\n/;
/** As much of a line as is looked at. */
const LONGEST_LINE = 16 * 1024;

/** As Node reports it. */
export interface ParserError extends Error {
  readonly code?: string;
  /** A buffer of what it was reading when it failed, where it was reading; and how far it had come. */
  readonly rawPacket?: unknown;
  readonly bytesParsed?: number;
}

/**
 * Whether all that is wrong, as far as the request line goes, is a method that the parser
 * does not know (RFC 9110 section 9.1).
 */
export function hasUnknownMethod({ code, rawPacket, bytesParsed = 0 }: ParserError): boolean {
  if (code !== INVALID_METHOD || !Buffer.isBuffer(rawPacket)) return false;
  // It stopped within the method, or behind one that begins like a known one.
  let from = bytesParsed;
  while (from > 0 && isNameByte(rawPacket[from - 1])) from--;
  return REQUEST_LINE.test(rawPacket.toString('latin1', from, from + LONGEST_LINE));
}
