/**
 * Accepts WebSocket handshakes (RFC 6455). A handshake passes the same steps as other requests before the WebSocket
 * opens. All other upgrade requests are served as normal requests.
 */
import { ServerResponse, type IncomingMessage, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { hasBody } from '../../proxy/calls/request-body.js';
import { endConnection } from '../request/last-response.js';
import { Routes } from '../../admission/routes.js';
import { storeUpgradeHead } from '../request/upgrade-heads.js';
import { currentResponse } from '../../platform/node-internals.js';

export class Upgrades {
  constructor(private readonly routes: Routes) {}

  /**
   * Reports whether Node must upgrade the connection, because the request is a handshake for an operation with
   * `websocket`.
   */
  accepts(message: IncomingMessage): boolean {
    const { method, headers, url = '', httpVersion } = message;
    if (method !== 'GET' || httpVersion !== '1.1' || headers.upgrade?.toLowerCase() !== 'websocket') return false;
    // A handshake has no body. A backend would read a body as the first WebSocket frames.
    if (hasBody(message)) return false;
    // Earlier responses are pending. Node would detach the connection that they need.
    if (currentResponse(message.socket) !== null) return false;
    const query = url.indexOf('?');
    const match = this.routes.match(method, query === -1 ? url : url.slice(0, query), message);
    return match.kind === 'operation' && match.operation.isWebSocket === true;
  }

  /** Passes accepted handshakes to the `request` listeners of the server, with a response object for the connection. */
  install(server: Server): void {
    server.on('upgrade', (message: IncomingMessage, socket: Socket, head: Buffer) => {
      storeUpgradeHead(message, head);
      // A WebSocket is closed with a frame, so half-open TLS connections are not needed.
      if ('encrypted' in socket) socket.allowHalfOpen = false;
      // Node has detached the socket from its server. An unhandled error would end the process.
      socket.on('error', () => socket.destroy());
      const response = new ServerResponse(message);
      response.shouldKeepAlive = false;
      response.assignSocket(socket);
      // Any response other than 101 ends the connection.
      response.once('finish', () => endConnection(socket));
      server.emit('request', message, response);
    });
  }
}
