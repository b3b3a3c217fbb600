/** A response that is held back until it is whole, so that head and body leave in one write; as long as it is small. */

/** Larger ones are passed on as they come. */
export const LARGEST_HELD_BYTES = 16 * 1024;

const EMPTY = Buffer.alloc(0);

export class HeldResponse {
  private readonly pieces: Buffer[] = [];
  private bytes = 0;

  constructor(
    /** Field lines of its head, each with its CRLF. */
    public lines: string,
    /** Whether the length of the body is not told before its end. */
    readonly isChunked: boolean,
    /** Whether it is waited for, in however many pieces it comes. */
    readonly isAwaited: boolean,
  ) {}

  /** Whether it has become too large to be held, or does with so many bytes more. */
  isLargerThan(bytes: number, moreBytes = 0): boolean {
    return this.bytes + moreBytes > bytes;
  }

  /** @param piece which it keeps as it is. */
  add(piece: Buffer): void {
    this.pieces.push(piece);
    this.bytes += piece.length;
  }

  /** What has been held back of the body, for a response that is not held any more. */
  takePieces(): readonly Buffer[] {
    return this.pieces.splice(0);
  }

  /** Makes what is held its own: a body that came whole stands where the next response will be read. */
  keep(): void {
    this.pieces.splice(0, this.pieces.length, Buffer.from(this.body));
  }

  /** The body that is there. */
  get body(): Buffer {
    const [first = EMPTY, second] = this.pieces;
    return second === undefined ? first : Buffer.concat(this.pieces);
  }

  /** The field lines of its head, now that it is whole: a body that came in chunks has a length. */
  get wholeLines(): string {
    return this.isChunked ? `${this.lines}Content-Length: ${this.bytes}\r\n` : this.lines;
  }
}
