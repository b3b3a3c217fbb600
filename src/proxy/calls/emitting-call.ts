/**
 * A call whose success is an event: its response waits until the event stands in the database, or until that has taken
 * too long. What is no event (an error, a body that is no JSON object or is too large to be held) goes out as always.
 */
import type { Emits } from '../../config/model/schema.js';
import type { ResponseHead } from '../../http1/backend/response-head.js';
import { errorText as bodyText } from '../backend-errors/error-encoding.js';
import type { Deadlines } from '../targets/deadlines.js';
import type { ForwardRequest } from '../targets/forward-request.js';
import { failedProblem } from '../targets/unavailable.js';
import { upstreamFailure } from '../targets/upstream-errors.js';
import type { Upstream } from '../targets/upstream.js';
import { CallState } from './call-state.js';
import { HttpCall } from './http-call.js';
import { peerError, RequestBody } from './request-body.js';

/** Of a body that an event is made of, also once it is decompressed. */
const MOST_EVENT_BYTES = 64 * 1_024;
const EMPTY = Buffer.alloc(0);
// Of field lines, each with its CRLF.
const JSON_TYPE = /(?:^|\n)content-type:[ \t]*application\/(?:[\w.+-]+\+)?json[ \t]*[;\r]/i;
const CONTENT_ENCODING = /(?:^|\n)content-encoding:[ \t]*([^\r]*?)[ \t]*\r/i;

/** Why a response of success is no event. */
export type UnusableReason = 'not_json' | 'too_large' | 'not_an_object';

/** A response of success that is an event. */
export interface EmittedEvent {
  readonly accountId: string;
  readonly emits: Emits;
  readonly data: Readonly<Record<string, unknown>>;
  /** The same as it was sent. */
  readonly text: string;
}

/** EventSink takes the events of operations that emit. */
export interface EventSink {
  /** Takes an event; calls `done` once, when it is written or has to be waited for too long. Never throws. */
  add(event: EmittedEvent, done: () => void): void;
  /** Is told of a response that ought to be an event and is none. */
  unusable(operationId: string, reason: UnusableReason): void;
}

export class EmittingCall extends HttpCall {
  /** Whether the response is to become an event. */
  private isEvent = false;
  /** While its event is being written: no connection has it any more. */
  private isWriting = false;
  /** Its client has gone, and the backend may have done what it was asked for: the event is made all the same. */
  private isLeft = false;
  private contentEncoding: string | undefined;

  constructor(
    upstream: Upstream,
    request: ForwardRequest,
    deadlines: Deadlines,
    private readonly emits: Emits,
    private readonly events: EventSink | undefined,
  ) {
    super(upstream, request, deadlines);
  }

  protected override get mostHeldBytes(): number {
    return this.isEvent ? MOST_EVENT_BYTES : super.mostHeldBytes;
  }

  protected override get isAwaited(): boolean {
    return this.isEvent;
  }

  /** A client that leaves does not undo what it has asked for: the response is waited for, for its event. */
  override onClose(): void {
    if (this.isLeft) return;
    if (!this.goesOn) {
      super.onClose();
      return;
    }
    this.isLeft = true;
    const { client } = this.request;
    // As where the call ends with its client: the log says why there is no response, and nothing more comes of it.
    client.closeListener = undefined;
    const error = peerError('TRAILGATE_CLIENT_GONE');
    client.onFailed(failedProblem(upstreamFailure(error), error));
  }

  /** Whether there is, or may be, an event without the client. */
  private get goesOn(): boolean {
    const { state, body } = this;
    if (state === CallState.Held) return this.isEvent;
    return (
      (state === CallState.Sent || state === CallState.Announced) &&
      (!(body instanceof RequestBody) || body.readableEnded)
    );
  }

  override onInterim(head: ResponseHead): void {
    if (!this.isLeft) super.onInterim(head);
  }

  override onHead(head: ResponseHead): void {
    if (head.status >= 200 && head.status < 300) {
      this.contentEncoding = CONTENT_ENCODING.exec(head.lines)?.[1];
      this.isEvent = JSON_TYPE.test(head.lines);
      if (!this.isEvent) this.unusable('not_json');
    }
    if (this.isLeft && !this.isEvent) super.onClose();
    else super.onHead(head);
  }

  /** Too large for an event. */
  protected override stream(): void {
    if (this.isEvent) this.unusable('too_large');
    this.isEvent = false;
    if (this.isLeft) super.onClose();
    else super.stream();
  }

  override onEnd(trailerText: string): void {
    if (!this.isEvent || this.events === undefined || this.state >= CallState.Aborting) {
      super.onEnd(trailerText);
      return;
    }
    const event = this.eventOf(this.held?.body ?? EMPTY);
    if (typeof event === 'string') {
      this.unusable(event);
      if (this.isLeft) this.end('answered');
      else super.onEnd(trailerText);
      return;
    }
    this.held?.keep();
    // The backend is done with it; neither its time nor its place is taken by what follows.
    this.leaveTarget('answered');
    this.deadlineMs = Infinity;
    this.isWriting = true;
    this.events.add(event, () => this.onWritten());
  }

  /** The connection has gone on to other calls: nothing of it comes back here. */
  protected override disconnect(reason: Error, from: CallState): void {
    if (this.isWriting) this.failed(reason, from, true);
    else super.disconnect(reason, from);
  }

  /** Nobody is there to be told, and for nobody it is sent again. */
  protected override failed(error: Error, from: CallState, wasEnded: boolean): void {
    if (this.isLeft) this.end(upstreamFailure(error).outcome);
    else super.failed(error, from, wasEnded);
  }

  private onWritten(): void {
    this.isWriting = false;
    if (this.state !== CallState.Held) return;
    try {
      if (this.isLeft) this.end('answered');
      else super.onEnd('');
    } catch (error) {
      this.onError(error instanceof Error ? error : new Error(String(error)));
    }
  }

  private eventOf(body: Buffer): EmittedEvent | UnusableReason {
    const { contentEncoding } = this;
    // JSON is UTF-8 (RFC 8259), whatever stands in the type.
    const text =
      contentEncoding === undefined ? body.toString() : bodyText(body, contentEncoding, undefined, MOST_EVENT_BYTES);
    const data = text === undefined ? undefined : objectIn(text);
    if (text === undefined || data === undefined) return 'not_an_object';
    return { accountId: this.accountId, emits: this.emits, data, text };
  }

  private unusable(reason: UnusableReason): void {
    this.events?.unusable(this.request.operation.id, reason);
  }
}

function objectIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
