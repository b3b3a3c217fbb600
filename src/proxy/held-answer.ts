/** An answer that is held back until it is whole, so that head and body leave in one write; for as long as it is small. */

/** Larger ones are passed on as they come. */
export const LARGEST_HELD_BYTES = 16 * 1024;

export class HeldAnswer {
  private readonly pieces: Buffer[] = [];
  private bytes = 0;
  private whole = '';

  constructor(
    /** Field lines of its head, each with its CRLF. */
    readonly lines: string,
    /** Whether the length of the body is not told before its end. */
    private readonly isChunked: boolean,
  ) {}

  /** Whether it has become too large to be held. */
  get isTooLarge(): boolean {
    return this.bytes > LARGEST_HELD_BYTES;
  }

  add(piece: Buffer): void {
    this.pieces.push(piece);
    this.bytes += piece.length;
  }

  /** The whole body at once, as Latin-1. */
  set(text: string): void {
    this.whole = text;
  }

  /** What has been held back of the body, for an answer that is not held any more. */
  takePieces(): readonly Buffer[] {
    return this.pieces.splice(0);
  }

  /** The body that is there, as Latin-1: byte for byte. */
  get text(): string {
    return this.pieces.length === 0 ? this.whole : Buffer.concat(this.pieces).toString('latin1');
  }

  /** The field lines of its head, now that it is whole: a body that came in chunks has a length. */
  linesFor(text: string): string {
    return this.isChunked ? `${this.lines}Content-Length: ${text.length}\r\n` : this.lines;
  }
}
