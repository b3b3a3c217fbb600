/**
 * Clients that close their side of a connection while a request is under way. Such a client may only have said
 * all that it has to say, and wait for its response; or it has gone. TCP tells the two apart when something is
 * written, and not before: one that has gone answers with a reset. What can be written before there is a
 * response is how every response begins.
 */
import type { EventEmitter } from 'node:events';
import type { Server } from 'node:http';
import { Socket } from 'node:net';
import { isReadByParser, keepHalfClosed, queuedBytes, responseUnderWay } from '../../platform/node-internals.js';

const BEGINNING = 'HTTP/1.1 ';
/**
 * Before the second byte of it, which finds out: the reset that the first has met is noticed by whoever writes next.
 */
const FIRST_PAUSE_MS = 100;
/**
 * Between all of them. Those behind the second are for clients that go later on; in the end
 * the deadlines of the service end it.
 */
const PAUSES_MS = [FIRST_PAUSE_MS, 400, 1_500, 3_000, 5_000, 10_000, 20_000, 20_000];
/** A response that has begun is cut when nothing of it has been written, and nothing has waited to be, for so long. */
const SILENCE_MS = 1_000;

/** Makes Node's server answer clients that close their side; those that go are for `awaitResponse` to notice. */
export function serveHalfClosed(server: Server): void {
  keepHalfClosed(server);
}

/**
 * Called when the client of a connection that Node reads has closed its side: its request goes on for as long as it is
 * there to take the response. Does nothing where no request is under way or one has not come whole: Node ends the
 * connection, or says what is wrong.
 */
export function awaitResponse(socket: Socket): void {
  const response = responseUnderWay(socket);
  if (!isReadByParser(socket) || response?.req.complete !== true) return;
  if (response.headersSent) cutWhenSilent(socket, response);
  else announceResponse(socket);
  // Of the requests that it has sent one behind the other the next has its turn.
  response.once('close', () => {
    if (!socket.destroyed) awaitResponse(socket);
  });
}

/** Writes the beginning of the response that is to come, byte by byte; who writes that response need not know. */
export function announceResponse(socket: Socket): void {
  let written = 0;
  let timer: NodeJS.Timeout | undefined;
  const stop = (): void => clearTimeout(timer);
  const announce = (): void => {
    Socket.prototype.write.call(socket, BEGINNING.charAt(written), 'latin1');
    const pauseMs = PAUSES_MS[written++];
    timer = pauseMs === undefined ? undefined : setTimeout(announce, pauseMs).unref();
  };
  socket.once('close', stop);
  socket.write = (chunk: string | Uint8Array, ...more: unknown[]): boolean => {
    stop();
    socket.off('close', stop);
    Reflect.deleteProperty(socket, 'write');
    const rest = typeof chunk === 'string' ? chunk.slice(written) : chunk.subarray(written);
    return socket.write(rest, ...(more as [BufferEncoding]));
  };
  announce();
}

/**
 * Cuts the connection of a response that has begun when nothing comes of it any more. Nothing can be written into it
 * but what it says: one that goes on tells by itself whether the client is there.
 * @param ending closes when the response has ended: Node's response, or the connection where that ends with it.
 */
export function cutWhenSilent(socket: Socket, ending: EventEmitter): void {
  let before = socket.bytesWritten;
  const timer = setInterval(() => {
    const { bytesWritten } = socket;
    const waits = socket.writableLength > 0 || queuedBytes(socket) > 0;
    if (!waits && bytesWritten === before) socket.destroy();
    before = bytesWritten;
  }, SILENCE_MS);
  timer.unref();
  ending.once('close', () => clearInterval(timer));
}
