/**
 * What is malformed in HTTP/2 costs its stream, not its connection (RFC 9113 section 8.1.1). nghttp2
 * resets such a stream by itself, but Node then ends the whole session and every other request on it: a
 * fault of a stream and one of the connection reach it under one number. Here the end of the session waits
 * until it is known which of the two it was.
 */
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';

/** nghttp2's number of a "general protocol error". */
const ERR_PROTO = -505;
/**
 * A stream is reset in the turn in which its fault is found; of a fault of the
 * connection nghttp2 has sent GOAWAY by then.
 */
const VERDICT_MS = 100;

type Destroy = (error?: Error | number, code?: number) => void;

export class Http2Faults {
  private faults = 0;
  private resets = 0;
  private readonly destroy: Destroy;

  /** Makes a session outlive the faults of its streams. Those of the connection end it as before. */
  constructor(private readonly session: ServerHttp2Session) {
    this.destroy = session.destroy.bind(session) as Destroy;
    (session as { destroy: Destroy }).destroy = (error, code) => {
      if ((error as { errno?: unknown } | undefined)?.errno === ERR_PROTO) this.found(error, code);
      else this.destroy(error, code);
    };
  }

  /** Takes note of a stream of the session that has closed. */
  closed(stream: ServerHttp2Stream): void {
    if (stream.rstCode === constants.NGHTTP2_PROTOCOL_ERROR) this.resets += 1;
  }

  private found(error: Error | number | undefined, code: number | undefined): void {
    this.faults += 1;
    if (this.faults > 1) return;
    this.resets = 0;
    setTimeout(() => {
      const { faults, resets, session } = this;
      this.faults = 0;
      if (resets < faults && !session.destroyed) this.destroy(error, code);
    }, VERDICT_MS);
  }
}
