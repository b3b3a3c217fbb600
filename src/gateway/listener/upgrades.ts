/**
 * WebSocket handshakes (RFC 6455): requests like any other until they are accepted, so that route, key, scope and quota
 * are asked in the same order by the same steps. Everything else that asks for an upgrade is served as if it had not.
 */
import { ServerResponse, type IncomingMessage, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { hasBody } from '../../proxy/calls/request-body.js';
import { endConnection } from '../request/last-response.js';
import { Routes } from '../../admission/routes.js';
import { noteUpgradeHead } from '../request/upgrade-heads.js';
import { responseUnderWay } from '../../platform/node-internals.js';

export class Upgrades {
  constructor(private readonly routes: Routes) {}

  /** Whether a request is to be taken out of HTTP: one that an operation with `websocket` is asked for. */
  accepts(message: IncomingMessage): boolean {
    const { method, headers, url = '', httpVersion } = message;
    if (method !== 'GET' || httpVersion !== '1.1' || headers.upgrade?.toLowerCase() !== 'websocket') return false;
    // A handshake has no body: what a backend took for one would be the first frames of the WebSocket.
    if (hasBody(message)) return false;
    // Responses to requests before it are still to come: Node would let go of the connection that they need.
    if (responseUnderWay(message.socket) !== null) return false;
    const query = url.indexOf('?');
    const match = this.routes.match(method, query === -1 ? url : url.slice(0, query));
    return match.kind === 'operation' && match.operation.isWebSocket === true;
  }

  /** Hands every accepted handshake to the request path, with a response that is written to its connection. */
  install(server: Server): void {
    server.on('upgrade', (message: IncomingMessage, socket: Socket, head: Buffer) => {
      noteUpgradeHead(message, head);
      // A WebSocket says by a frame that it closes: over TLS, where a connection need not stay half open, it does not.
      if ('encrypted' in socket) socket.allowHalfOpen = false;
      // Node has let go of the connection: without a listener its error would end the process.
      socket.on('error', () => socket.destroy());
      const response = new ServerResponse(message);
      response.shouldKeepAlive = false;
      response.assignSocket(socket);
      // A response other than 101 is the last one.
      response.once('finish', () => endConnection(socket));
      server.emit('request', message, response);
    });
  }
}
