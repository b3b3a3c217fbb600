/**
 * Collects the bytes of a plain request whose body did not arrive completely with its head. Gives up after a timeout or
 * too many pieces.
 */

/** Maximum number of pieces of a request. A small body rarely arrives in more pieces. */
const MAX_PIECES = 16;

export class AwaitedBody {
  private readonly pieces: Buffer[] = [];
  private readonly timer: NodeJS.Timeout;

  /**
   * @param first the bytes read so far, from the start of the request. The bytes of all pieces are copied.
   * @param bytesLeft number of missing bytes of the body; more than 0.
   * @param longestWaitMs time after which `onLate` is called.
   * @param onLate called once if the body is late. The caller then treats the body as a stream.
   */
  constructor(
    first: Buffer,
    private bytesLeft: number,
    longestWaitMs: number,
    onLate: () => void,
  ) {
    this.pieces.push(Buffer.from(first));
    this.timer = setTimeout(onLate, longestWaitMs);
  }

  /** Adds a piece of the body. Returns true if the body is complete, or if there are too many pieces. */
  add(piece: Buffer): boolean {
    this.pieces.push(Buffer.from(piece));
    this.bytesLeft -= piece.length;
    return this.bytesLeft <= 0 || this.pieces.length === MAX_PIECES;
  }

  /** Whether exactly the missing bytes have arrived, and no more. */
  get isWhole(): boolean {
    return this.bytesLeft === 0;
  }

  /** Stops the timer and returns all bytes from the start of the request. */
  finish(): Buffer {
    clearTimeout(this.timer);
    return Buffer.concat(this.pieces);
  }
}
