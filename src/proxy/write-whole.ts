/**
 * A small answer that is there with its head, written to an HTTP/1.1 client in one piece. Node's `writeHead` would look at every name
 * and value once more and compare each with seven names; these come from `http1/answer-head.ts`, which has looked at every byte, and from us.
 * This is where what Node keeps to itself is set (`_header`, `_contentLength`, `_last`); `arrivals.ts` sets `_keepAliveTimeout`.
 */
import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http';
import { systemClock } from '../clock.js';

/** What Node's own `writeHead` sets. */
interface HeadState {
  _header: string | null;
  _contentLength: number | null;
  _last: boolean;
  readonly _keepAliveTimeout: number;
  readonly _maxRequestsPerSocket: number;
  readonly maxRequestsOnConnectionReached?: boolean;
}

const DATE_NAME = 'date';
let dateText = '';
let dateSecond = 0;

/** Whether an answer to this request may be written by `writeWhole`: HTTP/1.1, and nobody has set a field on the response. */
export function canWriteWhole({ httpVersion }: IncomingMessage, response: ServerResponse): boolean {
  return httpVersion === '1.1' && !response.headersSent && response.getHeaderNames().length === 0;
}

/**
 * Writes head and body and ends the answer.
 * @param fields flat: name, value, name, value; with the `Content-Length` of the body, without `Connection`.
 * @param body as Latin-1, byte for byte.
 */
export function writeWhole(response: ServerResponse, status: number, fields: readonly string[], body: string): void {
  const state = response as ServerResponse & HeadState;
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n`;
  let hasDate = false;
  for (let index = 0; index < fields.length; index += 2) {
    const name = fields[index] ?? '';
    if (name.length === DATE_NAME.length && name.toLowerCase() === DATE_NAME) hasDate = true;
    head += `${name}: ${fields[index + 1]}\r\n`;
  }
  if (!hasDate) head += `Date: ${httpDate()}\r\n`;
  if (response.shouldKeepAlive && state.maxRequestsOnConnectionReached !== true) {
    const { _keepAliveTimeout: timeoutMs, _maxRequestsPerSocket: most } = state;
    const hint = timeoutMs > 0 ? `Keep-Alive: timeout=${timeoutMs / 1_000}${most > 0 ? `, max=${most}` : ''}\r\n` : '';
    head += `Connection: keep-alive\r\n${hint}\r\n`;
  } else {
    state._last = true;
    head += 'Connection: close\r\n\r\n';
  }
  response.statusCode = status;
  state._header = head;
  state._contentLength = body.length;
  // As a Latin-1 string, byte for byte, the body joins the head in one buffer; as a Buffer the two would leave by writev.
  response.end(body, 'latin1');
}

/** IMF-fixdate (RFC 9110 section 5.6.7), made once a second. */
function httpDate(): string {
  const second = Math.floor(systemClock.now() / 1_000);
  if (second !== dateSecond) {
    dateSecond = second;
    dateText = new Date(second * 1_000).toUTCString();
  }
  return dateText;
}
