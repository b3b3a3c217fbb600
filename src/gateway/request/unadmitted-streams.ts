/**
 * Limits the memory of HTTP/2 streams whose API key has not been accepted, per connection and in total. With header
 * compression, a client can make the gateway hold kilobytes for a few bytes. With a flow control window of 0, the
 * client keeps the refusal from being sent (CVE-2026-49975).
 */
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { METRICS } from '../../platform/metrics.js';

/** Maximum decoded header bytes of the counted streams of a connection. */
const MAX_CONNECTION_BYTES = 256 * 1024;
/** Maximum after a key was accepted on the connection. Enough for 100 streams with the largest heads. */
const MAX_KEYED_CONNECTION_BYTES = 2 * 1024 * 1024;
/** Maximum bytes of all connections, including `STREAM_BYTES` per stream. */
const MAX_BYTES = 32 * 1024 * 1024;
/** Estimated size of the stream, request and response objects. */
const STREAM_BYTES = 8 * 1024;
/** Overhead of a field, RFC 9113 section 6.5.2. */
const FIELD_BYTES = 32;
/** Maximum unread refusals per connection without an accepted key. New streams are refused beyond this. */
const MAX_UNREAD = 32;
/** A refusal counts as unread if the client has not read it after this time. */
const UNREAD_AFTER_MS = 200;
/** Time after which an unread refusal is reset, without an accepted key. */
const RESET_AFTER_MS = 1_500;
/** Time after which a connection is closed if its resets cannot be sent. */
const CLOSE_AFTER_MS = 3_000;
const SWEEP_INTERVAL_MS = 250;
/** Responses above this size do not count as refusals: they are public documents, which may take long on slow connections. */
const LARGEST_REFUSAL_BYTES = 16 * 1024;
/** A connection without an accepted key is closed after this number of resets. */
const MAX_RESETS = 16;

const OPENED = Symbol('opened');
const HELD = Symbol('held');

type OpenedSession = ServerHttp2Session & { [OPENED]?: SessionStreams };
type HeldStream = ServerHttp2Stream & { [HELD]?: Held };

/** A counted stream. */
interface Held {
  readonly stream: HeldStream;
  readonly session: SessionStreams;
  readonly bytes: number;
  readonly sinceMs: number;
  isUnread: boolean;
  isReset: boolean;
}

/** Counts of one connection. */
class SessionStreams {
  bytes = 0;
  unread = 0;
  hasKey = false;
  private resets = 0;

  constructor(
    private readonly session: ServerHttp2Session,
    readonly owner: UnadmittedStreams,
  ) {}

  /** Counts a stream that either side reset. */
  addReset(): void {
    this.resets += 1;
    if (this.resets >= MAX_RESETS && !this.hasKey) this.close();
  }

  /** Closes the connection with ENHANCE_YOUR_CALM. */
  close(): void {
    const { session } = this;
    if (session.destroyed) return;
    session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    session.destroy();
  }
}

/** Records that the key of a stream's request has been accepted. */
export function recordAdmission(stream: ServerHttp2Stream): void {
  const opened = (stream.session as OpenedSession | undefined)?.[OPENED];
  opened?.owner.admit(opened, stream);
}

/** UnadmittedStreams enforces the limits for one listener. */
export class UnadmittedStreams {
  /** Counted streams, oldest first. */
  private readonly held = new Set<Held>();
  private bytes = 0;
  /** The stream that was admitted between `begin` and `hold`. `hold` then does not count it. */
  private admitted: ServerHttp2Stream | undefined;
  private readonly timer: NodeJS.Timeout;

  constructor() {
    this.timer = setInterval(() => this.sweep(performance.now()), SWEEP_INTERVAL_MS);
    this.timer.unref();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  /** Starts counting the streams of a connection. */
  open(session: ServerHttp2Session): void {
    (session as OpenedSession)[OPENED] = new SessionStreams(session, this);
  }

  /** Checks the limits for a new stream. Returns false, and refuses the stream, if its connection exceeds one. */
  begin(session: ServerHttp2Session, stream: ServerHttp2Stream): boolean {
    this.admitted = undefined;
    const opened = (session as OpenedSession)[OPENED];
    if (opened === undefined) return true;
    const mostBytes = opened.hasKey ? MAX_KEYED_CONNECTION_BYTES : MAX_CONNECTION_BYTES;
    if (opened.bytes >= mostBytes) return refuse(stream, 'header_bytes');
    if (opened.unread >= MAX_UNREAD && !opened.hasKey) return refuse(stream, 'streams_without_key');
    return true;
  }

  /**
   * Counts a stream until its key is accepted or the stream closes.
   * @param fields alternating names and values
   */
  hold(session: ServerHttp2Session, stream: HeldStream, fields: readonly string[]): void {
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

  /** Stops counting a closed stream. Counts a reset by the client, against rapid reset attacks (CVE-2023-44487). */
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

  /** Resets the oldest streams: first those with an unread refusal, then those whose key is being looked up. */
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
        // With an accepted key, the refusal may only be waiting for a slow download on the same connection.
        if (age >= RESET_AFTER_MS && !session.hasKey) this.reset(held, 'untaken_refusal');
      }
    }
  }

  /** Resets a stream. The limits of its connection count the stream until it has closed. */
  private reset(held: Held, reason: 'header_bytes' | 'untaken_refusal'): void {
    const { stream, session, bytes } = held;
    held.isReset = true;
    this.bytes -= bytes + STREAM_BYTES;
    METRICS.connectionsCut.series(reason).inc();
    stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    session.addReset();
  }
}

/** Reports whether a refusal was written but not yet read by the client. False while the key is being looked up. */
function hasUnreadRefusal(stream: ServerHttp2Stream): boolean {
  return stream.writableEnded && !stream.writableFinished && stream.writableLength <= LARGEST_REFUSAL_BYTES;
}

/** Refuses a stream so that the client can retry it (RFC 9113 section 8.7). */
function refuse(stream: ServerHttp2Stream, reason: 'header_bytes' | 'streams_without_key'): false {
  METRICS.connectionsCut.series(reason).inc();
  stream.on('error', () => undefined);
  stream.close(constants.NGHTTP2_REFUSED_STREAM);
  return false;
}
