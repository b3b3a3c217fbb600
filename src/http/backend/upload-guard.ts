/**
 * Keeps a connection readable after a write of a request body has failed. A server that rejects an upload often
 * responds, closes the connection and resets it when more data arrives. The write then fails before the response has
 * been read, and Node discards the socket with all received data. RFC 9112 section 9.5 asks that the response is
 * read.
 */
import type { Socket } from 'node:net';
import { interceptWrites, type WriteDone } from '../../platform/node-internals.js';

/**
 * Keeps the socket readable after a failed write of a request body, by calling `onBroken` instead of failing the
 * stream.
 * @param isUploading whether the current request has a body. Other writes are not affected.
 * @param onBroken called when a write has failed. Nothing more can be sent. The end of the connection is read as usual.
 */
export function keepReadable(socket: Socket, isUploading: () => boolean, onBroken: () => void): void {
  const guarded =
    (done: WriteDone): WriteDone =>
    (error) => {
      if (error === null || error === undefined) done();
      // The stream gets no callback, so the write stays pending until the connection closes.
      else onBroken();
    };
  interceptWrites(socket, (done) => (isUploading() ? guarded(done) : done));
}
