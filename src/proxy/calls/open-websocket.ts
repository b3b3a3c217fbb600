/** A WebSocket that is open, as far as it may have to end before either side wants it to. */
import type { Socket } from 'node:net';
import type { CloseListener, ForwardRequest } from '../targets/forward-request.js';
import type { CutKind, LiveCall } from '../targets/pending-call.js';
import type { EndableWebSocket } from './open-websockets.js';
import { closeFrame, FrameTracker } from './websocket-frames.js';

/** Why it ends: code and reason of the frame that closes it (RFC 6455 section 7.4.1). */
const ENDS = {
  access_ended: { code: 1008, reason: 'The API key may no longer be used for this.' },
  going_away: { code: 1001, reason: 'This server is going away: connect again.' },
} as const;
/** For the client to take the frame that closes, and to close its side. */
const CLOSE_TIMEOUT_MS = 1_000;

export class OpenWebSocket implements LiveCall, CloseListener, EndableWebSocket {
  private readonly client: Socket;
  private readonly frames = new FrameTracker();
  private isCut = false;
  private readonly readBefore: number;
  private readonly writtenBefore: number;

  /**
   * @param request that it was opened by.
   * @param backend its connection, which is about to be piped to the client's.
   * @param whenClosed called when the client's connection has ended: so does the backend's, by whoever passes bytes.
   */
  constructor(
    readonly request: ForwardRequest,
    private readonly backend: Socket,
    private readonly whenClosed: () => void,
  ) {
    this.client = request.message.socket;
    this.readBefore = this.client.bytesRead;
    this.writtenBefore = this.client.bytesWritten;
    // When it is piped: what came right behind the handshake would reach this listener and nobody else.
    process.nextTick(() => backend.on('data', (chunk: Buffer) => this.frames.feed(chunk)));
    backend.once('close', () => this.expectEnd());
  }

  onClose(): void {
    const { bytesRead, bytesWritten } = this.client;
    this.request.client.bytesIn = bytesRead - this.readBefore;
    this.request.client.bytesOut = bytesWritten - this.writtenBefore;
    this.whenClosed();
  }

  get accountId(): string {
    return this.request.accountId;
  }

  bar(): CutKind | undefined {
    return this.cut('access_ended') ? 'websocket' : undefined;
  }

  goAway(): void {
    this.cut('going_away');
  }

  /**
   * The backend has gone, and the client has been told: it has to close its side, or whoever leaves it open fills the
   * listener.
   */
  private expectEnd(): void {
    const { client } = this;
    const wait = (): void => void setTimeout(() => client.destroy(), CLOSE_TIMEOUT_MS).unref();
    client.resume();
    // Not before it has taken what it was sent.
    if (client.writableFinished) wait();
    else client.once('finish', wait);
  }

  /** Ends both sides; the client is told why where no frame is under way to it. Whether it was open. */
  private cut(why: keyof typeof ENDS): boolean {
    if (this.isCut || this.client.destroyed) return false;
    this.isCut = true;
    const { client, backend, frames } = this;
    backend.unpipe(client);
    client.unpipe(backend);
    backend.destroy();
    if (frames.mayClose) client.write(closeFrame(ENDS[why].code, ENDS[why].reason));
    client.end();
    // What still comes is thrown away: unread, it would make the system reset the connection and lose our last frame.
    client.resume();
    setTimeout(() => client.destroy(), CLOSE_TIMEOUT_MS).unref();
    return true;
  }
}
