/**
 * One connection and the call that it serves: the request goes out, its
 * response comes in, and then the next may have it.
 */
import type { Socket } from 'node:net';
import { Framing, mayBecomeHead, parseResponseHead, type ResponseHead } from './response-head.js';
import type { Call, Sending } from './call.js';
import { ChunkedBody } from './chunked-body.js';
import { connectionError, protocolError } from '../grammar/errors.js';
import { RequestWriter } from './request-writer.js';

/** Of the head of a response. */
const LARGEST_HEAD_BYTES = 64 * 1024;
/** A body of up to so many bytes is handed on as one when it has arrived together with its head. */
const LARGEST_WHOLE_BYTES = 16 * 1024;
const HEAD_END = '\r\n\r\n';

/** What a connection tells its pool. */
export interface ConnectionOwner {
  /** It can serve another call. `idleMs`: how long it may wait for one, -1: as the pool likes. */
  onFree(connection: Connection, idleMs: number): void;
  onClosed(connection: Connection): void;
  /** The server had closed one that had served before, when it was used again. Comes before `onClosed`. */
  onStale(): void;
}

export class Connection implements Sending {
  /** By `performance.now()`; until when it may idle. Belongs to the pool. */
  idleUntilMs = 0;
  private socket!: Socket;
  private call: Call | undefined;
  /** The head of a response while more of it is to come. */
  private held: Buffer | undefined;
  private head: ResponseHead | undefined;
  /** Of a body whose length is known. */
  private bytesLeft = 0;
  private chunked: ChunkedBody | undefined;
  /** The response is whole, and the request is not: what came behind the response. */
  private earlyTrailer: string | undefined;
  private isPaused = false;
  private isOver = false;
  /** It has served a call before the one that it has. */
  private isUsed = false;
  private readonly writer: RequestWriter;

  /** @param fixedLines `Host` and `Connection`, each with its CRLF. */
  constructor(
    private readonly owner: ConnectionOwner,
    fixedLines: string,
  ) {
    this.writer = new RequestWriter(fixedLines, {
      onSent: () => this.onSent(),
      onFailure: (error) => this.fail(error),
    });
  }

  /** Takes over an open socket, which reads into `onRead`. */
  attach(socket: Socket): void {
    this.socket = socket;
    this.writer.attach(socket);
    socket.on('error', (error) => this.onLost(error));
    socket.on('end', () => this.onEof());
    socket.on('close', () => this.onLost(connectionError('TRAILGATE_BACKEND_CLOSED')));
  }

  /** Sends a call. False: the call has gone meanwhile, and the connection is as free as before. */
  serve(call: Call): boolean {
    this.call = call;
    call.onConnection(this);
    // It may have been aborted by itself, which ends the connection; or the
    // connection has failed without anybody's word.
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
    if (this.call === call) this.readOn();
  }

  endUpload(call: Call): void {
    if (this.call === call && this.earlyTrailer !== undefined) this.finishEarly(false);
  }

  /** Ends it, whatever it does. */
  destroy(reason: Error): void {
    this.fail(reason);
  }

  /** Given what has been read. False: no more until `resume`. */
  readonly onRead = (bytes: number, buffer: Buffer): boolean => {
    try {
      // Nothing may follow a whole response.
      if (this.earlyTrailer !== undefined) this.finishEarly(false);
      else if (this.head === undefined) this.takeHead(buffer, bytes);
      else this.takeBody(buffer, 0, bytes);
    } catch (error) {
      this.fail(error as Error);
    }
    return !this.isPaused;
  };

  private takeHead(buffer: Buffer, bytes: number): void {
    const { call } = this;
    // Nobody has asked: whoever came next would take this for the response.
    if (call === undefined) {
      this.fail(connectionError('TRAILGATE_BAD_ANSWER', 'nothing was asked'));
      return;
    }
    const { held } = this;
    const whole = held === undefined ? buffer : Buffer.concat([held, buffer.subarray(0, bytes)]);
    const to = held === undefined ? bytes : whole.length;
    // What comes in many pieces is read when it is whole.
    const seen = held === undefined ? 0 : held.length;
    const mayBeWhole = held === undefined || whole.indexOf(HEAD_END, Math.max(0, seen - HEAD_END.length)) !== -1;
    for (let at = 0; ;) {
      const head = mayBeWhole ? parseResponseHead(whole, at, to, call.method === 'HEAD') : undefined;
      if ((head === undefined ? to : head.end - HEAD_END.length) - at > LARGEST_HEAD_BYTES) {
        throw connectionError('TRAILGATE_ANSWER_HEAD_TOO_LARGE');
      }
      if (head === undefined) {
        this.hold(whole, at, to, at === 0 ? seen : at);
        return;
      }
      at = head.end;
      this.held = undefined;
      if (head.status >= 200) {
        this.beginBody(call, head, whole, to);
        return;
      }
      // Never asked for; what follows would not be HTTP/1.1.
      if (head.status === 101) throw connectionError('TRAILGATE_BAD_ANSWER', 'switching protocols');
      call.onInterim(head);
      if (this.call !== call) return;
    }
  }

  /** Keeps a part of a head until more of it comes. @param seen how far it was looked at before. */
  private hold(buffer: Buffer, at: number, to: number, seen: number): void {
    this.held = Buffer.from(buffer.subarray(at, to));
    // Whatever is no response would be waited for until the deadline.
    const text = this.held.toString('latin1');
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
      if (at < to) this.takeBody(buffer, at, to);
      if (this.call === call) call.onPartial();
    }
  }

  private takeBody(buffer: Buffer, at: number, bytes: number): void {
    const { call, chunked } = this;
    if (call === undefined) return;
    if (chunked !== undefined) {
      this.takeChunks(call, chunked, buffer, at, bytes);
    } else if (this.head?.framing === Framing.Length) {
      const end = Math.min(bytes, at + this.bytesLeft);
      this.bytesLeft -= end - at;
      call.onData(buffer.subarray(at, end));
      if (this.bytesLeft === 0 && this.call === call) this.complete(call, '', end === bytes);
    } else {
      call.onData(buffer.subarray(at, bytes));
    }
  }

  private takeChunks(call: Call, chunked: ChunkedBody, buffer: Buffer, at: number, bytes: number): void {
    const end = chunked.take(buffer, at, bytes, (from, to) => {
      if (this.call === call) call.onData(buffer.subarray(from, to));
    });
    if (chunked.isDone && this.call === call) this.complete(call, chunked.trailerText, end === bytes);
  }

  /** The response is whole. @param isClean whether nothing came behind it. */
  private complete(call: Call, trailerText: string, isClean: boolean): void {
    const { head } = this;
    if (isClean && this.takesRest(head)) this.awaitRest(call, trailerText);
    else this.finish(call, trailerText, isClean);
  }

  /** Whether the server may want the rest of the request. Behind a refusal or a redirect nobody needs it. */
  private takesRest(head: ResponseHead | undefined): boolean {
    return !this.writer.isDone && head !== undefined && head.status < 300 && head.framing !== Framing.Close;
  }

  private awaitRest(call: Call, trailerText: string): void {
    this.earlyTrailer = trailerText;
    // The end of the connection must be noticed.
    this.readOn();
    try {
      call.onAnswered();
    } catch (error) {
      // The client has no response: the call fails.
      this.earlyTrailer = undefined;
      this.fail(error as Error);
      return;
    }
    // The body can have been handed over without having left: its server reads slowly, or no more.
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

  /** @param isSent whether all of the request has been sent. */
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
    // Free before the call hears of it: what it does next may be to send another.
    if (isClean && head?.keepsAlive === true && this.writer.isDone) {
      this.readOn();
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

  /** The other side sends no more: the end of a body that has no other, or of the connection. */
  private onEof(): void {
    const { call } = this;
    if (call !== undefined && this.head?.framing === Framing.Close) this.complete(call, '', true);
    else this.onLost(connectionError('TRAILGATE_BACKEND_CLOSED'));
  }

  /** Its other end, or the way to it, has gone. */
  private onLost(reason: Error): void {
    const isUnanswered = this.call !== undefined && this.head === undefined && this.held === undefined;
    if (isUnanswered && this.isUsed) this.owner.onStale();
    this.fail(reason);
  }

  private fail(reason: Error): void {
    const { call } = this;
    // The response is whole: only the rest of the request is lost.
    if (this.earlyTrailer !== undefined) {
      this.finishEarly(false);
      return;
    }
    this.call = undefined;
    this.close();
    call?.onError(reason);
  }

  private close(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.writer.stop();
    this.socket.destroy();
    this.owner.onClosed(this);
  }

  private readOn(): void {
    if (!this.isPaused) return;
    this.isPaused = false;
    this.socket.resume();
  }
}
