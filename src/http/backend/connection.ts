/**
 * Implements one connection to a backend. The connection serves one call at a time: it writes the request, then reads
 * the response. Invalid responses and lost connections fail the call.
 */
import type { Socket } from 'node:net';
import { Framing, mayBecomeHead, parseResponseHead, type ResponseHead } from './response-head.js';
import type { Call, Sending } from './call.js';
import { ChunkedBody } from './chunked-body.js';
import { connectionError, protocolError } from '../grammar/errors.js';
import { RequestWriter } from './request-writer.js';

/** Maximum size of a response head. */
const LARGEST_HEAD_BYTES = 64 * 1024;
/** Maximum size of a body that is passed to `onWhole`, if it arrives together with its head. */
const LARGEST_WHOLE_BYTES = 16 * 1024;
const HEAD_END = '\r\n\r\n';

/** ConnectionOwner is the pool of a connection, which handles its events. */
export interface ConnectionOwner {
  /**
   * Called when the connection can serve another call.
   * @param idleMs the server's idle timeout in ms, or -1 if the server sent none
   */
  onFree(connection: Connection, idleMs: number): void;
  onClosed(connection: Connection): void;
  /**
   * Called if a reused connection is lost before any byte of a response arrives. The server had probably closed the
   * connection before the request was sent. `onClosed` follows.
   */
  onStale(): void;
}

export class Connection implements Sending {
  /** Time until which the connection may stay idle (`performance.now()`). Set and read by the pool. */
  idleUntilMs = 0;
  private socket!: Socket;
  private call: Call | undefined;
  /** Received part of a response head whose rest has not arrived. Undefined if there is none. */
  private partialHead: Buffer | undefined;
  private head: ResponseHead | undefined;
  /** Number of missing bytes of a body with `Content-Length`. */
  private bytesLeft = 0;
  private chunked: ChunkedBody | undefined;
  /**
   * Trailer field lines of a response that was complete before its request was sent. Undefined unless the connection is
   * waiting for the rest of the request.
   */
  private earlyTrailer: string | undefined;
  private isPaused = false;
  private isClosed = false;
  private isUsed = false;
  private readonly writer: RequestWriter;

  /** @param fixedLines the `Host` and `Connection` field lines of every request, each with its CRLF. */
  constructor(
    private readonly owner: ConnectionOwner,
    fixedLines: string,
  ) {
    this.writer = new RequestWriter(fixedLines, {
      onSent: () => this.onSent(),
      onFailure: (error) => this.fail(error),
    });
  }

  /** Sets the socket, which may still be connecting. The socket must pass the bytes that it reads to `onRead`. */
  attach(socket: Socket): void {
    this.socket = socket;
    this.writer.attach(socket);
    socket.on('error', (error) => this.onLost(error));
    socket.on('end', () => this.onEof());
    socket.on('close', () => this.onLost(connectionError('TRAILGATE_BACKEND_CLOSED')));
  }

  /** Sends a call. Returns false if the call was aborted, or the connection failed, before anything was sent. */
  serve(call: Call): boolean {
    this.call = call;
    call.onConnection(this);
    // The call may have been aborted, or the connection may have failed, in `onConnection`.
    if (this.call !== call) return false;
    this.writer.write(call);
    return true;
  }

  abort(call: Call, reason: Error): void {
    if (this.call === call) this.fail(reason);
  }

  pause(call: Call): void {
    if (this.call !== call || this.isPaused) return;
    this.isPaused = true;
    this.socket.pause();
  }

  resume(call: Call): void {
    if (this.call === call) this.resumeReading();
  }

  endUpload(call: Call): void {
    if (this.call === call && this.earlyTrailer !== undefined) this.finishEarly(false);
  }

  /**
   * Closes the connection and fails the call that it serves. A call with a complete response ends successfully instead.
   */
  destroy(reason: Error): void {
    this.fail(reason);
  }

  /** Processes bytes that the socket has read. Returns false if reading must stop until `resume`. */
  readonly onRead = (bytes: number, buffer: Buffer): boolean => {
    try {
      // The response is complete, so these bytes are invalid. End the call and close the connection.
      if (this.earlyTrailer !== undefined) this.finishEarly(false);
      else if (this.head === undefined) this.readHead(buffer, bytes);
      else this.readBody(buffer, 0, bytes);
    } catch (error) {
      this.fail(error as Error);
    }
    return !this.isPaused;
  };

  private readHead(buffer: Buffer, bytes: number): void {
    const { call } = this;
    // No request is waiting for a response. The next call must not receive these bytes as its response.
    if (call === undefined) {
      this.fail(connectionError('TRAILGATE_BAD_ANSWER', 'nothing was asked'));
      return;
    }
    const { partialHead } = this;
    const whole = partialHead === undefined ? buffer : Buffer.concat([partialHead, buffer.subarray(0, bytes)]);
    const to = partialHead === undefined ? bytes : whole.length;
    // Parse a head that arrives in several pieces only when it is complete.
    const seen = partialHead === undefined ? 0 : partialHead.length;
    const mayBeWhole = partialHead === undefined || whole.indexOf(HEAD_END, Math.max(0, seen - HEAD_END.length)) !== -1;
    for (let at = 0; ;) {
      const head = mayBeWhole ? parseResponseHead(whole, at, to, call.method === 'HEAD') : undefined;
      if ((head === undefined ? to : head.end - HEAD_END.length) - at > LARGEST_HEAD_BYTES) {
        throw connectionError('TRAILGATE_ANSWER_HEAD_TOO_LARGE');
      }
      if (head === undefined) {
        this.keepPartialHead(whole, at, to, at === 0 ? seen : at);
        return;
      }
      at = head.end;
      this.partialHead = undefined;
      if (head.status >= 200) {
        this.beginBody(call, head, whole, to);
        return;
      }
      // Calls never request an upgrade, and the bytes after this response are not HTTP/1.1.
      if (head.status === 101) throw connectionError('TRAILGATE_BAD_ANSWER', 'switching protocols');
      call.onInterim(head);
      if (this.call !== call) return;
    }
  }

  /**
   * Stores a partial head until more of it arrives.
   * @param seen offset up to which earlier calls have checked the bytes.
   */
  private keepPartialHead(buffer: Buffer, at: number, to: number, seen: number): void {
    this.partialHead = Buffer.from(buffer.subarray(at, to));
    // Fail now if these bytes cannot begin a response head. Otherwise the call would wait until its deadline.
    const text = this.partialHead.toString('latin1');
    if (!mayBecomeHead(text, Math.max(0, seen - at - HEAD_END.length))) throw protocolError('status line');
  }

  private beginBody(call: Call, head: ResponseHead, buffer: Buffer, to: number): void {
    this.head = head;
    call.onHead(head);
    if (this.call !== call) return;
    const { framing, contentLength, end: at } = head;
    if (framing === Framing.None) {
      this.complete(call, '', at === to);
    } else if (framing === Framing.Length && contentLength <= LARGEST_WHOLE_BYTES && to - at >= contentLength) {
      call.onWhole(buffer.subarray(at, at + contentLength));
      if (this.call === call) this.complete(call, '', to - at === contentLength);
    } else {
      if (framing === Framing.Length) this.bytesLeft = contentLength;
      else if (framing === Framing.Chunked) this.chunked = new ChunkedBody();
      if (at < to) this.readBody(buffer, at, to);
      if (this.call === call) call.onPartial();
    }
  }

  private readBody(buffer: Buffer, at: number, bytes: number): void {
    const { call, chunked } = this;
    if (call === undefined) return;
    if (chunked !== undefined) {
      this.readChunks(call, chunked, buffer, at, bytes);
    } else if (this.head?.framing === Framing.Length) {
      const end = Math.min(bytes, at + this.bytesLeft);
      this.bytesLeft -= end - at;
      call.onData(buffer.subarray(at, end));
      if (this.bytesLeft === 0 && this.call === call) this.complete(call, '', end === bytes);
    } else {
      call.onData(buffer.subarray(at, bytes));
    }
  }

  private readChunks(call: Call, chunked: ChunkedBody, buffer: Buffer, at: number, bytes: number): void {
    const end = chunked.decode(buffer, at, bytes, (from, to) => {
      if (this.call === call) call.onData(buffer.subarray(from, to));
    });
    if (chunked.isDone && this.call === call) this.complete(call, chunked.trailerText, end === bytes);
  }

  /**
   * Handles the end of a response.
   * @param isClean false if more bytes followed the response
   */
  private complete(call: Call, trailerText: string, isClean: boolean): void {
    const { head } = this;
    if (isClean && this.needsRest(head)) this.awaitRest(call, trailerText);
    else this.finish(call, trailerText, isClean);
  }

  /**
   * Reports whether the rest of the request must still be sent after the complete response. After a redirect or an
   * error, or if the server closes the connection, the server does not need the rest.
   */
  private needsRest(head: ResponseHead | undefined): boolean {
    return !this.writer.isDone && head !== undefined && head.status < 300 && head.framing !== Framing.Close;
  }

  /** Keeps the call open after its complete response until the rest of the request has been sent. */
  private awaitRest(call: Call, trailerText: string): void {
    this.earlyTrailer = trailerText;
    // Continue to read, so that the end of the connection is noticed.
    this.resumeReading();
    try {
      call.onAnswered();
    } catch (error) {
      // The client has not received the response, so the call fails.
      this.earlyTrailer = undefined;
      this.fail(error as Error);
      return;
    }
    // The complete body may have been written to the socket, but still be in its buffer, for example if the server
    // reads slowly.
    if (this.call === call && !this.writer.isSending) this.whenFlushed();
  }

  private onSent(): void {
    this.call?.onSent();
    if (this.earlyTrailer !== undefined) this.whenFlushed();
  }

  private whenFlushed(): void {
    const { call } = this;
    this.writer.whenFlushed(() => {
      if (call !== undefined && this.call === call) this.finishEarly(true);
    });
  }

  private finishEarly(isSent: boolean): void {
    const { call, earlyTrailer } = this;
    this.earlyTrailer = undefined;
    if (call !== undefined && earlyTrailer !== undefined) this.finish(call, earlyTrailer, isSent);
  }

  private finish(call: Call, trailerText: string, isClean: boolean): void {
    const { head } = this;
    this.call = undefined;
    this.head = undefined;
    this.chunked = undefined;
    this.isUsed = true;
    // Free the connection before `onEnd`, because `onEnd` may send the next call.
    if (isClean && head?.keepsAlive === true && this.writer.isDone) {
      this.resumeReading();
      this.owner.onFree(this, head.keepAliveMs);
    } else {
      this.close();
    }
    try {
      call.onEnd(trailerText);
    } catch (error) {
      call.onError(error as Error);
    }
  }

  /**
   * Handles the end of the data from the server. Completes a response body that ends with the connection. Otherwise,
   * handles the connection as lost.
   */
  private onEof(): void {
    const { call } = this;
    if (call !== undefined && this.head?.framing === Framing.Close) this.complete(call, '', true);
    else this.onLost(connectionError('TRAILGATE_BACKEND_CLOSED'));
  }

  private onLost(reason: Error): void {
    const isWaiting = this.call !== undefined && this.head === undefined && this.partialHead === undefined;
    if (isWaiting && this.isUsed) this.owner.onStale();
    this.fail(reason);
  }

  private fail(reason: Error): void {
    const { call } = this;
    // The response is complete. Only the rest of the request is lost.
    if (this.earlyTrailer !== undefined) {
      this.finishEarly(false);
      return;
    }
    this.call = undefined;
    this.close();
    call?.onError(reason);
  }

  private close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.writer.stop();
    this.socket.destroy();
    this.owner.onClosed(this);
  }

  private resumeReading(): void {
    if (!this.isPaused) return;
    this.isPaused = false;
    this.socket.resume();
  }
}
