/**
 * HTTP/2 streams without an accepted key. Compression lets a client make the gateway hold kilobytes for a few bytes
 * sent, and a window of 0 keeps the refusal from leaving (CVE-2026-49975). These bounds limit what such clients hold,
 * per connection and in total. A stream whose key has been accepted is not counted.
 */
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { METRICS } from '../../platform/metrics.js';

/** Decoded header bytes that one connection can hold. */
const MOST_CONNECTION_BYTES = 256 * 1024;
/** The same once a key has been accepted on it: 100 streams with the largest heads have room. */
const MOST_KEYED_CONNECTION_BYTES = 2 * 1024 * 1024;
/** Bytes that all connections of the process can hold, `STREAM_BYTES` for each stream included. */
const MOST_BYTES = 32 * 1024 * 1024;
/** The objects of a stream, its request and its response. */
const STREAM_BYTES = 8 * 1024;
/** RFC 9113 section 6.5.2: the overhead of a field. */
const FIELD_BYTES = 32;
/** Untaken refusals that a connection without an accepted key can have before its new streams are refused. */
const MOST_UNTAKEN = 32;
/** A refusal that has not been taken by then is counted as untaken. */
const UNTAKEN_AFTER_MS = 200;
/** A refusal that a connection without an accepted key has not taken by then is reset. */
const RESET_AFTER_MS = 1_500;
/** A connection that does not let a reset out by then is closed. */
const CLOSE_AFTER_MS = 3_000;
const SWEEP_INTERVAL_MS = 250;
/** A larger response is a public document, which takes time on a slow connection. */
const LARGEST_REFUSAL_BYTES = 16 * 1024;
/** A connection without an accepted key is closed after so many resets. */
const MOST_RESETS = 16;

const OPENED = Symbol('opened');
const HELD = Symbol('held');

type OpenedSession = ServerHttp2Session & { [OPENED]?: SessionStreams };
type HeldStream = ServerHttp2Stream & { [HELD]?: Held };

/** A stream that is held, and what it counts. */
interface Held {
  readonly stream: HeldStream;
  readonly session: SessionStreams;
  readonly bytes: number;
  readonly sinceMs: number;
  isUntaken: boolean;
  isReset: boolean;
}

/** What one connection holds. */
class SessionStreams {
  bytes = 0;
  untaken = 0;
  hasKey = false;
  private resets = 0;

  constructor(
    private readonly session: ServerHttp2Session,
    readonly owner: UnadmittedStreams,
  ) {}

  /** Counts a stream that was reset, by either side. */
  addReset(): void {
    this.resets += 1;
    if (this.resets >= MOST_RESETS && !this.hasKey) this.close();
  }

  /** Closes the connection, and says why. */
  close(): void {
    const { session } = this;
    if (session.destroyed) return;
    session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    session.destroy();
  }
}

/** Records that the key of a stream's request has been accepted. */
export function noteAdmitted(stream: ServerHttp2Stream): void {
  const opened = (stream.session as OpenedSession | undefined)?.[OPENED];
  opened?.owner.admit(opened, stream);
}

/** UnadmittedStreams holds the connections of one listener to the bounds. */
export class UnadmittedStreams {
  /** Oldest first. */
  private readonly held = new Set<Held>();
  private bytes = 0;
  /** Its request was admitted while it began: nothing is allocated for it. */
  private admitted: ServerHttp2Stream | undefined;
  private readonly timer: NodeJS.Timeout;

  constructor() {
    this.timer = setInterval(() => this.sweep(performance.now()), SWEEP_INTERVAL_MS);
    this.timer.unref();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  /** Begins to count the streams of a connection. */
  open(session: ServerHttp2Session): void {
    (session as OpenedSession)[OPENED] = new SessionStreams(session, this);
  }

  /** Begins a stream. Returns false if its connection holds too much: the stream has been refused. */
  begin(session: ServerHttp2Session, stream: ServerHttp2Stream): boolean {
    this.admitted = undefined;
    const opened = (session as OpenedSession)[OPENED];
    if (opened === undefined) return true;
    const mostBytes = opened.hasKey ? MOST_KEYED_CONNECTION_BYTES : MOST_CONNECTION_BYTES;
    if (opened.bytes >= mostBytes) return refuse(stream, 'header_bytes');
    if (opened.untaken >= MOST_UNTAKEN && !opened.hasKey) return refuse(stream, 'streams_without_key');
    return true;
  }

  /** Counts a stream that has begun, until it is admitted or closes. @param fields flat: names and values. */
  hold(session: ServerHttp2Session, stream: HeldStream, fields: readonly string[]): void {
    const opened = (session as OpenedSession)[OPENED];
    const wasAdmitted = this.admitted === stream;
    this.admitted = undefined;
    if (opened === undefined || wasAdmitted || stream.destroyed) return;
    let bytes = (fields.length / 2) * FIELD_BYTES;
    for (const text of fields) bytes += text.length;
    const held: Held = { stream, session: opened, bytes, sinceMs: performance.now(), isUntaken: false, isReset: false };
    stream[HELD] = held;
    this.held.add(held);
    opened.bytes += bytes;
    this.bytes += bytes + STREAM_BYTES;
    stream.once('close', () => this.onClose(held));
    if (this.bytes > MOST_BYTES) this.makeRoom();
  }

  admit(opened: SessionStreams, stream: HeldStream): void {
    opened.hasKey = true;
    const held = stream[HELD];
    if (held === undefined) this.admitted = stream;
    else this.release(held);
  }

  /** A client that resets its requests makes work that it does not wait for (CVE-2023-44487). */
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
    if (held.isUntaken) session.untaken -= 1;
  }

  /** Resets the oldest streams: first those with an untaken refusal, then those whose key is being looked up. */
  private makeRoom(): void {
    for (const isAny of [false, true]) {
      for (const held of this.held) {
        if (this.bytes <= MOST_BYTES) return;
        if (!held.isReset && (isAny || hasUntakenRefusal(held.stream))) this.reset(held, 'header_bytes');
      }
    }
  }

  private sweep(now: number): void {
    for (const held of this.held) {
      const age = now - held.sinceMs;
      if (age < UNTAKEN_AFTER_MS) return;
      const { stream, session } = held;
      if (held.isReset) {
        if (age >= CLOSE_AFTER_MS) session.close();
      } else if (hasUntakenRefusal(stream)) {
        if (!held.isUntaken) session.untaken += 1;
        held.isUntaken = true;
        // With a key it can wait behind a download that the client takes slowly.
        if (age >= RESET_AFTER_MS && !session.hasKey) this.reset(held, 'untaken_refusal');
      }
    }
  }

  /** The connection still counts the stream until it has closed. */
  private reset(held: Held, reason: 'header_bytes' | 'untaken_refusal'): void {
    const { stream, session, bytes } = held;
    held.isReset = true;
    this.bytes -= bytes + STREAM_BYTES;
    METRICS.connectionsCut.series(reason).inc();
    stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    session.addReset();
  }
}

/** Reports whether a refusal waits for its client. It does not while the key is being looked up. */
function hasUntakenRefusal(stream: ServerHttp2Stream): boolean {
  return stream.writableEnded && !stream.writableFinished && stream.writableLength <= LARGEST_REFUSAL_BYTES;
}

/** RFC 9113 section 8.7: the client can send the request again. */
function refuse(stream: ServerHttp2Stream, reason: 'header_bytes' | 'streams_without_key'): false {
  METRICS.connectionsCut.series(reason).inc();
  stream.on('error', () => undefined);
  stream.close(constants.NGHTTP2_REFUSED_STREAM);
  return false;
}
