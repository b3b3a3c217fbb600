/**
 * Parses response heads: the status line, the fields, and their effect on the body and the connection (RFC 9112
 * sections 4 to 6 and 9). The parser is strict, so that no other parser can interpret an accepted head differently.
 */
import { COLON, CR, isName, LF, nameEnd, SPACE, matchesAt, valueEnd } from '../grammar/bytes.js';
import { protocolError } from '../grammar/errors.js';
import { listTokens, trimSpaces, withoutLength } from '../grammar/fields.js';

/** Framing determines how the end of the body is found (RFC 9112 section 6.3). */
export const enum Framing {
  None,
  Length,
  Chunked,
  /** The body ends when the connection closes. */
  Close,
}

export interface ResponseHead {
  readonly status: number;
  /**
   * Validated field lines as received, each with its CRLF. `Content-Length` is removed from a 204 (RFC 9110 section
   * 8.6).
   */
  readonly lines: string;
  readonly framing: Framing;
  /**
   * Value of `Content-Length`. -1 without the field and for a 204. In a response to HEAD and in a 304, the body length
   * of a response to GET.
   */
  readonly contentLength: number;
  /** Whether the connection can serve another request after this response. */
  readonly keepsAlive: boolean;
  /** `timeout` of the `Keep-Alive` field in ms, or -1 if there is none. */
  readonly keepAliveMs: number;
  /** Offset of the first byte after the head. */
  readonly end: number;
}

const PROTOCOL = 'HTTP/1.';
const PROTOCOL_BYTES = Buffer.from(PROTOCOL);
/** Length of `HTTP/1.1 200`. */
const STATUS_BYTES = 12;
const LENGTH = /^[0-9]{1,15}$/;
const TIMEOUT = /(?:^|[ ,])timeout=([0-9]{1,6})(?:$|[ ,;])/i;
const ZERO = 0x30;
const CONTENT_LENGTH = Buffer.from('content-length');
const TRANSFER_ENCODING = Buffer.from('transfer-encoding');
const CONNECTION = Buffer.from('connection');
const KEEP_ALIVE = Buffer.from('keep-alive');
const KEEP_ALIVE_VALUE = Buffer.from(' keep-alive');
const LISTED_KEEP_ALIVE = ',keep-alive';

interface FramingFields {
  length: number;
  isChunked: boolean;
  /** Values of all `Connection` fields, each preceded by a comma. */
  connection: string;
  keepAliveMs: number;
}

/**
 * Parses the head that begins at `from`.
 * @param isHead whether the request method was HEAD.
 * @returns undefined if the head is incomplete.
 * @throws Error `TRAILGATE_BAD_ANSWER` if the head does not conform to RFC 9112, or its transfer coding is not
 *   `chunked`.
 */
export function parseResponseHead(bytes: Buffer, from: number, to: number, isHead: boolean): ResponseHead | undefined {
  const linesAt = statusLineEnd(bytes, from, to);
  if (linesAt === -1) return undefined;
  const framingFields: FramingFields = { length: -1, isChunked: false, connection: '', keepAliveMs: -1 };
  const isHttp10 = bytes[from + PROTOCOL.length] === ZERO;
  let at = linesAt;
  while (bytes[at] !== CR || at >= to) {
    const colon = nameEnd(bytes, at, to);
    if (colon >= to) return undefined;
    if (colon === at || bytes[colon] !== COLON) throw protocolError('field');
    const end = valueEnd(bytes, colon + 1, to);
    if (end + 1 >= to) return undefined;
    if (bytes[end] !== CR || bytes[end + 1] !== LF) throw protocolError('field');
    // The length of a name excludes most fields at little cost.
    const nameLength = colon - at;
    if (nameLength === 10 || nameLength === 14 || nameLength === 17) {
      recordField(bytes, at, nameLength, colon + 1, end, framingFields, isHttp10);
    }
    at = end + 2;
  }
  if (at + 1 >= to) return undefined;
  if (bytes[at + 1] !== LF) throw protocolError('field');
  const { length, isChunked, connection, keepAliveMs } = framingFields;
  if (isChunked && length !== -1) throw protocolError('content-length beside transfer-encoding');
  const status = statusAt(bytes, from);
  const framing = framingOf(status, isHead, isChunked, length);
  const isKept = framing !== Framing.Close && persists(connection, isHttp10);
  const lines = bytes.toString('latin1', linesAt, at);
  if (status === 204) {
    // If the fields announce a body, a body may follow the head. The next call would read its bytes as a response.
    const keepsAlive = isKept && length <= 0 && !isChunked;
    const noLength = length === -1 ? lines : withoutLength(lines);
    return { status, lines: noLength, framing, contentLength: -1, keepsAlive, keepAliveMs, end: at + 2 };
  }
  return { status, lines, framing, contentLength: length, keepsAlive: isKept, keepAliveMs, end: at + 2 };
}

/**
 * Returns the offset after the status line (RFC 9112 section 4), or -1 if the line is incomplete. Throws if the line is
 * invalid.
 */
function statusLineEnd(bytes: Buffer, from: number, to: number): number {
  if (to - from < STATUS_BYTES + 2) {
    if (valueEnd(bytes, from, Math.min(to, from + STATUS_BYTES)) < Math.min(to, from + STATUS_BYTES))
      throw protocolError('status line');
    return -1;
  }
  const version = (bytes[from + PROTOCOL.length] as number) - ZERO;
  const isProtocol = matchesAt(bytes, from, to, PROTOCOL_BYTES) && (version === 0 || version === 1);
  if (!isProtocol || bytes[from + PROTOCOL.length + 1] !== SPACE || statusAt(bytes, from) < 100) {
    throw protocolError('status line');
  }
  const reasonAt = from + STATUS_BYTES;
  const end = bytes[reasonAt] === SPACE ? valueEnd(bytes, reasonAt + 1, to) : reasonAt;
  if (end + 1 >= to) return -1;
  if (bytes[end] !== CR || bytes[end + 1] !== LF) throw protocolError('status line');
  return end + 2;
}

/** Returns the three-digit status code, or -1 if one of its characters is not a digit. */
function statusAt(bytes: Buffer, from: number): number {
  let status = 0;
  for (let at = from + STATUS_BYTES - 3; at < from + STATUS_BYTES; at++) {
    const digit = (bytes[at] as number) - ZERO;
    if (digit < 0 || digit > 9) return -1;
    status = status * 10 + digit;
  }
  return status;
}

/**
 * Records the value of a field that affects the body or the connection. The caller has checked only the length of the
 * name.
 */
function recordField(
  bytes: Buffer,
  at: number,
  nameLength: number,
  from: number,
  to: number,
  framingFields: FramingFields,
  isHttp10: boolean,
): void {
  if (nameLength === 14) {
    if (isName(bytes, at, CONTENT_LENGTH)) framingFields.length = lengthOf(bytes, from, to, framingFields);
  } else if (nameLength === 17) {
    if (!isName(bytes, at, TRANSFER_ENCODING)) return;
    // The client would receive the encoded content of a coding that the gateway does not decode.
    const isOnlyChunked = valueOf(bytes, from, to).toLowerCase() === 'chunked';
    if (framingFields.isChunked || isHttp10 || !isOnlyChunked) throw protocolError('transfer-encoding');
    framingFields.isChunked = true;
  } else if (isName(bytes, at, CONNECTION)) {
    framingFields.connection +=
      matchesAt(bytes, from, to, KEEP_ALIVE_VALUE) && to - from === KEEP_ALIVE_VALUE.length
        ? LISTED_KEEP_ALIVE
        : `,${valueOf(bytes, from, to)}`;
  } else if (isName(bytes, at, KEEP_ALIVE)) {
    const seconds = TIMEOUT.exec(valueOf(bytes, from, to))?.[1];
    if (seconds !== undefined) framingFields.keepAliveMs = Number(seconds) * 1_000;
  }
}

function lengthOf(bytes: Buffer, from: number, to: number, { length }: FramingFields): number {
  const value = valueOf(bytes, from, to);
  if (length !== -1 || !LENGTH.test(value)) throw protocolError('content-length');
  return Number(value);
}

function valueOf(bytes: Buffer, from: number, to: number): string {
  const text = bytes.toString('latin1', from, to);
  return trimSpaces(text, 0, text.length);
}

/**
 * Reports whether a partial head can still become a valid head. A text of another protocol or with a line that does not
 * end in CRLF cannot.
 * @param from offset up to which earlier calls have checked the text.
 */
export function mayBecomeHead(text: string, from: number): boolean {
  if (!text.startsWith(PROTOCOL.slice(0, text.length))) return false;
  for (let at = text.indexOf('\n', from); at !== -1; at = text.indexOf('\n', at + 1)) {
    if (text[at - 1] !== '\r') return false;
  }
  return true;
}

function framingOf(status: number, isHead: boolean, isChunked: boolean, length: number): Framing {
  if (isHead || status < 200 || status === 204 || status === 304) return Framing.None;
  if (isChunked) return Framing.Chunked;
  if (length === -1) return Framing.Close;
  return length === 0 ? Framing.None : Framing.Length;
}

/** Reports whether the `Connection` fields and the version keep the connection open (RFC 9112 section 9.3). */
function persists(connection: string, isHttp10: boolean): boolean {
  if (connection === '' || connection === LISTED_KEEP_ALIVE) return !isHttp10 || connection !== '';
  const options = listTokens(connection);
  if (options.includes('close')) return false;
  return !isHttp10 || options.includes('keep-alive');
}
