/** A response that Node's server has the connection of. A small whole one goes past its `writeHead`. */
import type { ServerResponse } from 'node:http';
import {
  closeBehind,
  isLastAllowed,
  keepAliveTimeoutOf,
  mostRequestsOf,
  setHead,
  setKeepAliveTimeout,
} from '../../platform/node-internals.js';
import type { ClientAnswer, ClientMessage } from './client-answer.js';
import { CLOSE_LINE, keepAliveLines, wholeHead } from './whole-answer.js';

/** A response on a connection that Node reads. */
export class NodeAnswer implements ClientAnswer {
  /** @param keepAliveTimeoutMs for the `Keep-Alive` field. */
  constructor(
    private readonly message: Pick<ClientMessage, 'httpVersion'>,
    readonly response: ServerResponse,
    keepAliveTimeoutMs: number,
  ) {
    setKeepAliveTimeout(response, keepAliveTimeoutMs);
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
    response.statusCode = status;
    setHead(response, wholeHead(status, lines, connectionLines(response)), body.length);
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

function connectionLines(response: ServerResponse): string {
  if (response.shouldKeepAlive && !isLastAllowed(response)) {
    return keepAliveLines(keepAliveTimeoutOf(response), mostRequestsOf(response));
  }
  closeBehind(response);
  return CLOSE_LINE;
}
