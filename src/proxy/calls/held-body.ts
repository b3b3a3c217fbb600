/** Collects a response body so that a small response is written at once. */

const EMPTY = Buffer.alloc(0);

export class HeldBody {
  bytes = 0;
  // Most bodies are one piece and need no array.
  private first: Buffer | undefined;
  private more: Buffer[] | undefined;

  /** Reports whether the body exceeds `limit`, now or after adding `moreBytes`. */
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

  /** The complete body. */
  get whole(): Buffer {
    const { first = EMPTY, more } = this;
    return more === undefined ? first : Buffer.concat([first, ...more]);
  }
}
