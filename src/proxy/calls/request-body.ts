/**
 * Streams a client's request body to a backend and counts its bytes. If the backend responds early or fails, this
 * stream is destroyed and the client's connection survives.
 */
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { ClientMessage } from '../../http/client/client-response.js';
import { errorOfPeer } from '../../http/grammar/errors.js';
import type { ForwardRequest } from '../targets/forward-request.js';
import { discardRest } from './discard-body.js';

/** Creates an error with `code` and without a stack, because it describes the peer and not the program. */
export function peerError(code: string): Error {
  return errorOfPeer(code);
}

/** Reports whether a request has a body (RFC 9112 section 6.3). */
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
 * Returns a request's body: a buffer if it is complete, otherwise a stream. Sends `100 Continue` if the client waits
 * for it.
 * @param maxBytes limit for the stream. See `RequestBody` for `onProgress`.
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
  // Any other message with a body comes from Node's parser.
  const body = new RequestBody(message as IncomingMessage, maxBytes, onProgress);
  if (expectsContinue(message)) client.response.nodeResponse.writeContinue();
  return body;
}

export class RequestBody extends Readable {
  private received = 0;
  private held = false;
  private hasEnded = false;
  // Assigned in the constructor. As field initializers they would be allocated in the old generation and keep the whole
  // request alive (decision 0026).
  private readonly onData: (chunk: Buffer) => void;
  private readonly onEnd: () => void;
  private readonly onGone: () => void;

  /**
   * Creates the stream.
   * @param maxBytes limit in bytes. Beyond it the stream fails with `TRAILGATE_REQUEST_TOO_LARGE`.
   * @param onProgress called for every chunk.
   */
  constructor(
    private readonly source: IncomingMessage,
    private readonly maxBytes: number,
    private readonly onProgress: (chunk: Buffer) => void,
  ) {
    super();
    // The connection listens only while it sends. A client that disconnects after that must not cause an unhandled
    // error.
    this.on('error', () => {});
    const onData = (chunk: Buffer): void => this.receive(chunk);
    const onEnd = (): void => {
      this.hasEnded = true;
      this.push(null);
    };
    const onGone = (): void => void this.destroy(peerError('TRAILGATE_CLIENT_GONE'));
    this.onData = onData;
    this.onEnd = onEnd;
    this.onGone = onGone;
    source.on('data', onData);
    source.on('end', onEnd);
    source.on('aborted', onGone);
    source.on('error', onGone);
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
    return this.held;
  }

  override _read(): void {
    this.held = false;
    this.source.resume();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    const { source } = this;
    source.off('data', this.onData);
    source.off('end', this.onEnd);
    source.off('aborted', this.onGone);
    // The error listener stays: a client that disconnects later must not cause an unhandled error.
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
    this.held = true;
    this.source.pause();
  }
}
