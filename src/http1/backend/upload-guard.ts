/**
 * Keeps a connection readable when a write of a request's body fails. A server that refuses an upload answers, closes, and resets
 * whatever still comes: the write that meets the reset fails before the answer has been read, and Node drops a socket whose write
 * has failed together with all that has arrived. RFC 9112 section 9.3 wants that answer read.
 */
import type { Socket } from 'node:net';

type Done = (error?: Error | null) => void;
type Write = (chunk: unknown, encoding: BufferEncoding, done: Done) => void;
type WriteMany = (chunks: { chunk: unknown; encoding: BufferEncoding }[], done: Done) => void;

/**
 * @param isUploading whether what is written now belongs to a request with a body; the writes of others are left as they are.
 * @param onBroken a write has failed; nothing more will leave, and the end of the connection will be read like any other.
 */
export function keepReadable(socket: Socket, isUploading: () => boolean, onBroken: () => void): void {
  const write: Write = socket._write.bind(socket);
  const writeMany: WriteMany | undefined = socket._writev?.bind(socket);
  const held =
    (done: Done): Done =>
    (error) => {
      if (error === null || error === undefined) done();
      // Not told: for the stream, the write lasts until the connection is closed.
      else onBroken();
    };
  socket._write = (chunk: unknown, encoding, done) => write(chunk, encoding, isUploading() ? held(done) : done);
  if (writeMany === undefined) return;
  socket._writev = (chunks, done) => writeMany(chunks, isUploading() ? held(done) : done);
}
