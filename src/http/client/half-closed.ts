/**
 * Detects whether a client that has closed its side of a connection (half-close) still waits for its response or has
 * disconnected. TCP shows the difference only when something is written, because a disconnected client responds with a
 * reset. So the gateway writes the first bytes of the status line, which are the same for every response.
 */
import type { EventEmitter } from 'node:events';
import type { Server } from 'node:http';
import { Socket } from 'node:net';
import { isReadByParser, keepHalfClosed, queuedBytes, currentResponse } from '../../platform/node-internals.js';

const STATUS_LINE_START = 'HTTP/1.1 ';
/**
 * Pause between the first and the second byte, in ms. A disconnected client responds to the first byte with a reset,
 * which the second write detects.
 */
const FIRST_PAUSE_MS = 100;
/**
 * Pauses after each byte, in ms. The bytes after the second one detect clients that disconnect later. After the last
 * byte, the timeouts of the service apply.
 */
const PAUSES_MS = [FIRST_PAUSE_MS, 400, 1_500, 3_000, 5_000, 10_000, 20_000, 20_000];
/** Time without progress after which a response that has begun is cut off, if no data is waiting to be sent. */
const SILENCE_MS = 1_000;

/** Keeps Node's server from closing half-closed connections. `awaitResponse` detects disconnected clients instead. */
export function serveHalfClosed(server: Server): void {
  keepHalfClosed(server);
}

/**
 * Handles a half-close on a connection that Node reads. The request continues as long as its client can receive the
 * response. Does nothing if no request is running or the request body is incomplete, because Node handles these cases.
 */
export function awaitResponse(socket: Socket): void {
  const response = currentResponse(socket);
  if (!isReadByParser(socket) || response?.req.complete !== true) return;
  if (response.headersSent) cutWhenSilent(socket, response);
  else announceResponse(socket);
  // Then check for the next pipelined request.
  response.once('close', () => {
    if (!socket.destroyed) awaitResponse(socket);
  });
}

/**
 * Writes the start of the status line byte by byte, until the actual response is written. The code that writes the
 * response needs no change, because the bytes already sent are removed from its first write.
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
 * Closes a connection whose response has begun but makes no progress. The gateway cannot write a test byte into such a
 * response. A response that makes progress detects a disconnected client by its own writes.
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
