/**
 * Tracks the boundaries of WebSocket frames (RFC 6455 section 5.2), and builds close frames. The gateway can insert a
 * close frame only between two frames.
 */

const CLOSE = 0x8;
const LONGEST_HEADER_BYTES = 14;

/** FrameTracker tracks the frames of one direction without interpreting their payload. */
export class FrameTracker {
  private readonly header = Buffer.alloc(LONGEST_HEADER_BYTES);
  private headerBytes = 0;
  private payloadLeft = 0;
  /** Whether a close frame has begun. */
  private closed = false;

  /** Processes the next bytes of the connection. */
  feed(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.payloadLeft > 0) {
        const skipped = Math.min(this.payloadLeft, chunk.length - at);
        this.payloadLeft -= skipped;
        at += skipped;
      } else {
        this.header[this.headerBytes++] = chunk[at++] ?? 0;
        if (this.headerBytes === this.headerLength()) this.beginFrame();
      }
    }
  }

  /** Whether a close frame may be inserted: the last frame is complete and was not a close frame. */
  get mayClose(): boolean {
    return this.payloadLeft === 0 && this.headerBytes === 0 && !this.closed;
  }

  /** Reads the payload length and the opcode from the complete header. */
  private beginFrame(): void {
    const { header } = this;
    const lengthBits = (header[1] ?? 0) & 0x7f;
    this.payloadLeft =
      lengthBits === 126 ? header.readUInt16BE(2) : lengthBits === 127 ? Number(header.readBigUInt64BE(2)) : lengthBits;
    this.closed ||= ((header[0] ?? 0) & 0x0f) === CLOSE;
    this.headerBytes = 0;
  }

  /** Returns the length of the header in bytes; 2 until the first two bytes determine the length. */
  private headerLength(): number {
    if (this.headerBytes < 2) return 2;
    const second = this.header[1] ?? 0;
    const lengthBits = second & 0x7f;
    return 2 + (lengthBits === 126 ? 2 : lengthBits === 127 ? 8 : 0) + (second < 0x80 ? 0 : 4);
  }
}

/**
 * Builds an unmasked close frame, as servers send.
 * @param code see RFC 6455 section 7.4.1.
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
