/**
 * An answer that Node's server has the connection of. A small whole one goes past its `writeHead`: this is where what Node keeps to
 * itself is set (`_header`, `_contentLength`, `_last`, `_keepAliveTimeout`).
 */
import type { ServerResponse } from 'node:http';
import type { ClientAnswer, ClientMessage } from './client-answer.js';
import { CLOSE_LINE, keepAliveLines, wholeHead } from './whole-answer.js';

/** What Node's own `writeHead` sets, and goes by. */
interface HeadState {
  _header: string | null;
  _contentLength: number | null;
  _last: boolean;
  _keepAliveTimeout: number;
  readonly _maxRequestsPerSocket: number;
  readonly maxRequestsOnConnectionReached?: boolean;
}

export class NodeAnswer implements ClientAnswer {
  /** @param keepAliveTimeoutMs for the `Keep-Alive` field. */
  constructor(
    private readonly message: Pick<ClientMessage, 'httpVersion'>,
    readonly response: ServerResponse,
    keepAliveTimeoutMs: number,
  ) {
    (response as ServerResponse & HeadState)._keepAliveTimeout = keepAliveTimeoutMs;
  }

  get isGone(): boolean {
    return this.response.destroyed;
  }

  get hasBegun(): boolean {
    return this.response.headersSent;
  }

  get takesWhole(): boolean {
    const { response, message } = this;
    return message.httpVersion === '1.1' && !response.headersSent && response.getHeaderNames().length === 0;
  }

  writeWhole(status: number, lines: string, body: string | Buffer): void {
    const { response } = this;
    const state = response as ServerResponse & HeadState;
    response.statusCode = status;
    state._header = wholeHead(status, lines, connectionLines(state));
    state._contentLength = body.length;
    // As a Latin-1 string, byte for byte, the body joins the head in one buffer; as a Buffer the two would leave by writev.
    response.end(typeof body === 'string' ? body : body.toString('latin1'), 'latin1');
  }

  endConnection(): void {
    this.response.shouldKeepAlive = false;
  }

  destroy(): void {
    this.response.destroy();
  }
}

function connectionLines(state: ServerResponse & HeadState): string {
  if (state.shouldKeepAlive && state.maxRequestsOnConnectionReached !== true) {
    return keepAliveLines(state._keepAliveTimeout, state._maxRequestsPerSocket);
  }
  state._last = true;
  return CLOSE_LINE;
}
