/** The events of one request, judged one by one before any of them is written. */
import { createHash } from 'node:crypto';
import { compileDataSchema, type DataCheck } from '../../config/data-schema.js';
import type { EventType } from '../../config/model/schema.js';
import { canonicalDigits, isExactNumber, toPlain } from '../../platform/json/exact-json.js';
import type { FieldError } from '../../platform/problems/errors.js';
import type { ForeignEvent } from '../../outbox/event-types.js';

/** Of one event's data, as JSON. */
const MOST_EVENT_BYTES = 256 * 1_024;
/** Errors that one response names: whoever has more has one cause for most. */
const MOST_ERRORS = 20;
const DAY_MS = 86_400_000;
/** Older than that nobody waits for it any more; and clocks differ. */
const OLDEST_MS = 30 * DAY_MS;
const NEWEST_MS = 5 * 60_000;

/** An event as a service hands it in. */
export interface HandedInEvent {
  readonly id: string;
  readonly type: string;
  readonly account_id: string;
  /** Numbers keep their digits (`ExactNumber`). */
  readonly data: Readonly<Record<string, unknown>>;
  readonly resource?: string | undefined;
  /** RFC 3339. */
  readonly timestamp?: string | undefined;
}

/** What came of judging them. */
export interface JudgedBatch {
  readonly events: readonly ForeignEvent[];
  /** The first of what is wrong; none where all may be written. */
  readonly errors: readonly FieldError[];
}

/** Judges events by their types, schemas and times. Whether their accounts are there, the database says. */
export async function judgeBatch(
  service: string,
  handedIn: readonly HandedInEvent[],
  schemas: EventSchemas,
  nowMs: number,
): Promise<JudgedBatch> {
  const events: ForeignEvent[] = [];
  const errors: FieldError[] = [];
  for (const [index, event] of handedIn.entries()) {
    const dataText = JSON.stringify(event.data);
    const occurredAtMs = event.timestamp === undefined ? nowMs : Date.parse(event.timestamp);
    const error = timeError(occurredAtMs, nowMs) ?? (await dataError(event, dataText, schemas));
    if (error !== undefined) {
      errors.push({ ...error, pointer: `#/events/${index}${error.pointer}` });
      if (errors.length === MOST_ERRORS) break;
    }
    events.push(foreignEvent(service, event, dataText, occurredAtMs));
  }
  return { events, errors };
}

function foreignEvent(service: string, event: HandedInEvent, dataText: string, occurredAtMs: number): ForeignEvent {
  const { id, type, account_id: accountId, resource = null, data, timestamp = null } = event;
  return {
    type,
    accountId,
    dataText,
    dedupeKey: dedupeKeyOf(service, id),
    source: service,
    resource,
    occurredAtMs,
    fingerprint: fingerprintOf([type, accountId, resource, timestamp, data]),
  };
}

/** Ids are a service's own: two of them may count the same way. */
function dedupeKeyOf(service: string, id: string): string {
  return `svc:${service}:${id}`;
}

function timeError(occurredAtMs: number, nowMs: number): (FieldError & { pointer: string }) | undefined {
  if (occurredAtMs >= nowMs - OLDEST_MS && occurredAtMs <= nowMs + NEWEST_MS) return undefined;
  return { pointer: '/timestamp', detail: 'must be within the last 30 days, and no more than 5 minutes ahead' };
}

async function dataError(
  { type, data }: HandedInEvent,
  dataText: string,
  schemas: EventSchemas,
): Promise<(FieldError & { pointer: string }) | undefined> {
  if (Buffer.byteLength(dataText) > MOST_EVENT_BYTES) {
    return { pointer: '/data', detail: `must be at most ${MOST_EVENT_BYTES} bytes of JSON` };
  }
  const check = await schemas.checkOf(type);
  if (check === undefined) return { pointer: '/type', detail: 'is not a type that `events` of gateway.yaml names' };
  const fault = check?.(toPlain(data));
  return fault && { pointer: `/data${encodeURI(fault.pointer)}`, detail: fault.detail };
}

/** EventSchemas knows the types, and compiles a schema when the first event of its type comes. */
export class EventSchemas {
  private types: readonly EventType[] | undefined;
  private checks = new Map<string, Promise<DataCheck> | null>();

  constructor(private readonly current: () => readonly EventType[]) {}

  /** The check of a type; null: it takes any object; undefined: there is no such type. */
  async checkOf(type: string): Promise<DataCheck | null | undefined> {
    const types = this.current();
    if (types !== this.types) {
      this.types = types;
      this.checks = new Map();
    }
    const known = this.checks.get(type);
    if (known !== undefined) return known;
    const found = types.find(({ name }) => name === type);
    if (found === undefined) return undefined;
    const check = found.schema === null ? null : compileDataSchema(found.schema);
    this.checks.set(type, check);
    return check;
  }
}

/** Hashes a value of JSON so that equal values have one hash, however they were written. */
function fingerprintOf(value: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(sorted(value)))
    .digest('base64url');
}

/** Returns the number with this value, or a list of its digits where JavaScript has none: `1.0` and `1` are equal. */
function numberIn(digits: string): unknown {
  const form = canonicalDigits(digits);
  const number = Number(digits);
  const isSame = Number.isFinite(number) && canonicalDigits(String(number)) === form;
  return isSame ? number : ['number', form];
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  if (isExactNumber(value)) return numberIn(value.rawJSON);
  const entries = Object.entries(value).map(([name, each]): [string, unknown] => [name, sorted(each)]);
  // A list of pairs: `__proto__` is a name like any other, and numbers stand first in objects.
  return entries.toSorted(([one], [other]) => (one < other ? -1 : 1));
}
