/** Builds the heads of HTTP/1.1 responses, and writes each head together with the complete body or its first piece. */
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { WriteDone } from '../../platform/node-internals.js';

/**
 * JoinBuffer joins a head and a body in a buffer. The buffer can be reused if the kernel has accepted the data
 * immediately.
 */
class JoinBuffer {
  private buffer: Buffer | undefined;

  /** @param largestBytes maximum size of a head and a body together. */
  constructor(readonly largestBytes: number) {}

  /** Returns the head and the body as one Buffer, which is valid until the next call. */
  join(head: string, body: Buffer): Buffer {
    const buffer = (this.buffer ??= Buffer.allocUnsafeSlow(this.largestBytes));
    const at = buffer.write(head, 0, 'latin1');
    body.copy(buffer, at);
    return buffer.subarray(0, at + body.length);
  }

  /**
   * Stops using the current buffer, because its content has not been sent yet. The next `join` allocates another
   * buffer.
   */
  release(): void {
    this.buffer = undefined;
  }
}

const forSmall = new JoinBuffer(20 * 1024);
/** Buffer for a head and a piece of the size of a read. */
const forLarge = new JoinBuffer(80 * 1024);
const statusLines: string[] = [];

/**
 * Returns the head of a response: status line, fields and empty line (RFC 9112 sections 4 and 5). This function is
 * faster than Node's `writeHead`, which validates every name and value again and compares each name with seven others.
 * @param lines validated field lines with `Date`, each with its CRLF.
 * @param connectionLines validated `Connection` and `Keep-Alive` lines.
 */
export function wholeHead(status: number, lines: string, connectionLines: string): string {
  return `${(statusLines[status] ??= statusLine(status))}${lines}${connectionLines}\r\n`;
}

function statusLine(status: number): string {
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n`;
}

/**
 * Returns the field lines for a connection that stays open: `Connection` and, with a timeout, `Keep-Alive` (RFC 9112
 * section 9). Each line ends with CRLF.
 * @param timeoutMs idle timeout to announce, in ms. 0 to announce none.
 * @param maxRequests number of requests that the connection may serve. 0 for no limit.
 */
export function keepAliveLines(timeoutMs: number, maxRequests: number): string {
  const hint =
    timeoutMs > 0 ? `Keep-Alive: timeout=${timeoutMs / 1_000}${maxRequests > 0 ? `, max=${maxRequests}` : ''}\r\n` : '';
  return `Connection: keep-alive\r\n${hint}`;
}

export const CLOSE_LINE = 'Connection: close\r\n';

/**
 * Writes a head and a body in one piece. A Buffer is not converted to a string.
 * @param head Latin-1 text, as is a body that is a string.
 */
export function writeJoined(socket: Socket, head: string, body: string | Buffer): void {
  if (typeof body === 'string') {
    socket.write(head + body, 'latin1');
    return;
  }
  const bytes = head.length + body.length;
  if (bytes > forLarge.largestBytes) {
    socket.write(Buffer.concat([Buffer.from(head, 'latin1'), body]));
    return;
  }
  const joinBuffer = bytes > forSmall.largestBytes ? forLarge : forSmall;
  socket.write(joinBuffer.join(head, body));
  if (socket.writableLength > 0) joinBuffer.release();
}

/**
 * Writes a head and a body over TLS. `socket.write` encrypts, and so copies, the data before it returns (verified by
 * `whole-response.spec.ts`). The write completes a turn of the event loop later.
 * @param done called when the data has been sent, or the write has failed.
 */
export function writeEncrypted(socket: Socket, head: string, body: string | Buffer, done: WriteDone): void {
  if (typeof body === 'string') {
    socket.write(head + body, 'latin1', done);
    return;
  }
  const bytes = head.length + body.length;
  // A queued write is copied later, so it must not use a shared buffer.
  if (bytes > forLarge.largestBytes || socket.writableLength > 0) {
    socket.write(Buffer.concat([Buffer.from(head, 'latin1'), body]), done);
    return;
  }
  const joinBuffer = bytes > forSmall.largestBytes ? forLarge : forSmall;
  socket.write(joinBuffer.join(head, body), done);
}
