/**
 * Where a WebSocket stands between two frames (RFC 6455 section 5.2), and the frame that closes it: one may only be put
 * in where the last one has ended.
 */

const CLOSE = 0x8;
const LONGEST_HEADER_BYTES = 14;

/** Follows the frames of one direction as they pass. Never looks into them. */
export class FrameTracker {
  private readonly header = Buffer.alloc(LONGEST_HEADER_BYTES);
  private headerBytes = 0;
  private payloadLeft = 0;
  private closed = false;

  /** Takes note of the next bytes. */
  feed(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.payloadLeft > 0) {
        const skipped = Math.min(this.payloadLeft, chunk.length - at);
        this.payloadLeft -= skipped;
        at += skipped;
      } else {
        this.header[this.headerBytes++] = chunk[at++] ?? 0;
        if (this.headerBytes === this.headerLength()) this.begin();
      }
    }
  }

  /** Whether a frame of our own may follow: the last one is whole and was not the one that closes. */
  get mayClose(): boolean {
    return this.payloadLeft === 0 && this.headerBytes === 0 && !this.closed;
  }

  private begin(): void {
    const { header } = this;
    const short = (header[1] ?? 0) & 0x7f;
    this.payloadLeft =
      short === 126 ? header.readUInt16BE(2) : short === 127 ? Number(header.readBigUInt64BE(2)) : short;
    this.closed ||= ((header[0] ?? 0) & 0x0f) === CLOSE;
    this.headerBytes = 0;
  }

  /** As far as it can be told from what has come of it. */
  private headerLength(): number {
    if (this.headerBytes < 2) return 2;
    const second = this.header[1] ?? 0;
    const short = second & 0x7f;
    return 2 + (short === 126 ? 2 : short === 127 ? 8 : 0) + (second < 0x80 ? 0 : 4);
  }
}

/**
 * A frame that closes, as a server sends it: without a mask.
 * @param code RFC 6455 section 7.4.1.
 * @param reason at most 123 bytes of UTF-8.
 */
export function closeFrame(code: number, reason: string): Buffer {
  const text = Buffer.from(reason);
  const frame = Buffer.alloc(4 + text.length);
  frame[0] = 0x80 | CLOSE;
  frame[1] = 2 + text.length;
  frame.writeUInt16BE(code, 2);
  text.copy(frame, 4);
  return frame;
}
