/**
 * The head of a response: status line and fields (RFC 9112 sections 4 and 5), and
 * what follows from them for the body and for the connection (sections 6 and 9).
 * Strict: two readers who could understand a head differently must not both be asked.
 */
import { COLON, CR, isName, LF, nameEnd, SPACE, standsAt, valueEnd } from '../grammar/bytes.js';
import { protocolError } from '../grammar/errors.js';
import { listTokens, trimmed, withoutLength } from '../grammar/fields.js';

/** How the end of a body is found (RFC 9112 section 6.3). */
export const enum Framing {
  None,
  Length,
  Chunked,
  /** With the connection. */
  Close,
}

export interface ResponseHead {
  readonly status: number;
  /**
   * The field lines as they were sent, each with its CRLF; fields to the letter. A 204 has no `Content-Length` (RFC
   * 9110 section 8.6), whatever was sent.
   */
  readonly lines: string;
  readonly framing: Framing;
  /** -1: not told. Of a response to HEAD and of a 304, what a GET would have. */
  readonly contentLength: number;
  /** Whether another request may follow on the connection. */
  readonly keepsAlive: boolean;
  /** `Keep-Alive: timeout` in milliseconds; -1: not told. */
  readonly keepAliveMs: number;
  /** Behind its last byte. */
  readonly end: number;
}

const PROTOCOL = 'HTTP/1.';
const PROTOCOL_BYTES = Buffer.from(PROTOCOL);
/** `HTTP/1.1 200`. */
const STATUS_BYTES = 12;
const LENGTH = /^[0-9]{1,15}$/;
const TIMEOUT = /(?:^|[ ,])timeout=([0-9]{1,6})(?:$|[ ,;])/i;
const ZERO = 0x30;
const CONTENT_LENGTH = Buffer.from('content-length');
const TRANSFER_ENCODING = Buffer.from('transfer-encoding');
const CONNECTION = Buffer.from('connection');
const KEEP_ALIVE = Buffer.from('keep-alive');
const USUAL = Buffer.from(' keep-alive');
const KEPT = ',keep-alive';

/** What the fields say that matters here. */
interface Meaning {
  length: number;
  isChunked: boolean;
  /** What `Connection` lists; several of them one behind the other, each with a comma in front. */
  connection: string;
  keepAliveMs: number;
}

/**
 * The head that begins at `from`; undefined where its end has not come.
 * @param isHead whether HEAD was asked.
 * @throws Error `TRAILGATE_BAD_ANSWER` for anything that is not to the letter.
 */
export function parseResponseHead(bytes: Buffer, from: number, to: number, isHead: boolean): ResponseHead | undefined {
  const linesAt = statusLineEnd(bytes, from, to);
  if (linesAt === -1) return undefined;
  const meaning: Meaning = { length: -1, isChunked: false, connection: '', keepAliveMs: -1 };
  const isOld = bytes[from + PROTOCOL.length] === ZERO;
  let at = linesAt;
  while (bytes[at] !== CR || at >= to) {
    const colon = nameEnd(bytes, at, to);
    if (colon >= to) return undefined;
    if (colon === at || bytes[colon] !== COLON) throw protocolError('field');
    const end = valueEnd(bytes, colon + 1, to);
    if (end + 1 >= to) return undefined;
    if (bytes[end] !== CR || bytes[end + 1] !== LF) throw protocolError('field');
    // Most names are told apart from those that matter by their length.
    const nameLength = colon - at;
    if (nameLength === 10 || nameLength === 14 || nameLength === 17) {
      note(bytes, at, nameLength, colon + 1, end, meaning, isOld);
    }
    at = end + 2;
  }
  if (at + 1 >= to) return undefined;
  if (bytes[at + 1] !== LF) throw protocolError('field');
  const { length, isChunked, connection, keepAliveMs } = meaning;
  if (isChunked && length !== -1) throw protocolError('content-length beside transfer-encoding');
  const status = statusAt(bytes, from);
  const framing = framingOf(status, isHead, isChunked, length);
  const isKept = framing !== Framing.Close && persists(connection, isOld);
  const lines = bytes.toString('latin1', linesAt, at);
  if (status === 204) {
    // Whose fields speak of a body may have one all the same, and its bytes would be taken for the next response.
    const keepsAlive = isKept && length <= 0 && !isChunked;
    const noLength = length === -1 ? lines : withoutLength(lines);
    return { status, lines: noLength, framing, contentLength: -1, keepsAlive, keepAliveMs, end: at + 2 };
  }
  return { status, lines, framing, contentLength: length, keepsAlive: isKept, keepAliveMs, end: at + 2 };
}

/** Where the line behind the status line begins (RFC 9112 section 4); -1 where it has not come. */
function statusLineEnd(bytes: Buffer, from: number, to: number): number {
  if (to - from < STATUS_BYTES + 2) {
    if (valueEnd(bytes, from, Math.min(to, from + STATUS_BYTES)) < Math.min(to, from + STATUS_BYTES))
      throw protocolError('status line');
    return -1;
  }
  const version = (bytes[from + PROTOCOL.length] as number) - ZERO;
  const isProtocol = standsAt(bytes, from, to, PROTOCOL_BYTES) && (version === 0 || version === 1);
  if (!isProtocol || bytes[from + PROTOCOL.length + 1] !== SPACE || statusAt(bytes, from) < 100) {
    throw protocolError('status line');
  }
  const reasonAt = from + STATUS_BYTES;
  const end = bytes[reasonAt] === SPACE ? valueEnd(bytes, reasonAt + 1, to) : reasonAt;
  if (end + 1 >= to) return -1;
  if (bytes[end] !== CR || bytes[end + 1] !== LF) throw protocolError('status line');
  return end + 2;
}

/** Three digits; -1 where they are none. */
function statusAt(bytes: Buffer, from: number): number {
  let status = 0;
  for (let at = from + STATUS_BYTES - 3; at < from + STATUS_BYTES; at++) {
    const digit = (bytes[at] as number) - ZERO;
    if (digit < 0 || digit > 9) return -1;
    status = status * 10 + digit;
  }
  return status;
}

/** Notes what a field says that may matter; of its name the length is known. */
function note(
  bytes: Buffer,
  at: number,
  nameLength: number,
  from: number,
  to: number,
  meaning: Meaning,
  isOld: boolean,
): void {
  if (nameLength === 14) {
    if (isName(bytes, at, CONTENT_LENGTH)) meaning.length = lengthOf(bytes, from, to, meaning);
  } else if (nameLength === 17) {
    if (!isName(bytes, at, TRANSFER_ENCODING)) return;
    // A coding that nobody undoes would be taken for the content.
    const isUndone = valueOf(bytes, from, to).toLowerCase() === 'chunked';
    if (meaning.isChunked || isOld || !isUndone) throw protocolError('transfer-encoding');
    meaning.isChunked = true;
  } else if (isName(bytes, at, CONNECTION)) {
    meaning.connection +=
      standsAt(bytes, from, to, USUAL) && to - from === USUAL.length ? KEPT : `,${valueOf(bytes, from, to)}`;
  } else if (isName(bytes, at, KEEP_ALIVE)) {
    const seconds = TIMEOUT.exec(valueOf(bytes, from, to))?.[1];
    if (seconds !== undefined) meaning.keepAliveMs = Number(seconds) * 1_000;
  }
}

function lengthOf(bytes: Buffer, from: number, to: number, { length }: Meaning): number {
  const value = valueOf(bytes, from, to);
  if (length !== -1 || !LENGTH.test(value)) throw protocolError('content-length');
  return Number(value);
}

function valueOf(bytes: Buffer, from: number, to: number): string {
  const text = bytes.toString('latin1', from, to);
  return trimmed(text, 0, text.length);
}

/**
 * Whether a head may still come of what has arrived of it: another protocol, or
 * lines that end otherwise, never become one.
 * @param from where it was looked at before.
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

/** RFC 9112 section 9.3. */
function persists(connection: string, isOld: boolean): boolean {
  if (connection === '' || connection === KEPT) return !isOld || connection !== '';
  const options = listTokens(connection);
  if (options.includes('close')) return false;
  return !isOld || options.includes('keep-alive');
}
