/**
 * Limits the memory of HTTP/2 streams whose API key has not been accepted, per connection and in total. With header
 * compression, a client can make the gateway store kilobytes by sending a few bytes. With a flow control window of 0, a
 * client can also keep the gateway from sending the refusal (CVE-2026-49975).
 */
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { METRICS } from '../../platform/metrics.js';

/** Maximum size of the decoded headers of a connection's counted streams, in bytes. */
const MAX_CONNECTION_BYTES = 256 * 1024;
/**
 * Maximum size of the same headers after a key was accepted on the connection. Enough for 100 streams with the largest
 * heads.
 */
const MAX_KEYED_CONNECTION_BYTES = 2 * 1024 * 1024;
/** Maximum size of the counted streams of all connections, in bytes. Includes `STREAM_BYTES` per stream. */
const MAX_BYTES = 32 * 1024 * 1024;
/** Estimated size of the stream, request and response objects of a stream, in bytes. */
const STREAM_BYTES = 8 * 1024;
/** Overhead that is counted for each header field, in bytes (RFC 9113 section 6.5.2). */
const FIELD_BYTES = 32;
/** Maximum number of unread refusals on a connection without an accepted key. Above it, new streams are refused. */
const MAX_UNREAD = 32;
/** Time since the request after which an unsent refusal counts as unread. */
const UNREAD_AFTER_MS = 200;
/**
 * Time since the request after which the gateway resets a stream with an unread refusal, on a connection without an
 * accepted key.
 */
const RESET_AFTER_MS = 1_500;
/** Time since the request after which the gateway closes a connection on which it cannot send a reset. */
const CLOSE_AFTER_MS = 3_000;
const SWEEP_INTERVAL_MS = 250;
/**
 * Maximum size of a refusal, in bytes. Larger responses are public documents, which can take long on slow connections.
 */
const LARGEST_REFUSAL_BYTES = 16 * 1024;
/** Number of resets after which a connection without an accepted key is closed. */
const MAX_RESETS = 16;

const OPENED = Symbol('opened');
const HELD = Symbol('held');

type OpenedSession = ServerHttp2Session & { [OPENED]?: SessionStreams };
type HeldStream = ServerHttp2Stream & { [HELD]?: Held };

/** Held is a stream that is counted until its key is accepted. */
interface Held {
  readonly stream: HeldStream;
  readonly session: SessionStreams;
  readonly bytes: number;
  readonly sinceMs: number;
  isUnread: boolean;
  isReset: boolean;
}

/** SessionStreams counts the streams of one connection. */
class SessionStreams {
  bytes = 0;
  unread = 0;
  hasKey = false;
  private resets = 0;

  constructor(
    private readonly session: ServerHttp2Session,
    readonly owner: UnadmittedStreams,
  ) {}

  /**
   * Counts a stream that the client or the gateway reset. Closes the connection after `MAX_RESETS`, unless a key was
   * accepted.
   */
  addReset(): void {
    this.resets += 1;
    if (this.resets >= MAX_RESETS && !this.hasKey) this.close();
  }

  /** Closes the connection with ENHANCE_YOUR_CALM, which tells the client that it caused too much load. */
  close(): void {
    const { session } = this;
    if (session.destroyed) return;
    session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    session.destroy();
  }
}

/** Records that the key of a stream's request was accepted. The stream is then no longer counted. */
export function recordAdmission(stream: ServerHttp2Stream): void {
  const opened = (stream.session as OpenedSession | undefined)?.[OPENED];
  opened?.owner.admit(opened, stream);
}

/**
 * UnadmittedStreams enforces the limits for one listener. For each stream, call `checkNewStream`, then serve the
 * request, then call `countStream`.
 */
export class UnadmittedStreams {
  /** Counted streams, oldest first. */
  private readonly held = new Set<Held>();
  private bytes = 0;
  /**
   * Stream whose key was accepted between `checkNewStream` and `countStream`. `countStream` does not count this stream.
   */
  private admitted: ServerHttp2Stream | undefined;
  private readonly timer: NodeJS.Timeout;

  constructor() {
    this.timer = setInterval(() => this.sweep(performance.now()), SWEEP_INTERVAL_MS);
    this.timer.unref();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  /** Starts to count the streams of a connection. */
  trackSession(session: ServerHttp2Session): void {
    (session as OpenedSession)[OPENED] = new SessionStreams(session, this);
  }

  /** Checks the limits for a new stream. If its connection exceeds a limit, refuses the stream and returns false. */
  checkNewStream(session: ServerHttp2Session, stream: ServerHttp2Stream): boolean {
    this.admitted = undefined;
    const opened = (session as OpenedSession)[OPENED];
    if (opened === undefined) return true;
    const mostBytes = opened.hasKey ? MAX_KEYED_CONNECTION_BYTES : MAX_CONNECTION_BYTES;
    if (opened.bytes >= mostBytes) return refuse(stream, 'header_bytes');
    if (opened.unread >= MAX_UNREAD && !opened.hasKey) return refuse(stream, 'streams_without_key');
    return true;
  }

  /**
   * Counts a stream until its key is accepted or the stream closes. May reset older streams of any connection to make
   * room.
   * @param fields names and values in turn
   */
  countStream(session: ServerHttp2Session, stream: HeldStream, fields: readonly string[]): void {
    const opened = (session as OpenedSession)[OPENED];
    const wasAdmitted = this.admitted === stream;
    this.admitted = undefined;
    if (opened === undefined || wasAdmitted || stream.destroyed) return;
    let bytes = (fields.length / 2) * FIELD_BYTES;
    for (const text of fields) bytes += text.length;
    const held: Held = { stream, session: opened, bytes, sinceMs: performance.now(), isUnread: false, isReset: false };
    stream[HELD] = held;
    this.held.add(held);
    opened.bytes += bytes;
    this.bytes += bytes + STREAM_BYTES;
    stream.once('close', () => this.onClose(held));
    if (this.bytes > MAX_BYTES) this.makeRoom();
  }

  /** Stops counting a stream whose key was accepted. */
  admit(opened: SessionStreams, stream: HeldStream): void {
    opened.hasKey = true;
    const held = stream[HELD];
    if (held === undefined) this.admitted = stream;
    else this.release(held);
  }

  /**
   * Stops counting a closed stream. Also counts a reset by the client, as a defense against rapid reset attacks
   * (CVE-2023-44487).
   */
  private onClose(held: Held): void {
    if (!this.held.has(held)) return;
    this.release(held);
    if (!held.isReset && held.stream.rstCode !== constants.NGHTTP2_NO_ERROR) held.session.addReset();
  }

  private release(held: Held): void {
    if (!this.held.delete(held)) return;
    const { session, bytes } = held;
    if (!held.isReset) this.bytes -= bytes + STREAM_BYTES;
    session.bytes -= bytes;
    if (held.isUnread) session.unread -= 1;
  }

  /**
   * Resets the oldest streams until the total is at most `MAX_BYTES`. Streams with an unread refusal are reset first,
   * then the others, such as streams whose key is being looked up.
   */
  private makeRoom(): void {
    for (const isAny of [false, true]) {
      for (const held of this.held) {
        if (this.bytes <= MAX_BYTES) return;
        if (!held.isReset && (isAny || hasUnreadRefusal(held.stream))) this.reset(held, 'header_bytes');
      }
    }
  }

  private sweep(now: number): void {
    for (const held of this.held) {
      const age = now - held.sinceMs;
      if (age < UNREAD_AFTER_MS) return;
      const { stream, session } = held;
      if (held.isReset) {
        if (age >= CLOSE_AFTER_MS) session.close();
      } else if (hasUnreadRefusal(stream)) {
        if (!held.isUnread) session.unread += 1;
        held.isUnread = true;
        // On a connection with an accepted key, the refusal may only be waiting for a slow download.
        if (age >= RESET_AFTER_MS && !session.hasKey) this.reset(held, 'untaken_refusal');
      }
    }
  }

  /** Resets a stream. Its connection counts the stream until the stream has closed. */
  private reset(held: Held, reason: 'header_bytes' | 'untaken_refusal'): void {
    const { stream, session, bytes } = held;
    held.isReset = true;
    this.bytes -= bytes + STREAM_BYTES;
    METRICS.connectionsCut.series(reason).inc();
    stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    session.addReset();
  }
}

/** Reports whether a refusal was written but not read by the client. False while the key is being looked up. */
function hasUnreadRefusal(stream: ServerHttp2Stream): boolean {
  return stream.writableEnded && !stream.writableFinished && stream.writableLength <= LARGEST_REFUSAL_BYTES;
}

/** Refuses a stream with REFUSED_STREAM, so that the client can retry the request (RFC 9113 section 8.7). */
function refuse(stream: ServerHttp2Stream, reason: 'header_bytes' | 'streams_without_key'): false {
  METRICS.connectionsCut.series(reason).inc();
  stream.on('error', () => undefined);
  stream.close(constants.NGHTTP2_REFUSED_STREAM);
  return false;
}
