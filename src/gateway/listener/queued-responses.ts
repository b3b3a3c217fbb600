/**
 * Decides which pipelined requests of a connection may run concurrently. Ends the remaining requests when their
 * connection closes. Node sends the responses in request order.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { currentResponse } from '../../platform/node-internals.js';

/** Safe methods (RFC 9110 section 9.2.1). */
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE']);

/** Queue holds the responses of a connection that wait for the current response. */
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
 * Reports whether a pipelined request must wait for earlier requests of its connection. Only safe methods may run
 * concurrently (RFC 9112 section 9.3.2), because later requests must see the changes by earlier ones. A waiting request
 * reads no body, and is dropped when the connection closes. Call this function once per request, in order.
 */
export function mustWait(message: IncomingMessage, response: ServerResponse): boolean {
  if (response.socket !== null || message.httpVersionMajor !== 1) return false;
  const queue = queueOf(message.socket);
  const current = currentResponse(message.socket);
  const mayPass = isSafe(response) && queue.isSafe && (current === null || isSafe(current));
  queue.add(response);
  return !mayPass;
}

/**
 * Ends the queued responses of a connection when the connection closes. Needed after CONNECT, because Node then
 * detaches the connection from its responses.
 */
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
