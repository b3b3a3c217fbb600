/**
 * Writes requests to a connection, one after the other: the head in one write,
 * a body as fast as the other side takes it.
 */
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import type { Call } from './call.js';
import { connectionError } from '../grammar/errors.js';
import { keepReadable } from './upload-guard.js';

/** What becomes of what is written. */
export interface RequestWriterListener {
  /** The last byte has been handed to the connection. */
  onSent(): void;
  /** The body broke off, or is not as long as it was said to be. */
  onFailure(error: Error): void;
}

/** RFC 9110 section 8.6: a request without a body whose method gives one a meaning says so. */
const EXPECTS_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'QUERY']);
const NO_BODY = 'Content-Length: 0\r\n\r\n';
const LENGTH_LINE = /(?:^|\n)content-length:/i;

export class RequestWriter {
  private socket!: Socket;
  private body: Readable | undefined;
  private isChunked = false;
  /** Of the body that is being sent, where its length was told. */
  private bytesLeft = 0;
  /** A head that waits, for no longer than a turn of the event loop, for what has arrived of its body. */
  private heldHead = '';
  private saysNone = '';
  /** The request that was written last has a body. */
  private isUpload = false;
  private isGuarded = false;

  constructor(
    private readonly fixedLines: string,
    private readonly listener: RequestWriterListener,
  ) {}

  attach(socket: Socket): void {
    this.socket = socket;
    socket.on('drain', () => this.body?.resume());
  }

  /** Nothing is left to be sent, and nothing has failed to be. */
  get isDone(): boolean {
    return this.body === undefined && this.socket.writableLength === 0;
  }

  /** A part of a body has yet to come. */
  get isSending(): boolean {
    return this.body !== undefined;
  }

  /** Calls `done` when all that was handed over has left. */
  whenFlushed(done: () => void): void {
    if (this.socket.writableLength === 0) done();
    else this.socket.write('', 'latin1', done);
  }

  write({ method, target, fieldLines, body, bodyBytes }: Call): void {
    const head = `${method} ${target} HTTP/1.1\r\n${this.fixedLines}${fieldLines}`;
    this.isUpload = body !== null;
    if (body === null) {
      const isLengthTold = !EXPECTS_BODY.has(method) || LENGTH_LINE.test(fieldLines);
      this.socket.write(isLengthTold ? `${head}\r\n` : head + NO_BODY, 'latin1');
      this.listener.onSent();
      return;
    }
    this.guard();
    if (Buffer.isBuffer(body)) {
      // As a text, byte for byte, it joins the head in one write.
      this.socket.write(`${head}\r\n${body.toString('latin1')}`, 'latin1');
      this.listener.onSent();
      return;
    }
    if (body.destroyed) {
      this.listener.onFailure(connectionError('TRAILGATE_BODY_LENGTH'));
      return;
    }
    this.isChunked = bodyBytes < 0;
    this.bytesLeft = bodyBytes;
    this.body = body;
    this.heldHead = head;
    this.saysNone = EXPECTS_BODY.has(method) ? NO_BODY : '\r\n';
    setImmediate(this.writeHead);
    body.on('data', this.onData);
    body.on('end', this.onEnd);
    body.on('error', this.onError);
    body.on('close', this.onClose);
  }

  /** No more is sent: the connection is over. A body that was not sent whole is let go of. */
  stop(): void {
    const { body } = this;
    if (body === undefined) return;
    this.letGo(body);
    body.destroy();
  }

  /** From the first body on: connections that carry none pay nothing for it. */
  private guard(): void {
    if (this.isGuarded) return;
    this.isGuarded = true;
    keepReadable(
      this.socket,
      () => this.isUpload,
      () => this.stop(),
    );
  }

  private readonly writeHead = (): void => {
    const { heldHead } = this;
    this.heldHead = '';
    if (heldHead === '') return;
    this.socket.write(this.isChunked ? `${heldHead}Transfer-Encoding: chunked\r\n\r\n` : `${heldHead}\r\n`, 'latin1');
  };

  private readonly onData = (piece: Buffer): void => {
    const { socket } = this;
    let hasRoom: boolean;
    socket.cork();
    this.writeHead();
    if (this.isChunked) {
      socket.write(`${piece.length.toString(16)}\r\n`, 'latin1');
      socket.write(piece);
      hasRoom = socket.write('\r\n', 'latin1');
    } else {
      this.bytesLeft -= piece.length;
      if (this.bytesLeft < 0) {
        socket.uncork();
        this.listener.onFailure(connectionError('TRAILGATE_BODY_LENGTH'));
        return;
      }
      hasRoom = socket.write(piece);
    }
    socket.uncork();
    if (!hasRoom) this.body?.pause();
  };

  private readonly onEnd = (): void => {
    const { body } = this;
    if (body === undefined) return;
    if (this.heldHead !== '' && this.isChunked) {
      // Not a byte has come: no body at all.
      this.socket.write(this.heldHead + this.saysNone, 'latin1');
      this.heldHead = '';
    } else if (this.isChunked) {
      this.socket.write('0\r\n\r\n', 'latin1');
    } else if (this.bytesLeft > 0) {
      this.listener.onFailure(connectionError('TRAILGATE_BODY_LENGTH'));
      return;
    } else {
      this.writeHead();
    }
    this.letGo(body);
    this.listener.onSent();
  };

  private readonly onError = (error: Error): void => this.listener.onFailure(error);

  private readonly onClose = (): void => this.listener.onFailure(connectionError('TRAILGATE_BODY_LENGTH'));

  private letGo(body: Readable): void {
    this.body = undefined;
    this.heldHead = '';
    body.off('data', this.onData);
    body.off('end', this.onEnd);
    body.off('error', this.onError);
    body.off('close', this.onClose);
  }
}
