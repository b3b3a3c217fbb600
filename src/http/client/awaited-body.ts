/** Collects a plain request whose body has not arrived completely with its head. */

/** Maximum number of pieces. A small body rarely arrives in more. */
const MAX_PIECES = 16;

export class AwaitedBody {
  private readonly pieces: Buffer[] = [];
  private readonly timer: NodeJS.Timeout;

  /**
   * @param first the bytes read so far, from the start of the request. The bytes of all pieces are copied.
   * @param bytesLeft number of missing bytes; more than 0.
   * @param longestWaitMs after this time, `onLate` is called.
   * @param onLate called once. The caller then treats the body as a stream.
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

  /** Adds a piece. Returns true if the body is complete, or if there are too many pieces. */
  add(piece: Buffer): boolean {
    this.pieces.push(Buffer.from(piece));
    this.bytesLeft -= piece.length;
    return this.bytesLeft <= 0 || this.pieces.length === MAX_PIECES;
  }

  /** Whether the whole body has arrived, and no byte more. */
  get isWhole(): boolean {
    return this.bytesLeft === 0;
  }

  /** Stops the timer and returns all bytes from the start of the request. */
  finish(): Buffer {
    clearTimeout(this.timer);
    return Buffer.concat(this.pieces);
  }
}
