/**
 * Keeps a connection readable after a write of a request body has failed. A server that rejects an upload often
 * responds, closes the connection, and resets it when more data arrives. The write can fail before the gateway has read
 * the response. Node would then discard the socket with all received data. RFC 9112 section 9.5 requires clients to
 * watch for such a response.
 */
import type { Socket } from 'node:net';
import { interceptWrites, type WriteDone } from '../../platform/node-internals.js';

/**
 * Makes a failed write of a request body call `onBroken` instead of failing the socket.
 * @param isUploading reports whether the current request has a body. Other writes are not affected.
 * @param onBroken called when a write has failed. Nothing more can be sent. The end of the connection is read as usual.
 */
export function keepReadable(socket: Socket, isUploading: () => boolean, onBroken: () => void): void {
  const guarded =
    (done: WriteDone): WriteDone =>
    (error) => {
      if (error === null || error === undefined) done();
      // Don't call `done`. The write stays pending until the connection closes.
      else onBroken();
    };
  interceptWrites(socket, (done) => (isUploading() ? guarded(done) : done));
}
