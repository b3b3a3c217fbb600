/**
 * The head of an answer: status line and fields (RFC 9112 sections 4 and 5), and what follows from them for the body and for the
 * connection (sections 6 and 9). Strict: two readers who could understand a head differently must not both be asked.
 */
import { protocolError } from './errors.js';
import { areFieldLines, trimmed } from './fields.js';

/** How the end of a body is found (RFC 9112 section 6.3). */
export const enum Framing {
  None,
  Length,
  Chunked,
  /** With the connection. */
  Close,
}

export interface AnswerHead {
  readonly status: number;
  /** The field lines as they were sent, each with its CRLF; fields to the letter. */
  readonly lines: string;
  readonly framing: Framing;
  /** -1: not told. Of an answer to HEAD and of a 304, what a GET would have. */
  readonly contentLength: number;
  /** Whether another request may follow on the connection. */
  readonly keepsAlive: boolean;
  /** `Keep-Alive: timeout` in milliseconds; -1: not told. */
  readonly keepAliveMs: number;
}

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9][0-9]{2})(?: [\t\x20-\x7e\x80-\xff]*)?$/;
const LENGTH = /^[0-9]{1,15}$/;
const TIMEOUT = /(?:^|[ ,])timeout=([0-9]{1,6})(?:$|[ ,;])/i;
const PROTOCOL = 'HTTP/1.';

/**
 * @param text of the head in Latin-1, with the end of its last line and without the empty line behind it.
 * @param isHead whether HEAD was asked.
 * @throws Error `TRAILGATE_BAD_ANSWER` for anything that is not to the letter.
 */
export function parseAnswerHead(text: string, isHead: boolean): AnswerHead {
  const lineEnd = text.indexOf('\r\n');
  const start = STATUS_LINE.exec(text.slice(0, lineEnd));
  if (start === null) throw protocolError('status line');
  const lines = text.slice(lineEnd + 2);
  if (!areFieldLines(lines)) throw protocolError('field');
  const isOld = start[1] === '0';
  let length = -1;
  let isChunked = false;
  let connection = '';
  let keepAliveMs = -1;
  for (let at = 0; at < lines.length;) {
    const end = lines.indexOf('\r\n', at);
    const colon = lines.indexOf(':', at);
    const nameLength = colon - at;
    const nameAt = at;
    at = end + 2;
    // Most names are told apart from those that matter here by their length.
    if (nameLength !== 10 && nameLength !== 14 && nameLength !== 17) continue;
    const name = lines.slice(nameAt, colon);
    const value = trimmed(lines, colon + 1, end);
    if (isName(name, 'content-length')) {
      if (length !== -1 || !LENGTH.test(value)) throw protocolError('content-length');
      length = Number(value);
    } else if (isName(name, 'transfer-encoding')) {
      // A coding that nobody undoes would be taken for the content.
      if (isChunked || isOld || value.toLowerCase() !== 'chunked') throw protocolError('transfer-encoding');
      isChunked = true;
    } else if (isName(name, 'connection')) {
      connection += `,${value}`;
    } else if (isName(name, 'keep-alive')) {
      const seconds = TIMEOUT.exec(value)?.[1];
      if (seconds !== undefined) keepAliveMs = Number(seconds) * 1_000;
    }
  }
  if (isChunked && length !== -1) throw protocolError('content-length beside transfer-encoding');
  const status = Number(start[2]);
  const framing = framingOf(status, isHead, isChunked, length);
  // A 204 whose fields speak of a body may have one all the same, and its bytes would be taken for the next answer.
  const isMisframed = status === 204 && (length > 0 || isChunked);
  const keepsAlive = framing !== Framing.Close && !isMisframed && persists(connection, isOld);
  return { status, lines, framing, contentLength: length, keepsAlive, keepAliveMs };
}

/**
 * Whether a head may still come of what has arrived of it: another protocol, or lines that end otherwise, never become one.
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
  if (connection === '') return !isOld;
  const options = connection.toLowerCase().split(',');
  if (options.some((option) => option.trim() === 'close')) return false;
  return !isOld || options.some((option) => option.trim() === 'keep-alive');
}

function isName(name: string, lower: string): boolean {
  return name === lower || name.toLowerCase() === lower;
}
