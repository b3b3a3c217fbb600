/**
 * Distinguishes requests with unknown methods from bytes that are not HTTP. Node's parser reports the same error for
 * both.
 */
import { isNameByte } from '../grammar/bytes.js';

const INVALID_METHOD = 'HPE_INVALID_METHOD';
/** Matches a valid request line (RFC 9112 section 3) with a method of at most 40 characters. */
const REQUEST_LINE = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,40} [\x21-\x7e]+ HTTP\/1\.[01]\r\n/;
/** Maximum number of bytes in which the request line must end. */
const LONGEST_LINE = 16 * 1024;

export interface ParserError extends Error {
  readonly code?: string;
  /** Bytes that the parser was reading, if any. `bytesParsed` is the offset of the error in these bytes. */
  readonly rawPacket?: unknown;
  readonly bytesParsed?: number;
}

/**
 * Reports whether the request line is valid except for its method, which the parser does not know (RFC 9110 section
 * 9.1).
 */
export function hasUnknownMethod({ code, rawPacket, bytesParsed = 0 }: ParserError): boolean {
  if (code !== INVALID_METHOD || !Buffer.isBuffer(rawPacket)) return false;
  // The parser stops within the method, or after a prefix of the method that equals a known one.
  let from = bytesParsed;
  while (from > 0 && isNameByte(rawPacket[from - 1])) from--;
  return REQUEST_LINE.test(rawPacket.toString('latin1', from, from + LONGEST_LINE));
}
