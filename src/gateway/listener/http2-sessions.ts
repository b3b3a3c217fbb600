/**
 * The HTTP/2 connections that are open. What a client does not take waits in its stream, where `connections.ts` cannot
 * see it: here such streams are cut, and connections that nothing is asked on are closed, whatever else they send.
 */
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { METRICS } from '../../platform/metrics.js';
import { Http2Faults } from './http2-faults.js';

const SWEEP_INTERVAL_MS = 2_000;
/** How long a connection takes requests that came to be while the listener was closed. */
const LATE_SESSION_MS = 500;

interface OpenSession {
  readonly socket: Socket;
  readonly streams: Set<ServerHttp2Stream>;
  /** By `performance.now()`: since when no request is under way. */
  idleSinceMs: number;
  isClosing: boolean;
}

/** What a response had left at the last sweep, and since when nothing of that has gone. */
interface Progress {
  readonly bytes: number;
  readonly sinceMs: number;
}

export class Http2Sessions {
  private readonly open = new Map<ServerHttp2Session, OpenSession>();
  /** Responses that are complete and not taken. */
  private untaken = new Map<ServerHttp2Stream, Progress>();
  private readonly timer: NodeJS.Timeout;
  private isEnding = false;

  /**
   * @param idleTimeoutMs after which a connection without a request is closed.
   * @param longestIdleMs how long a client may take for the next piece of a response; may change.
   * @param sweepIntervalMs between two looks at them.
   */
  constructor(
    private readonly idleTimeoutMs: number,
    private readonly longestIdleMs: () => number,
    sweepIntervalMs = SWEEP_INTERVAL_MS,
  ) {
    this.timer = setInterval(() => this.sweep(performance.now()), sweepIntervalMs);
    this.timer.unref();
  }

  add(session: ServerHttp2Session, socket: Socket): void {
    const streams = new Set<ServerHttp2Stream>();
    const open: OpenSession = { socket, streams, idleSinceMs: performance.now(), isClosing: false };
    this.open.set(session, open);
    const faults = new Http2Faults(session);
    session.on('stream', (stream) => {
      streams.add(stream);
      stream.once('close', () => {
        streams.delete(stream);
        faults.closed(stream);
        if (streams.size === 0) open.idleSinceMs = performance.now();
      });
    });
    session.once('close', () => this.open.delete(session));
    // Its handshake was under way when the others were ended.
    if (this.isEnding) setTimeout(() => close(session, open), LATE_SESSION_MS).unref();
  }

  /** Finishes what is under way on every connection and takes nothing new. */
  end(): void {
    this.isEnding = true;
    for (const [session, open] of this.open) close(session, open);
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private sweep(now: number): void {
    const untaken = new Map<ServerHttp2Stream, Progress>();
    for (const [session, open] of this.open) {
      for (const stream of open.streams) this.lookAt(stream, untaken, now);
      if (open.streams.size > 0) continue;
      // Its client has not closed its side since the last sweep.
      if (open.isClosing) open.socket.destroy();
      else if (now - open.idleSinceMs > this.idleTimeoutMs) close(session, open);
    }
    this.untaken = untaken;
  }

  private lookAt(stream: ServerHttp2Stream, untaken: Map<ServerHttp2Stream, Progress>, now: number): void {
    // As long as more is to be written, whoever writes has a deadline.
    if (!stream.writableEnded) return;
    const before = this.untaken.get(stream);
    const bytes = stream.writableLength;
    if (before === undefined || before.bytes !== bytes) {
      untaken.set(stream, { bytes, sinceMs: now });
    } else if (now - before.sinceMs > this.longestIdleMs()) {
      METRICS.connectionsCut.series('slow_reader').inc();
      stream.close(constants.NGHTTP2_CANCEL);
    } else {
      untaken.set(stream, before);
    }
  }
}

function close(session: ServerHttp2Session, open: OpenSession): void {
  open.isClosing = true;
  session.close();
}
