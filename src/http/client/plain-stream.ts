/** The body of a response of a known length, written by hand as its pieces come; see `plain-connection.ts`. */
import type { Socket } from 'node:net';
import type { ResponseStream } from './client-response.js';
import { writeEncrypted, writeJoined } from './whole-response.js';

/**
 * So much may wait for a client that reads slowly over TLS, where every piece waits for the next turn. In plain nothing
 * does that the system takes at once.
 */
const MOST_UNSENT_BYTES = 96 * 1024;
const NOTHING = Buffer.alloc(0);

/** What a stream tells of itself. */
export interface PlainStreamOwner {
  /** There is room again, after a `write` that was false. */
  onDrain(): void;
  /** The last byte has left. */
  onSent(): void;
}

export class PlainStream implements ResponseStream {
  /** Writes that have not left yet. */
  private pending = 0;
  private isStalled = false;
  private isEnded = false;

  /** @param head of the response, which goes out with the first piece. */
  constructor(
    private readonly socket: Socket,
    private head: string,
    private readonly isEncrypted: boolean,
    private readonly owner: PlainStreamOwner,
  ) {}

  write(piece: Buffer): boolean {
    const { socket, head, isEncrypted } = this;
    // The client has gone: the end of the connection ends the request.
    if (!socket.writable) return true;
    this.head = '';
    if (isEncrypted) {
      this.pending++;
      writeEncrypted(socket, head, piece, this.onLeft);
    } else {
      writeJoined(socket, head, piece);
      if (socket.writableLength > 0) {
        this.pending++;
        socket.write('', 'latin1', this.onLeft);
      }
    }
    this.isStalled = socket.writableLength > (isEncrypted ? MOST_UNSENT_BYTES : 0);
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

  private readonly onLeft = (error: Error | null | undefined): void => {
    // It ends with its connection.
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
