/** Validates all events of a request from a service, before any event is written. */
import { createHash } from 'node:crypto';
import { compileDataSchema, type DataCheck } from '../../config/data-schema.js';
import type { EventType } from '../../config/model/schema.js';
import { canonicalDigits, isExactNumber, toPlain } from '../../platform/json/exact-json.js';
import type { FieldError } from '../../platform/problems/errors.js';
import type { ForeignEvent } from '../../outbox/event-types.js';

/** Maximum size of the data of an event as JSON, in bytes. */
const MAX_EVENT_BYTES = 256 * 1_024;
/** Maximum number of errors per response. More errors usually have the same cause. */
const MAX_ERRORS = 20;
const DAY_MS = 86_400_000;
/** Maximum age of an event. */
const OLDEST_MS = 30 * DAY_MS;
/** Maximum time of an event in the future, which allows for clock differences. */
const NEWEST_MS = 5 * 60_000;

/** An event sent by a service. */
export interface SubmittedEvent {
  readonly id: string;
  readonly type: string;
  readonly account_id: string;
  /** Parsed data. Numbers keep all of their digits (`ExactNumber`). */
  readonly data: Readonly<Record<string, unknown>>;
  readonly resource?: string | undefined;
  /** Time in RFC 3339 format. */
  readonly timestamp?: string | undefined;
}

/** Result of the validation. */
export interface ValidatedBatch {
  readonly events: readonly ForeignEvent[];
  /** The first errors; empty if all events are valid. */
  readonly errors: readonly FieldError[];
}

/**
 * Validates types, data and timestamps. Stops after `MAX_ERRORS` errors. `EventIntake` checks later whether the
 * accounts exist.
 */
export async function validateBatch(
  service: string,
  handedIn: readonly SubmittedEvent[],
  schemas: EventSchemas,
  nowMs: number,
): Promise<ValidatedBatch> {
  const events: ForeignEvent[] = [];
  const errors: FieldError[] = [];
  for (const [index, event] of handedIn.entries()) {
    const dataText = JSON.stringify(event.data);
    const occurredAtMs = event.timestamp === undefined ? nowMs : Date.parse(event.timestamp);
    const error = timeError(occurredAtMs, nowMs) ?? (await dataError(event, dataText, schemas));
    if (error !== undefined) {
      errors.push({ ...error, pointer: `#/events/${index}${error.pointer}` });
      if (errors.length === MAX_ERRORS) break;
    }
    events.push(foreignEvent(service, event, dataText, occurredAtMs));
  }
  return { events, errors };
}

function foreignEvent(service: string, event: SubmittedEvent, dataText: string, occurredAtMs: number): ForeignEvent {
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

/** Returns the key that identifies repeated events. IDs are unique only within a service. */
function dedupeKeyOf(service: string, id: string): string {
  return `svc:${service}:${id}`;
}

function timeError(occurredAtMs: number, nowMs: number): (FieldError & { pointer: string }) | undefined {
  if (occurredAtMs >= nowMs - OLDEST_MS && occurredAtMs <= nowMs + NEWEST_MS) return undefined;
  return { pointer: '/timestamp', detail: 'must be within the last 30 days and at most 5 minutes in the future' };
}

/** Returns the error for invalid data or an unknown type, with a pointer relative to the event. */
async function dataError(
  { type, data }: SubmittedEvent,
  dataText: string,
  schemas: EventSchemas,
): Promise<(FieldError & { pointer: string }) | undefined> {
  if (Buffer.byteLength(dataText) > MAX_EVENT_BYTES) {
    return { pointer: '/data', detail: `must be at most ${MAX_EVENT_BYTES} bytes of JSON` };
  }
  const check = await schemas.checkOf(type);
  if (check === undefined) return { pointer: '/type', detail: 'is not listed under `events` in gateway.yaml' };
  const fault = check?.(toPlain(data));
  return fault && { pointer: `/data${encodeURI(fault.pointer)}`, detail: fault.detail };
}

/**
 * EventSchemas compiles the schema of an event type when its first event arrives, and again after the types have
 * changed.
 */
export class EventSchemas {
  private types: readonly EventType[] | undefined;
  private checks = new Map<string, Promise<DataCheck> | null>();

  constructor(private readonly current: () => readonly EventType[]) {}

  /** Returns the check for a type; null if the type accepts any object, undefined if the type does not exist. */
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

/** Hashes a JSON value, to detect that an ID belongs to a different event. Formatting and key order do not matter. */
function fingerprintOf(value: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(normalized(value)))
    .digest('base64url');
}

/**
 * Normalizes a number, so that `1.0` and `1` are equal. If JavaScript cannot represent the number exactly, returns a
 * list with its normalized digits.
 */
function normalizedNumber(digits: string): unknown {
  const form = canonicalDigits(digits);
  const number = Number(digits);
  const isSame = Number.isFinite(number) && canonicalDigits(String(number)) === form;
  return isSame ? number : ['number', form];
}

/** Converts a JSON value, so that equal values have the same JSON text. */
function normalized(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(normalized);
  if (typeof value !== 'object' || value === null) return value;
  if (isExactNumber(value)) return normalizedNumber(value.rawJSON);
  const entries = Object.entries(value).map(([name, each]): [string, unknown] => [name, normalized(each)]);
  // Return pairs and not an object. An object treats `__proto__` specially, and moves numeric keys to the front.
  return entries.toSorted(([one], [other]) => (one < other ? -1 : 1));
}
