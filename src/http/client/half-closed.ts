/**
 * Handles clients that close their side of a connection while a request is running. Such a client may be waiting for
 * its response, or it may be gone. TCP can tell the two apart only when something is written, because a client that is
 * gone sends a reset. So the gateway writes the first bytes of the status line, which are the same for every response.
 */
import type { EventEmitter } from 'node:events';
import type { Server } from 'node:http';
import { Socket } from 'node:net';
import { isReadByParser, keepHalfClosed, queuedBytes, responseUnderWay } from '../../platform/node-internals.js';

const STATUS_LINE_START = 'HTTP/1.1 ';
/**
 * Pause before the second byte. If the client is gone, the first byte provokes a reset, and the second write detects
 * it.
 */
const FIRST_PAUSE_MS = 100;
/**
 * Pauses between the bytes. Those after the second byte detect clients that leave later. After the last byte, the
 * deadlines of the service apply.
 */
const PAUSES_MS = [FIRST_PAUSE_MS, 400, 1_500, 3_000, 5_000, 10_000, 20_000, 20_000];
/** A started response is cut after this time without progress, if no data is waiting to be sent. */
const SILENCE_MS = 1_000;

/** Keeps Node's server from closing half-closed connections. `awaitResponse` detects clients that are gone. */
export function serveHalfClosed(server: Server): void {
  keepHalfClosed(server);
}

/**
 * Handles a half-close on a connection that Node reads. The request continues as long as its client is there to receive
 * the response. Does nothing if no request is running or its body is incomplete, because Node handles those cases.
 */
export function awaitResponse(socket: Socket): void {
  const response = responseUnderWay(socket);
  if (!isReadByParser(socket) || response?.req.complete !== true) return;
  if (response.headersSent) cutWhenSilent(socket, response);
  else announceResponse(socket);
  // Continue with the next pipelined request.
  response.once('close', () => {
    if (!socket.destroyed) awaitResponse(socket);
  });
}

/**
 * Writes the start of the response byte by byte until the actual response is written. The writer of that response does
 * not need to know: the bytes already sent are removed from its first write.
 */
export function announceResponse(socket: Socket): void {
  let written = 0;
  let timer: NodeJS.Timeout | undefined;
  const stop = (): void => clearTimeout(timer);
  const announce = (): void => {
    Socket.prototype.write.call(socket, STATUS_LINE_START.charAt(written), 'latin1');
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
 * Cuts the connection of a started response when the response makes no progress. Nothing else can be written into it,
 * so a response that progresses detects a missing client by itself.
 * @param ending emits `close` when the response has ended: Node's response, or the socket if it ends with the response.
 */
export function cutWhenSilent(socket: Socket, ending: EventEmitter): void {
  let before = socket.bytesWritten;
  const timer = setInterval(() => {
    const { bytesWritten } = socket;
    const isWaiting = socket.writableLength > 0 || queuedBytes(socket) > 0;
    if (!isWaiting && bytesWritten === before) socket.destroy();
    before = bytesWritten;
  }, SILENCE_MS);
  timer.unref();
  ending.once('close', () => clearInterval(timer));
}
