/**
 * Requests that have come while another of their connection is under way (pipelining): which of them
 * may be served beside it, and the end of those whose turn never comes. The responses leave in the
 * order of the requests by Node's doing.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { responseUnderWay } from '../../platform/node-internals.js';

/** RFC 9110 section 9.2.1. */
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE']);

/** Of one connection, without the request whose response is under way. */
class Queue {
  readonly responses = new Set<ServerResponse>();
  private unsafe = 0;

  get isSafe(): boolean {
    return this.unsafe === 0;
  }

  add(response: ServerResponse): void {
    this.responses.add(response);
    const step = isSafe(response) ? 0 : 1;
    this.unsafe += step;
    response.once('close', () => {
      this.responses.delete(response);
      this.unsafe -= step;
    });
  }
}

const queues = new WeakMap<Socket, Queue>();

/**
 * Whether a request has to wait until the responses before it are done, which its response tells by `socket`: only
 * such with safe methods may be served side by side (RFC 9112 section 9.3.2), because what one of the others changes
 * must be there for those behind it. One that waits reads no body, and is forgotten with its connection. To be asked
 * once of each request, in their order.
 */
export function mustWait(message: IncomingMessage, response: ServerResponse): boolean {
  if (response.socket !== null || message.httpVersionMajor !== 1) return false;
  const queue = queueOf(message.socket);
  const underWay = responseUnderWay(message.socket);
  const mayPass = isSafe(response) && queue.isSafe && (underWay === null || isSafe(underWay));
  queue.add(response);
  return !mayPass;
}

/** Ends those of a connection that Node has let go of, when it closes: a `CONNECT` came behind them. */
export function endQueuedWith(socket: Socket): void {
  socket.once('close', () => {
    for (const response of queues.get(socket)?.responses ?? []) response.destroy();
  });
}

function queueOf(socket: Socket): Queue {
  let queue = queues.get(socket);
  if (queue === undefined) queues.set(socket, (queue = new Queue()));
  return queue;
}

function isSafe({ req }: ServerResponse): boolean {
  return SAFE.has(req.method ?? '');
}
