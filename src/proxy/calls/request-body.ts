/**
 * Streams a client's request body to a backend and counts its bytes. If the backend responds early or fails, only this
 * stream is destroyed. The client's connection survives, within the limits of `discardRest`.
 */
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { ClientMessage } from '../../http/client/client-response.js';
import { errorOfPeer } from '../../http/grammar/errors.js';
import type { ForwardRequest } from '../targets/forward-request.js';
import { discardRest } from './discard-body.js';

/**
 * Creates an error with a `code`. The error has no stack trace, because a peer caused the failure and not the program.
 */
export function peerError(code: string): Error {
  return errorOfPeer(code);
}

/** Reports whether the framing of a request announces a body (RFC 9112 section 6.3). A chunked body can be empty. */
export function hasBody(message: ClientMessage): boolean {
  const { headers } = message;
  if (headers['transfer-encoding'] !== undefined) return true;
  const length = headers['content-length'];
  return length !== undefined && Number(length) !== 0;
}

/** Reports whether the client waits for `100 Continue` (RFC 9110 section 10.1.1). HTTP/1.0 has no 1xx responses. */
export function expectsContinue({ headers: { expect }, httpVersion }: ClientMessage): boolean {
  return expect !== undefined && httpVersion !== '1.0' && expect.toLowerCase() === '100-continue';
}

/**
 * Returns a request's body: a buffer if the body is already complete, otherwise a stream. For a stream, sends
 * `100 Continue` if the client waits for this response.
 * @param maxBytes limit for the stream in bytes.
 * @param onProgress called with every chunk of the stream.
 */
export function bodyOf(
  { message, client }: ForwardRequest,
  maxBytes: number,
  onProgress: (piece: Buffer) => void,
): RequestBody | Buffer {
  if (message.body !== undefined) {
    client.bytesIn = message.body.length;
    return message.body;
  }
  // Only messages from Node's parser have a body that is not complete yet.
  const body = new RequestBody(message as IncomingMessage, maxBytes, onProgress);
  if (expectsContinue(message)) client.response.nodeResponse.writeContinue();
  return body;
}

export class RequestBody extends Readable {
  private received = 0;
  /** Whether the backend applies backpressure. */
  private isHeld = false;
  private hasEnded = false;
  // The constructor assigns these listeners. Field initializers would be allocated in the old generation and keep the
  // whole request alive (decision 0026).
  private readonly onData: (chunk: Buffer) => void;
  private readonly onEnd: () => void;
  private readonly onDisconnect: () => void;

  /**
   * @param maxBytes limit in bytes. A larger body fails with `TRAILGATE_REQUEST_TOO_LARGE`.
   * @param onProgress called with every chunk.
   */
  constructor(
    private readonly source: IncomingMessage,
    private readonly maxBytes: number,
    private readonly onProgress: (chunk: Buffer) => void,
  ) {
    super();
    // The backend connection listens for errors only while it sends the body. A client that disconnects later must not
    // cause an unhandled error.
    this.on('error', () => {});
    const onData = (chunk: Buffer): void => this.receive(chunk);
    const onEnd = (): void => {
      this.hasEnded = true;
      this.push(null);
    };
    const onDisconnect = (): void => void this.destroy(peerError('TRAILGATE_CLIENT_GONE'));
    this.onData = onData;
    this.onEnd = onEnd;
    this.onDisconnect = onDisconnect;
    source.on('data', onData);
    source.on('end', onEnd);
    source.on('aborted', onDisconnect);
    source.on('error', onDisconnect);
    source.pause();
  }

  /** Number of bytes received. */
  get bytes(): number {
    return this.received;
  }

  /** Whether the whole body has been received. */
  get isWhole(): boolean {
    return this.hasEnded || this.received === Number(this.source.headers['content-length'] ?? -1);
  }

  /** Whether the backend applies backpressure. A pause in the body is then not the client's fault. */
  get isHeldByBackend(): boolean {
    return this.isHeld;
  }

  override _read(): void {
    this.isHeld = false;
    this.source.resume();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    const { source } = this;
    source.off('data', this.onData);
    source.off('end', this.onEnd);
    source.off('aborted', this.onDisconnect);
    // Keep the error listener. A client that disconnects later must not cause an unhandled error.
    if (!source.destroyed) discardRest(source);
    callback(error);
  }

  private receive(chunk: Buffer): void {
    this.received += chunk.length;
    if (this.received > this.maxBytes) {
      this.destroy(peerError('TRAILGATE_REQUEST_TOO_LARGE'));
      return;
    }
    this.onProgress(chunk);
    if (this.push(chunk)) return;
    this.isHeld = true;
    this.source.pause();
  }
}
