/**
 * Keeps a connection readable when a write of a request's body fails. A server that refuses
 * an upload answers, closes, and resets whatever still comes: the write that meets the
 * reset fails before the response has been read, and Node drops a socket whose write has
 * failed together with all that has arrived. RFC 9112 section 9.3 wants that response read.
 */
import type { Socket } from 'node:net';
import { interceptWrites, type WriteDone } from '../../platform/node-internals.js';

/**
 * @param isUploading whether what is written now belongs to a request with a
 * body; the writes of others are left as they are.
 * @param onBroken a write has failed; nothing more will leave, and the end of
 * the connection will be read like any other.
 */
export function keepReadable(socket: Socket, isUploading: () => boolean, onBroken: () => void): void {
  const held =
    (done: WriteDone): WriteDone =>
    (error) => {
      if (error === null || error === undefined) done();
      // Not told: for the stream, the write lasts until the connection is closed.
      else onBroken();
    };
  interceptWrites(socket, (done) => (isUploading() ? held(done) : done));
}
