/**
 * Keeps an HTTP/2 connection open when only one stream is malformed (RFC 9113 section 8.1.1). nghttp2 resets such a
 * stream itself. But Node receives the same error number for stream errors and connection errors, and ends the session
 * for both. `Http2Faults` delays that end until the kind of error is known.
 */
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';

/** Error number of nghttp2's "general protocol error". */
const ERR_PROTO = -505;
/**
 * Delay until the kind of error is known, in ms. nghttp2 resets a malformed stream in the same turn of the event loop.
 * After a connection error, nghttp2 has sent GOAWAY by then.
 */
const DECISION_DELAY_MS = 100;

type Destroy = (error?: Error | number, code?: number) => void;

export class Http2Faults {
  private faults = 0;
  private resets = 0;
  private readonly destroy: Destroy;

  /**
   * Intercepts the `destroy` method of a session. Protocol errors of single streams no longer end the session. Protocol
   * errors of the connection end it after `DECISION_DELAY_MS`, and other errors end it immediately.
   */
  constructor(private readonly session: ServerHttp2Session) {
    this.destroy = session.destroy.bind(session) as Destroy;
    (session as { destroy: Destroy }).destroy = (error, code) => {
      if ((error as { errno?: unknown } | undefined)?.errno === ERR_PROTO) this.onFault(error, code);
      else this.destroy(error, code);
    };
  }

  /** Records that a stream of the session has closed. Counts the streams that were reset for a protocol error. */
  recordClosedStream(stream: ServerHttp2Stream): void {
    if (stream.rstCode === constants.NGHTTP2_PROTOCOL_ERROR) this.resets += 1;
  }

  /** Ends the session after the delay, unless one stream was reset for each error. */
  private onFault(error: Error | number | undefined, code: number | undefined): void {
    this.faults += 1;
    if (this.faults > 1) return;
    this.resets = 0;
    setTimeout(() => {
      const { faults, resets, session } = this;
      this.faults = 0;
      if (resets < faults && !session.destroyed) this.destroy(error, code);
    }, DECISION_DELAY_MS);
  }
}
