/**
 * Collects the pieces of a response body, so that a sink can write or store the body as one buffer. Callers must limit
 * the size.
 */

const EMPTY = Buffer.alloc(0);

export class BodyBuffer {
  /** Total size of the pieces. */
  bytes = 0;
  // Most bodies consist of one piece, which needs no array.
  private first: Buffer | undefined;
  private more: Buffer[] | undefined;

  /** Reports whether the body plus `moreBytes` exceeds `limit` bytes. */
  isLargerThan(limit: number, moreBytes = 0): boolean {
    return this.bytes + moreBytes > limit;
  }

  /** Adds a piece without copying it. */
  add(piece: Buffer): void {
    this.bytes += piece.length;
    if (this.first === undefined) this.first = piece;
    else if (this.more === undefined) this.more = [piece];
    else this.more.push(piece);
  }

  get pieces(): readonly Buffer[] {
    const { first, more } = this;
    if (first === undefined) return [];
    return more === undefined ? [first] : [first, ...more];
  }

  /** The complete body as one buffer. */
  get buffer(): Buffer {
    const { first = EMPTY, more } = this;
    return more === undefined ? first : Buffer.concat([first, ...more]);
  }
}
