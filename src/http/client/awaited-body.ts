/** The beginning of a plain request whose body is on its way: most clients send a small one right behind its head. */

/** Whoever sends a small body in more of them is no usual client. */
const MOST_PIECES = 16;

/** AwaitedBody keeps what has been read of such a request. */
export class AwaitedBody {
  private readonly pieces: Buffer[] = [];
  private readonly timer: NodeJS.Timeout;

  /**
   * @param first is copied, as all pieces are.
   * @param bytesLeft that have not come; more than 0.
   * @param longestWaitMs a body that takes longer is a stream.
   * @param onLate called once when it has been waited for so long.
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

  /** Keeps a piece more. @returns whether it need not be waited for any longer. */
  add(piece: Buffer): boolean {
    this.pieces.push(Buffer.from(piece));
    this.bytesLeft -= piece.length;
    return this.bytesLeft <= 0 || this.pieces.length === MOST_PIECES;
  }

  /** Whether it has come, and nothing behind it. */
  get isWhole(): boolean {
    return this.bytesLeft === 0;
  }

  /** Waits no longer. @returns all that has been read, from the first byte of the request on. */
  take(): Buffer {
    clearTimeout(this.timer);
    return Buffer.concat(this.pieces);
  }
}
