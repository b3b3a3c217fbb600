/** Writes requests to a connection one after another, with backpressure for streamed bodies. */
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import type { Call } from './call.js';
import { connectionError } from '../grammar/errors.js';
import { keepReadable } from './upload-guard.js';

export interface RequestWriterListener {
  /** Called when the last byte has been handed to the socket. */
  onSent(): void;
  /** Called if the body failed or ended early, or if its size differs from `Content-Length`. */
  onFailure(error: Error): void;
}

/** Requests with these methods send `Content-Length: 0` if they have no body (RFC 9110 section 8.6). */
const EXPECTS_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'QUERY']);
const NO_BODY = 'Content-Length: 0\r\n\r\n';
const LENGTH_LINE = /(?:^|\n)content-length:/i;

export class RequestWriter {
  private socket!: Socket;
  private body: Readable | undefined;
  private isChunked = false;
  /** Remaining bytes of the body, if it has a `Content-Length`. */
  private bytesLeft = 0;
  /**
   * A head that has not been written yet. It waits for the first data of the body, but no longer than `setImmediate`.
   */
  private heldHead = '';
  /** End of the head if the streamed body turns out to be empty. */
  private emptyBodyLines = '';
  /** Whether the current request has a body. */
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

  /** Whether the whole request has been written and has left the process. */
  get isDone(): boolean {
    return this.body === undefined && this.socket.writableLength === 0;
  }

  /** Whether part of a body has not been written yet. */
  get isSending(): boolean {
    return this.body !== undefined;
  }

  /** Calls `done` when all written data has left the process. */
  whenFlushed(done: () => void): void {
    if (this.socket.writableLength === 0) done();
    else this.socket.write('', 'latin1', done);
  }

  write({ method, target, fieldLines, body, bodyBytes }: Call): void {
    const head = `${method} ${target} HTTP/1.1\r\n${this.fixedLines}${fieldLines}`;
    this.isUpload = body !== null;
    if (body === null) {
      const needsNoLength = !EXPECTS_BODY.has(method) || LENGTH_LINE.test(fieldLines);
      this.socket.write(needsNoLength ? `${head}\r\n` : head + NO_BODY, 'latin1');
      this.listener.onSent();
      return;
    }
    this.installGuard();
    if (Buffer.isBuffer(body)) {
      // As a Latin-1 string, the body joins the head in one write, byte for byte.
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
    this.emptyBodyLines = EXPECTS_BODY.has(method) ? NO_BODY : '\r\n';
    setImmediate(this.writeHead);
    body.on('data', this.onData);
    body.on('end', this.onEnd);
    body.on('error', this.onError);
    body.on('close', this.onClose);
  }

  /** Stops sending because the connection is closing. Destroys a body that has not been sent completely. */
  stop(): void {
    const { body } = this;
    if (body === undefined) return;
    this.detach(body);
    body.destroy();
  }

  /**
   * Installs the guard of `upload-guard.ts` with the first body, so that connections without bodies do not pay for it.
   */
  private installGuard(): void {
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
    let mayContinue: boolean;
    socket.cork();
    this.writeHead();
    if (this.isChunked) {
      socket.write(`${piece.length.toString(16)}\r\n`, 'latin1');
      socket.write(piece);
      mayContinue = socket.write('\r\n', 'latin1');
    } else {
      this.bytesLeft -= piece.length;
      if (this.bytesLeft < 0) {
        socket.uncork();
        this.listener.onFailure(connectionError('TRAILGATE_BODY_LENGTH'));
        return;
      }
      mayContinue = socket.write(piece);
    }
    socket.uncork();
    if (!mayContinue) this.body?.pause();
  };

  private readonly onEnd = (): void => {
    const { body } = this;
    if (body === undefined) return;
    if (this.heldHead !== '' && this.isChunked) {
      // The stream was empty, so send no body at all.
      this.socket.write(this.heldHead + this.emptyBodyLines, 'latin1');
      this.heldHead = '';
    } else if (this.isChunked) {
      this.socket.write('0\r\n\r\n', 'latin1');
    } else if (this.bytesLeft > 0) {
      this.listener.onFailure(connectionError('TRAILGATE_BODY_LENGTH'));
      return;
    } else {
      this.writeHead();
    }
    this.detach(body);
    this.listener.onSent();
  };

  private readonly onError = (error: Error): void => this.listener.onFailure(error);

  private readonly onClose = (): void => this.listener.onFailure(connectionError('TRAILGATE_BODY_LENGTH'));

  private detach(body: Readable): void {
    this.body = undefined;
    this.heldHead = '';
    body.off('data', this.onData);
    body.off('end', this.onEnd);
    body.off('error', this.onError);
    body.off('close', this.onClose);
  }
}
