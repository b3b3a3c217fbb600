/** A WebSocket that is open, as far as it may have to end before either side wants it to. */
import type { Socket } from 'node:net';
import { closeFrame, FrameTracker } from './websocket-frames.js';

/** RFC 6455 section 7.4.1: closed because of a policy. */
const POLICY_VIOLATION = 1008;
const REASON = 'The API key may no longer be used for this.';
/** For the client to take the frame that closes, and to close its side. */
const CLOSE_TIMEOUT_MS = 1_000;

export class OpenWebSocket {
  private readonly frames = new FrameTracker();
  private isCut = false;

  /** @param backend its connection, which is about to be piped to the client's. */
  constructor(
    private readonly client: Socket,
    private readonly backend: Socket,
  ) {
    backend.on('data', (chunk: Buffer) => this.frames.feed(chunk));
  }

  /** Ends both sides; the client is told why where no frame is under way to it. Whether it was open. */
  cut(): boolean {
    if (this.isCut || this.client.destroyed) return false;
    this.isCut = true;
    const { client, backend, frames } = this;
    backend.unpipe(client);
    client.unpipe(backend);
    backend.destroy();
    if (frames.mayClose) client.write(closeFrame(POLICY_VIOLATION, REASON));
    client.end();
    // What still comes is thrown away: unread, it would make the system reset the connection and lose our last frame.
    client.resume();
    setTimeout(() => client.destroy(), CLOSE_TIMEOUT_MS).unref();
    return true;
  }
}
