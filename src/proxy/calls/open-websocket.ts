/** An open WebSocket that the gateway can close: on shutdown, or when the API key becomes invalid. */
import type { Socket } from 'node:net';
import type { CloseListener, ForwardRequest } from '../targets/forward-request.js';
import type { CutKind, LiveCall } from '../targets/pending-call.js';
import type { EndableWebSocket } from './open-websockets.js';
import { closeFrame, FrameTracker } from './websocket-frames.js';

/** Close codes and reasons (RFC 6455 section 7.4.1). */
const ENDS = {
  access_ended: { code: 1008, reason: 'The API key is no longer valid for this connection.' },
  going_away: { code: 1001, reason: 'This server is shutting down. Reconnect.' },
} as const;
/** Time for the client to receive the close frame and to close its side. */
const CLOSE_TIMEOUT_MS = 1_000;

export class OpenWebSocket implements LiveCall, CloseListener, EndableWebSocket {
  private readonly client: Socket;
  private readonly frames = new FrameTracker();
  private isCut = false;
  private readonly readBefore: number;
  private readonly writtenBefore: number;

  /**
   * Creates it before both connections are piped together.
   * @param request the upgrade request.
   * @param backend the backend's connection.
   * @param whenClosed called when the client's connection has ended. The proxy library then ends the backend's.
   */
  constructor(
    readonly request: ForwardRequest,
    private readonly backend: Socket,
    private readonly whenClosed: () => void,
  ) {
    this.client = request.message.socket;
    this.readBefore = this.client.bytesRead;
    this.writtenBefore = this.client.bytesWritten;
    // After piping: otherwise this listener alone would get bytes that followed the handshake directly.
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

  revokeAccess(): CutKind | undefined {
    return this.cut('access_ended') ? 'websocket' : undefined;
  }

  goAway(): void {
    this.cut('going_away');
  }

  /**
   * Closes the client's side if it stays open after the backend's has closed. Such connections would exhaust the
   * listener.
   */
  private expectEnd(): void {
    const { client } = this;
    const wait = (): void => void setTimeout(() => client.destroy(), CLOSE_TIMEOUT_MS).unref();
    client.resume();
    // The timeout starts once all data has been sent.
    if (client.writableFinished) wait();
    else client.once('finish', wait);
  }

  /**
   * Closes both sides. Sends a close frame unless another frame is incomplete. Returns whether the WebSocket was open.
   */
  private cut(why: keyof typeof ENDS): boolean {
    if (this.isCut || this.client.destroyed) return false;
    this.isCut = true;
    const { client, backend, frames } = this;
    backend.unpipe(client);
    client.unpipe(backend);
    backend.destroy();
    if (frames.mayClose) client.write(closeFrame(ENDS[why].code, ENDS[why].reason));
    client.end();
    // Discards further input. Unread data would cause a reset, and the close frame would be lost.
    client.resume();
    setTimeout(() => client.destroy(), CLOSE_TIMEOUT_MS).unref();
    return true;
  }
}
