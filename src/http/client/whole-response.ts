/**
 * The head of a response that is written by hand, and how it leaves: with the whole body, or with the first piece of
 * one whose length is known.
 */
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { WriteDone } from '../../platform/node-internals.js';

/** Where a head and what follows it are put together, as long as the system takes them at once. */
class JoinBuffer {
  private buffer: Buffer | undefined;

  /** @param largestBytes of head and body together. */
  constructor(readonly largestBytes: number) {}

  /** The two as one, until the next one is put together. */
  put(head: string, body: Buffer): Buffer {
    const buffer = (this.buffer ??= Buffer.allocUnsafeSlow(this.largestBytes));
    const at = buffer.write(head, 0, 'latin1');
    body.copy(buffer, at);
    return buffer.subarray(0, at + body.length);
  }

  /** What was put together last is being sent still, from where it stands. */
  letGo(): void {
    this.buffer = undefined;
  }
}

const forSmall = new JoinBuffer(20 * 1024);
/** For pieces as large as a read is, with a head. */
const forLarge = new JoinBuffer(80 * 1024);
const statusLines: string[] = [];

/**
 * Status line and fields (RFC 9112 sections 4 and 5), and the empty line. Node's `writeHead` would look at every name
 * and value once more and compare each with seven names.
 * @param lines the fields, each with its CRLF, of which every byte has been looked at; `Date` among them.
 * @param connectionLines how the connection goes on, likewise.
 */
export function wholeHead(status: number, lines: string, connectionLines: string): string {
  return `${(statusLines[status] ??= statusLine(status))}${lines}${connectionLines}\r\n`;
}

function statusLine(status: number): string {
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n`;
}

/**
 * How a connection goes on behind a response, as lines with their CRLF (RFC 9112 section 9).
 * @param timeoutMs how long it may idle; 0: nothing is said of it. @param most
 * requests that it may have; 0: any number.
 */
export function keepAliveLines(timeoutMs: number, most: number): string {
  const hint = timeoutMs > 0 ? `Keep-Alive: timeout=${timeoutMs / 1_000}${most > 0 ? `, max=${most}` : ''}\r\n` : '';
  return `Connection: keep-alive\r\n${hint}`;
}

export const CLOSE_LINE = 'Connection: close\r\n';

/**
 * Writes head and body in one piece, without a copy of the body as a text on the way.
 * @param head in Latin-1; so is a body that is a text.
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
  const join = bytes > forSmall.largestBytes ? forLarge : forSmall;
  socket.write(join.put(head, body));
  if (socket.writableLength > 0) join.letGo();
}

/**
 * The same over TLS, where nothing stays in the system's hands: it is encrypted, so copied, when `write` returns
 * (tried by `whole-response.spec.ts`), and every write ends a turn later.
 * @param done called when it has left, or has failed.
 */
export function writeEncrypted(socket: Socket, head: string, body: string | Buffer, done: WriteDone): void {
  if (typeof body === 'string') {
    socket.write(head + body, 'latin1', done);
    return;
  }
  const bytes = head.length + body.length;
  // Behind another write it waits as it is, and is not copied yet.
  if (bytes > forLarge.largestBytes || socket.writableLength > 0) {
    socket.write(Buffer.concat([Buffer.from(head, 'latin1'), body]), done);
    return;
  }
  const join = bytes > forSmall.largestBytes ? forLarge : forSmall;
  socket.write(join.put(head, body), done);
}
