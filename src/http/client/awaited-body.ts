/** A plain request whose body has not arrived completely. Most clients send a small body right after its head. */

/** More pieces than this are unusual for a small body. */
const MOST_PIECES = 16;

export class AwaitedBody {
  private readonly pieces: Buffer[] = [];
  private readonly timer: NodeJS.Timeout;

  /**
   * @param first the bytes read so far, from the start of the request. Copied, as all pieces are.
   * @param bytesLeft number of missing bytes; more than 0.
   * @param longestWaitMs after this time the body is treated as a stream.
   * @param onLate called once when that time has passed.
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

  /** Adds a piece. Returns true when waiting is over: the body is complete, or there are too many pieces. */
  add(piece: Buffer): boolean {
    this.pieces.push(Buffer.from(piece));
    this.bytesLeft -= piece.length;
    return this.bytesLeft <= 0 || this.pieces.length === MOST_PIECES;
  }

  /** Whether exactly the whole body has arrived. */
  get isWhole(): boolean {
    return this.bytesLeft === 0;
  }

  /** Stops the timer and returns all bytes from the start of the request. */
  finish(): Buffer {
    clearTimeout(this.timer);
    return Buffer.concat(this.pieces);
  }
}
