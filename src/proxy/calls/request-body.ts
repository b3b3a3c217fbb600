/**
 * A client's request body on its way to a backend. Stands between the two, so that a backend that responds early or
 * dies tears down this stream and not the client's connection, and counts what passes.
 */
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { ClientMessage } from '../../http/client/client-response.js';
import { errorOfPeer } from '../../http/grammar/errors.js';
import type { ForwardRequest } from '../targets/forward-request.js';
import { discardRest } from './discard-body.js';

/** An error that names itself by `code`; made without a stack, because it describes the peer and not the program. */
export function peerError(code: string): Error {
  return errorOfPeer(code);
}

/** Whether a request has a body at all (RFC 9112 section 6.3). */
export function hasBody(message: ClientMessage): boolean {
  const { headers } = message;
  if (headers['transfer-encoding'] !== undefined) return true;
  const length = headers['content-length'];
  return length !== undefined && Number(length) !== 0;
}

/** RFC 9110 section 10.1.1: HTTP/1.0 knows no 1xx, and no other expectation exists. */
export function expectsContinue({ headers: { expect }, httpVersion }: ClientMessage): boolean {
  return expect !== undefined && httpVersion !== '1.0' && expect.toLowerCase() === '100-continue';
}

/**
 * The body of a request for its backend: the bytes that are at hand, or a stream of what the client sends, which is
 * told to where it waits for that.
 * @param maxBytes and `onProgress` of the stream.
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
  // What else has a body is read by Node.
  const body = new RequestBody(message as IncomingMessage, maxBytes, onProgress);
  if (expectsContinue(message)) client.response.nodeResponse.writeContinue();
  return body;
}

export class RequestBody extends Readable {
  private received = 0;
  private held = false;
  private hasEnded = false;
  // Assigned below: written here they would be made among the old objects, with all of the request behind them
  // (decision 0026).
  private readonly onData: (chunk: Buffer) => void;
  private readonly onEnd: () => void;
  private readonly onGone: () => void;

  /**
   * @param maxBytes the most that may pass; more ends the stream with `TRAILGATE_REQUEST_TOO_LARGE`.
   * @param onProgress called for every chunk.
   */
  constructor(
    private readonly source: IncomingMessage,
    private readonly maxBytes: number,
    private readonly onProgress: (chunk: Buffer) => void,
  ) {
    super();
    // The connection listens while it sends, and no longer: a client that goes just then must not be an error that
    // nobody caught.
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

  /** How much has arrived. */
  get bytes(): number {
    return this.received;
  }

  /** Whether all of it has arrived. */
  get isWhole(): boolean {
    return this.hasEnded || this.received === Number(this.source.headers['content-length'] ?? -1);
  }

  /** Whether the backend has stopped taking what has arrived: a pause in the body is then its own doing. */
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
    // The error listener stays: a client that dies later must not be an unhandled error.
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
