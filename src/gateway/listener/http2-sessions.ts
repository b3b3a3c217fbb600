/**
 * Resets HTTP/2 streams whose client has stopped reading, and closes HTTP/2 connections without a request.
 * `connections.ts` cannot do this. The unsent data is in the streams, and other frames of the client hide that a
 * connection is idle.
 */
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { METRICS } from '../../platform/metrics.js';
import { Http2Faults } from './http2-faults.js';

const SWEEP_INTERVAL_MS = 2_000;
/** Grace period, in ms, for a connection whose TLS handshake completed during shutdown. */
const LATE_SESSION_MS = 500;

interface OpenSession {
  readonly socket: Socket;
  readonly streams: Set<ServerHttp2Stream>;
  /** Time when the last request ended, or the connection opened (`performance.now()`). */
  idleSinceMs: number;
  isClosing: boolean;
}

/** Progress is the number of unsent bytes of a stream, and the time since which that number has not changed. */
interface Progress {
  readonly bytes: number;
  readonly sinceMs: number;
}

export class Http2Sessions {
  private readonly open = new Map<ServerHttp2Session, OpenSession>();
  /** Complete responses that clients have not read completely, at the last sweep. */
  private unread = new Map<ServerHttp2Stream, Progress>();
  private readonly timer: NodeJS.Timeout;
  private isEnding = false;

  /**
   * @param idleTimeoutMs time after which a connection without a request is closed
   * @param longestIdleMs returns the maximum time for which a complete response may make no progress
   * @param sweepIntervalMs time between two sweeps
   */
  constructor(
    private readonly idleTimeoutMs: number,
    private readonly longestIdleMs: () => number,
    sweepIntervalMs = SWEEP_INTERVAL_MS,
  ) {
    this.timer = setInterval(() => this.sweep(performance.now()), sweepIntervalMs);
    this.timer.unref();
  }

  /** Watches a session and its streams until the session closes. */
  add(session: ServerHttp2Session, socket: Socket): void {
    const streams = new Set<ServerHttp2Stream>();
    const open: OpenSession = { socket, streams, idleSinceMs: performance.now(), isClosing: false };
    this.open.set(session, open);
    const faults = new Http2Faults(session);
    session.on('stream', (stream) => {
      streams.add(stream);
      stream.once('close', () => {
        streams.delete(stream);
        faults.recordClosedStream(stream);
        if (streams.size === 0) open.idleSinceMs = performance.now();
      });
    });
    session.once('close', () => this.open.delete(session));
    // The handshake was in progress when `end` closed the other connections.
    if (this.isEnding) setTimeout(() => close(session, open), LATE_SESSION_MS).unref();
  }

  /** Sends GOAWAY on every connection, for the shutdown. Active requests can finish. */
  end(): void {
    this.isEnding = true;
    for (const [session, open] of this.open) close(session, open);
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private sweep(now: number): void {
    const unread = new Map<ServerHttp2Stream, Progress>();
    for (const [session, open] of this.open) {
      for (const stream of open.streams) this.checkProgress(stream, unread, now);
      if (open.streams.size > 0) continue;
      // The gateway has sent GOAWAY, and the client has not closed the connection since then.
      if (open.isClosing) open.socket.destroy();
      else if (now - open.idleSinceMs > this.idleTimeoutMs) close(session, open);
    }
    this.unread = unread;
  }

  private checkProgress(stream: ServerHttp2Stream, unread: Map<ServerHttp2Stream, Progress>, now: number): void {
    // Until the response is complete, the writer of the response has its own timeout.
    if (!stream.writableEnded) return;
    const before = this.unread.get(stream);
    const bytes = stream.writableLength;
    if (before === undefined || before.bytes !== bytes) {
      unread.set(stream, { bytes, sinceMs: now });
    } else if (now - before.sinceMs > this.longestIdleMs()) {
      METRICS.connectionsCut.series('slow_reader').inc();
      stream.close(constants.NGHTTP2_CANCEL);
    } else {
      unread.set(stream, before);
    }
  }
}

function close(session: ServerHttp2Session, open: OpenSession): void {
  open.isClosing = true;
  session.close();
}
