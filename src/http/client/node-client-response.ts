/**
 * Writes responses on connections that Node's HTTP server reads. Complete responses bypass Node's `writeHead`, which is
 * slower.
 */
import { ServerResponse, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import {
  closeAfter,
  isLastAllowed,
  keepAliveTimeoutOf,
  maxRequestsOf,
  setHead,
  setKeepAliveTimeout,
} from '../../platform/node-internals.js';
import type { ClientMessage, ClientResponse } from './client-response.js';
import { CLOSE_LINE, keepAliveLines, wholeHead } from './whole-response.js';

export class NodeClientResponse implements ClientResponse {
  constructor(
    private readonly message: Pick<ClientMessage, 'httpVersion'>,
    readonly nodeResponse: ServerResponse,
    keepAliveTimeoutMs: number,
  ) {
    setKeepAliveTimeout(nodeResponse, keepAliveTimeoutMs);
  }

  get isGone(): boolean {
    return this.nodeResponse.destroyed;
  }

  get hasBegun(): boolean {
    return this.nodeResponse.headersSent;
  }

  get canWriteWhole(): boolean {
    const { nodeResponse, message } = this;
    return message.httpVersion === '1.1' && !nodeResponse.headersSent && nodeResponse.getHeaderNames().length === 0;
  }

  writeWhole(status: number, lines: string, body: string | Buffer): void {
    const { nodeResponse } = this;
    nodeResponse.statusCode = status;
    setHead(nodeResponse, wholeHead(status, lines, connectionLines(nodeResponse)), body.length);
    // Convert the body to a Latin-1 string, so that Node joins it with the head. Node would send a Buffer separately,
    // with writev.
    nodeResponse.end(typeof body === 'string' ? body : body.toString('latin1'), 'latin1');
  }

  endConnection(): void {
    this.nodeResponse.shouldKeepAlive = false;
  }

  destroy(): void {
    this.nodeResponse.destroy();
  }
}

function connectionLines(response: ServerResponse): string {
  if (response.shouldKeepAlive && !isLastAllowed(response)) {
    return keepAliveLines(keepAliveTimeoutOf(response), maxRequestsOf(response));
  }
  closeAfter(response);
  return CLOSE_LINE;
}

/** Creates a destroyed response, for callers that have not noticed yet that the client has disconnected. */
export function destroyedResponse(socket: Socket): ServerResponse {
  const response = new ServerResponse({
    method: 'GET',
    httpVersionMajor: 1,
    httpVersionMinor: 1,
    socket,
  } as IncomingMessage);
  response.on('error', () => undefined);
  response.destroy();
  return response;
}
