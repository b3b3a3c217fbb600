/**
 * Makes events of the successful responses of an operation that emits: each stands in the database before its client
 * has the response. What is no event (an error, a body that is no JSON object or is too large) goes out as always.
 */
import type { Emits } from '../../config/model/schema.js';
import { isExactNumber, parseExact, toWellFormedJson } from '../../platform/json/exact-json.js';
import type { ResponseHead } from '../../http/backend/response-head.js';
import { errorText as bodyText } from '../backend-errors/error-encoding.js';
import type { ForwardRequest } from '../targets/forward-request.js';
import { MOST_KEPT_BYTES, type ResponseKeeper } from './kept-sink.js';
import type { RespondingCall } from './response-sink.js';

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
  /** The same as it was sent, but for halves of surrogate pairs. */
  readonly text: string;
}

/** EventSink takes the events of operations that emit. */
export interface EventSink {
  /** Takes an event; calls `done` once, when it is written or has to be waited for too long. Never throws. */
  add(event: EmittedEvent, done: () => void): void;
  /** Is told of a response that ought to be an event and is none. */
  unusable(operationId: string, reason: UnusableReason): void;
}

/** EventKeeper makes the event of one response. */
export class EventKeeper implements ResponseKeeper {
  private contentEncoding: string | undefined;
  /** Why a response that it lets go is no event; undefined: it need not be one. */
  private unusableReason: UnusableReason | undefined;

  constructor(
    private readonly request: ForwardRequest,
    private readonly emits: Emits,
    private readonly events: EventSink,
  ) {}

  wants(_call: RespondingCall, { status, lines }: ResponseHead): boolean {
    if (status < 200 || status >= 300) return false;
    this.contentEncoding = CONTENT_ENCODING.exec(lines)?.[1];
    const isEvent = JSON_TYPE.test(lines);
    this.unusableReason = isEvent ? 'too_large' : 'not_json';
    return isEvent;
  }

  pass(): string {
    if (this.unusableReason !== undefined) this.unusable(this.unusableReason);
    return '';
  }

  keep(_call: RespondingCall, body: Buffer, done: (lines: string) => void): void {
    const event = this.eventOf(body);
    if (typeof event !== 'string') {
      this.events.add(event, () => done(''));
      return;
    }
    this.unusable(event);
    done('');
  }

  private eventOf(body: Buffer): EmittedEvent | UnusableReason {
    const { contentEncoding } = this;
    // JSON is UTF-8 (RFC 8259), whatever stands in the type. The bound holds once it is decompressed, too.
    const sent = bodyText(body, contentEncoding, undefined, MOST_KEPT_BYTES, true);
    if (sent === undefined) return 'not_json';
    // Half of a surrogate pair would have strict receivers refuse the webhook until their endpoint is disabled.
    const text = toWellFormedJson(sent);
    const data = objectIn(text);
    if (data === undefined) return 'not_an_object';
    return { accountId: this.request.accountId, emits: this.emits, data, text };
  }

  private unusable(reason: UnusableReason): void {
    this.events.unusable(this.request.operation.id, reason);
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
