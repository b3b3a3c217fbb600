/**
 * OpenWebSocket is an open WebSocket between client and backend. The gateway closes the WebSocket on shutdown, or if
 * the API key becomes invalid.
 */
import type { Socket } from 'node:net';
import type { CloseListener, ForwardRequest } from '../targets/forward-request.js';
import type { CutKind, LiveCall } from '../targets/pending-call.js';
import type { EndableWebSocket } from './open-websockets.js';
import { closeFrame, FrameTracker } from './websocket-frames.js';

/** Close codes and reasons for close frames (RFC 6455 section 7.4.1). */
const CLOSE_REASONS = {
  access_ended: { code: 1008, reason: 'The API key is no longer valid for this connection.' },
  going_away: { code: 1001, reason: 'This server is shutting down. Reconnect.' },
} as const;
/** Time for the client to receive the close frame and to close its connection. */
const CLOSE_TIMEOUT_MS = 1_000;

export class OpenWebSocket implements LiveCall, CloseListener, EndableWebSocket {
  private readonly client: Socket;
  /** Frames from the backend to the client. */
  private readonly frames = new FrameTracker();
  private isClosed = false;
  /** Bytes read from and written to the client's connection before the WebSocket opened. */
  private readonly readBefore: number;
  private readonly writtenBefore: number;

  /**
   * Creates the WebSocket. Call this before the two connections are piped together.
   * @param request the upgrade request.
   * @param backend the backend's connection.
   * @param whenClosed called when the client's connection has ended. `http-proxy` then ends the backend's connection.
   */
  constructor(
    readonly request: ForwardRequest,
    private readonly backend: Socket,
    private readonly whenClosed: () => void,
  ) {
    this.client = request.message.socket;
    this.readBefore = this.client.bytesRead;
    this.writtenBefore = this.client.bytesWritten;
    // Wait for the piping. Otherwise bytes directly after the handshake would reach only this listener.
    process.nextTick(() => backend.on('data', (chunk: Buffer) => this.frames.feed(chunk)));
    backend.once('close', () => this.closeClientLater());
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
    return this.close('access_ended') ? 'websocket' : undefined;
  }

  goAway(): void {
    this.close('going_away');
  }

  /**
   * Closes the client's connection if it stays open after the backend's connection has closed. Otherwise half-closed
   * connections would exhaust the connection limit of the listener.
   */
  private closeClientLater(): void {
    const { client } = this;
    const wait = (): void => void setTimeout(() => client.destroy(), CLOSE_TIMEOUT_MS).unref();
    client.resume();
    // The timeout starts once all data has been sent.
    if (client.writableFinished) wait();
    else client.once('finish', wait);
  }

  /**
   * Closes both connections. First sends the client a close frame, unless a frame is incomplete or the backend has
   * already sent a close frame. Returns whether the WebSocket was open.
   */
  private close(cause: keyof typeof CLOSE_REASONS): boolean {
    if (this.isClosed || this.client.destroyed) return false;
    this.isClosed = true;
    const { client, backend, frames } = this;
    backend.unpipe(client);
    client.unpipe(backend);
    backend.destroy();
    if (frames.mayClose) client.write(closeFrame(CLOSE_REASONS[cause].code, CLOSE_REASONS[cause].reason));
    client.end();
    // Discard further input. Unread data would cause a TCP reset, and the close frame would be lost.
    client.resume();
    setTimeout(() => client.destroy(), CLOSE_TIMEOUT_MS).unref();
    return true;
  }
}
