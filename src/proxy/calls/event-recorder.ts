/**
 * Turns successful responses of operations with `emits` into events. The response waits until its event is stored, or
 * until a timeout has passed. Bodies that are too large or not JSON objects create no event. No response is changed.
 */
import type { Emits } from '../../config/model/schema.js';
import { isExactNumber, parseExact, toWellFormedJson } from '../../platform/json/exact-json.js';
import type { ResponseHead } from '../../http/backend/response-head.js';
import { errorText as bodyText } from '../backend-errors/error-encoding.js';
import type { ForwardRequest } from '../targets/forward-request.js';
import { MAX_RECORDED_BYTES, type ResponseRecorder } from './recorder-sink.js';
import type { RespondingCall } from './response-sink.js';

// Both patterns search field lines that end with CRLF.
const JSON_TYPE = /(?:^|\n)content-type:[ \t]*application\/(?:[\w.+-]+\+)?json[ \t]*[;\r]/i;
const CONTENT_ENCODING = /(?:^|\n)content-encoding:[ \t]*([^\r]*?)[ \t]*\r/i;

/** Reasons why a successful response does not become an event. */
export type UnusableReason = 'not_json' | 'too_large' | 'not_an_object';

/** A successful response that becomes an event. */
export interface EmittedEvent {
  readonly accountId: string;
  readonly emits: Emits;
  readonly data: Readonly<Record<string, unknown>>;
  /** `data` as JSON text, with unpaired surrogates replaced. */
  readonly text: string;
}

/** EventSink stores the events that operations emit. */
export interface EventSink {
  /** Stores an event. Calls `done` once, when the event is stored or storing takes too long. Never throws. */
  add(event: EmittedEvent, done: () => void): void;
  /** Reports a successful response that could not become an event. */
  recordUnusable(operationId: string, reason: UnusableReason): void;
}

/** EventRecorder turns one response into an event. */
export class EventRecorder implements ResponseRecorder {
  private contentEncoding: string | undefined;
  /** Reason that `skipResponse` reports; undefined if the response need not become an event. */
  private unusableReason: UnusableReason | undefined;

  constructor(
    private readonly request: ForwardRequest,
    private readonly emits: Emits,
    private readonly events: EventSink,
  ) {}

  wantsResponse(_call: RespondingCall, { status, lines }: ResponseHead): boolean {
    if (status < 200 || status >= 300) return false;
    this.contentEncoding = CONTENT_ENCODING.exec(lines)?.[1];
    const isEvent = JSON_TYPE.test(lines);
    this.unusableReason = isEvent ? 'too_large' : 'not_json';
    return isEvent;
  }

  skipResponse(): string {
    if (this.unusableReason !== undefined) this.recordUnusable(this.unusableReason);
    return '';
  }

  storeResponse(_call: RespondingCall, body: Buffer, done: (lines: string) => void): void {
    const event = this.eventOf(body);
    if (typeof event !== 'string') {
      this.events.add(event, () => done(''));
      return;
    }
    this.recordUnusable(event);
    done('');
  }

  /** Returns the event for a response body, or the reason why there is none. */
  private eventOf(body: Buffer): EmittedEvent | UnusableReason {
    const { contentEncoding } = this;
    // JSON is UTF-8 (RFC 8259 section 8.1), whatever `charset` says. The limit also applies after decompression.
    const decoded = bodyText(body, contentEncoding, undefined, MAX_RECORDED_BYTES, true);
    if (decoded === undefined) return 'not_json';
    // Strict webhook receivers reject unpaired surrogates. Repeated failures would disable their endpoint.
    const text = toWellFormedJson(decoded);
    const data = objectIn(text);
    if (data === undefined) return 'not_an_object';
    return { accountId: this.request.accountId, emits: this.emits, data, text };
  }

  private recordUnusable(reason: UnusableReason): void {
    this.events.recordUnusable(this.request.operation.id, reason);
  }
}

function objectIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value = parseExact(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value) && !isExactNumber(value);
    return isObject ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}
