/**
 * Answers that wait for their turn behind others on a connection. Node ends them with it, unless a `CONNECT` has come behind them:
 * then it has let go of the connection, and they would never come to their end.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

const queued = new WeakMap<Socket, Set<ServerResponse>>();

/** Notes the answer to a request that has come while another of its connection is under way. */
export function noteQueued({ socket, httpVersionMajor }: IncomingMessage, response: ServerResponse): void {
  if (response.socket !== null || httpVersionMajor !== 1) return;
  let answers = queued.get(socket);
  if (answers === undefined) queued.set(socket, (answers = new Set()));
  const noted = answers.add(response);
  response.once('close', () => noted.delete(response));
}

/** Ends those of a connection that Node has let go of, when it closes. */
export function endQueuedWith(socket: Socket): void {
  socket.once('close', () => {
    for (const response of queued.get(socket) ?? []) response.destroy();
  });
}
