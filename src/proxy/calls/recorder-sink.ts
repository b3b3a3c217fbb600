/**
 * Stores a response before another sink delivers it to the client. A recorder is a `ResponseRecorder`: one for
 * idempotency keys, and one for events. A response that no recorder wants, or that is too large, streams to the other
 * sink.
 */
import { Framing, type ResponseHead } from '../../http/backend/response-head.js';
import { BodyBuffer } from './body-buffer.js';
import { responseHead } from './response-head.js';
import { withLength, type RespondingCall, type ResponseSink } from './response-sink.js';

/** Maximum size of a body that recorders can store. */
export const MAX_RECORDED_BYTES = 64 * 1_024;

/**
 * ResponseRecorder stores the responses that it wants. The strings that `skipResponse` returns, and that
 * `storeResponse` passes to `done`, are extra field lines for the client. Each line has its CRLF.
 */
export interface ResponseRecorder {
  /** Reports whether the recorder wants to store the response with this head. */
  wantsResponse(call: RespondingCall, head: ResponseHead): boolean;
  /** Handles a response that the recorder does not want, or that is too large. Returns extra field lines. */
  skipResponse(call: RespondingCall): string;
  /** Stores the response. Calls `done` once with extra field lines, synchronously or later. Never throws. */
  storeResponse(call: RespondingCall, body: Buffer, done: (lines: string) => void): void;
}

export class RecorderSink implements ResponseSink {
  /** Recorders that want the response, in their order. */
  private interested: ResponseRecorder[] = [];
  /** Field lines for the client, each with its CRLF. */
  private lines = '';
  private head: ResponseHead | undefined;
  private call: RespondingCall | undefined;
  /** Body that is held for the recorders; undefined if no recorder stores the response. */
  private held: BodyBuffer | undefined;
  /** Whether `next` receives the response directly. */
  private isPassedOn = false;

  /** @param next sink that delivers the response. */
  constructor(
    private readonly recorders: readonly ResponseRecorder[],
    private readonly next: ResponseSink,
  ) {}

  get deliversOnlyComplete(): boolean {
    return this.next.deliversOnlyComplete;
  }

  get outlivesClient(): boolean {
    return !this.isPassedOn;
  }

  begin(call: RespondingCall, head: ResponseHead): void {
    this.call = call;
    this.head = head;
    let extraLines = '';
    for (const recorder of this.recorders) {
      if (recorder.wantsResponse(call, head)) this.interested.push(recorder);
      else extraLines += recorder.skipResponse(call);
    }
    const isWanted = this.interested.length > 0;
    const isUnsized = head.framing === Framing.Chunked || head.framing === Framing.Close;
    const mayStream = !isWanted && !this.deliversOnlyComplete;
    this.lines = responseHead(call.request, head.lines, call.endpoint, isUnsized && mayStream) + extraLines;
    if (isWanted) this.held = new BodyBuffer();
    else this.passOn(call, head);
  }

  addWhole(body: Buffer): void {
    if (this.held === undefined) this.next.addWhole(body);
    else this.held.add(body);
  }

  addPiece(piece: Buffer): void {
    const { call, head, held } = this;
    if (held !== undefined && !held.isLargerThan(MAX_RECORDED_BYTES, piece.length)) {
      held.add(Buffer.from(piece));
      return;
    }
    if (held !== undefined && call !== undefined && head !== undefined) {
      this.held = undefined;
      for (const recorder of this.interested) this.lines += recorder.skipResponse(call);
      this.passOn(call, head);
      if (call.isClientGone) return;
      for (const each of held.pieces) this.next.addPiece(each);
    }
    this.next.addPiece(piece);
  }

  flush(isComplete: boolean): void {
    if (this.held === undefined) this.next.flush(isComplete);
  }

  end(trailerText: string): void {
    const { call, head, held } = this;
    if (call === undefined || head === undefined || held === undefined) {
      this.next.end(trailerText);
      return;
    }
    // Copy the body, because a body in one piece is still in the read buffer of the connection.
    const body = Buffer.from(held.buffer);
    const isUnsized = head.framing === Framing.Chunked || head.framing === Framing.Close;
    this.lines = withLength(this.lines, body.length, isUnsized);
    call.beginRecording();
    this.storeFrom(0, call, body);
  }

  deliver(call: RespondingCall, lines: string, body: Buffer): void {
    this.next.deliver(call, lines, body);
  }

  private passOn(call: RespondingCall, head: ResponseHead): void {
    this.isPassedOn = true;
    if (call.isClientGone) call.abandon();
    else this.next.begin(call, head, this.lines);
  }

  private storeFrom(index: number, call: RespondingCall, body: Buffer): void {
    const recorder = this.interested[index];
    if (recorder === undefined) {
      this.deliverRecorded(call, body);
      return;
    }
    recorder.storeResponse(call, body, (lines) => {
      this.lines += lines;
      this.storeFrom(index + 1, call, body);
    });
  }

  private deliverRecorded(call: RespondingCall, body: Buffer): void {
    if (!call.endRecording()) return;
    try {
      this.next.deliver(call, this.lines, body);
    } catch (error) {
      call.onError(error instanceof Error ? error : new Error(String(error)));
    }
  }
}
