/**
 * Writes a response with a body of known length piece by piece, on a connection that the gateway reads itself
 * (`plain-connection.ts`).
 */
import type { Socket } from 'node:net';
import type { ResponseStream } from './client-response.js';
import { writeEncrypted, writeJoined } from './whole-response.js';

/**
 * Maximum unsent data over TLS, where every write completes a turn of the event loop later. Without TLS, any data that
 * the kernel does not accept immediately stops the writer.
 */
const MAX_UNSENT_BYTES = 96 * 1024;
const NOTHING = Buffer.alloc(0);

export interface PlainStreamOwner {
  /** Called when the caller can write more, after `write` returned false. */
  onDrain(): void;
  /** Called when the last byte has been sent. */
  onSent(): void;
}

export class PlainStream implements ResponseStream {
  private pending = 0;
  private isStalled = false;
  private isEnded = false;

  /** @param head response head, which is sent together with the first piece. */
  constructor(
    private readonly socket: Socket,
    private head: string,
    private readonly isEncrypted: boolean,
    private readonly owner: PlainStreamOwner,
  ) {}

  write(piece: Buffer): boolean {
    const { socket, head, isEncrypted } = this;
    // The client has disconnected. The `close` event of the socket ends the request.
    if (!socket.writable) return true;
    this.head = '';
    if (isEncrypted) {
      this.pending++;
      writeEncrypted(socket, head, piece, this.onWritten);
    } else {
      writeJoined(socket, head, piece);
      if (socket.writableLength > 0) {
        this.pending++;
        socket.write('', 'latin1', this.onWritten);
      }
    }
    this.isStalled = socket.writableLength > (isEncrypted ? MAX_UNSENT_BYTES : 0);
    return !this.isStalled;
  }

  flush(): void {
    if (this.head !== '') this.write(NOTHING);
  }

  end(): void {
    this.flush();
    this.isEnded = true;
    if (this.pending === 0 && this.socket.errored === null) this.owner.onSent();
  }

  private readonly onWritten = (error: Error | null | undefined): void => {
    // The write has failed. The `close` event of the socket ends the request.
    if (error !== null && error !== undefined) return;
    this.pending--;
    if (this.pending > 0) return;
    if (this.isEnded) this.owner.onSent();
    else if (this.isStalled) {
      this.isStalled = false;
      this.owner.onDrain();
    }
  };
}
