/**
 * Writes requests to a backend connection, one after another. Pauses a streamed body while the server reads slowly, and
 * checks its length.
 */
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import type { Call } from './call.js';
import { connectionError } from '../grammar/errors.js';
import { keepReadable } from './upload-guard.js';

export interface RequestWriterListener {
  /** Called when the last byte of the request has been written to the socket. */
  onSent(): void;
  /** Called if the body fails, ends early, or has another length than `Content-Length`. */
  onFailure(error: Error): void;
}

/** Methods whose requests send `Content-Length: 0` if they have no body (RFC 9110 section 8.6). */
const EXPECTS_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH', 'QUERY']);
const NO_BODY = 'Content-Length: 0\r\n\r\n';
const LENGTH_LINE = /(?:^|\n)content-length:/i;

export class RequestWriter {
  private socket!: Socket;
  private body: Readable | undefined;
  private isChunked = false;
  /** Number of missing bytes of a body with `Content-Length`. */
  private bytesLeft = 0;
  /**
   * Head that has not been written yet; empty if there is none. The head is written together with the first data of the
   * body, or at the latest by `setImmediate`.
   */
  private heldHead = '';
  /** Lines that complete the head if the streamed body is empty. */
  private emptyBodyLines = '';
  /** Whether the current request has a body. The upload guard handles only writes of such requests. */
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

  /** Whether the socket has passed the complete request to the operating system. */
  get isDone(): boolean {
    return this.body === undefined && this.socket.writableLength === 0;
  }

  /** Whether part of a streamed body has not been written yet. */
  get isSending(): boolean {
    return this.body !== undefined;
  }

  /** Calls `done` when the socket has passed all written data to the operating system. */
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
      // Convert the body to a Latin-1 string byte by byte, so that it is written together with the head.
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

  /**
   * Stops sending, because the connection is closing or a write has failed. Destroys a streamed body that has not been
   * written completely.
   */
  stop(): void {
    const { body } = this;
    if (body === undefined) return;
    this.detach(body);
    body.destroy();
  }

  /**
   * Installs the guard of `upload-guard.ts` when the first request with a body is written. If a write of the body fails,
   * the gateway can then still read the server's early response (RFC 9112 section 9.5). Connections that send no
   * bodies don't need the guard.
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
      // The stream was empty, so send the request without a body.
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
