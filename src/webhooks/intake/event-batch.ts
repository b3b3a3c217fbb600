/** Validates all events of a request before any is written. */
import { createHash } from 'node:crypto';
import { compileDataSchema, type DataCheck } from '../../config/data-schema.js';
import type { EventType } from '../../config/model/schema.js';
import { canonicalDigits, isExactNumber, toPlain } from '../../platform/json/exact-json.js';
import type { FieldError } from '../../platform/problems/errors.js';
import type { ForeignEvent } from '../../outbox/event-types.js';

/** Maximum size of one event's data as JSON. */
const MOST_EVENT_BYTES = 256 * 1_024;
/** Maximum number of errors per response, since they usually share a cause. */
const MOST_ERRORS = 20;
const DAY_MS = 86_400_000;
/** Accepted range of timestamps. The tolerance for the future covers clock differences. */
const OLDEST_MS = 30 * DAY_MS;
const NEWEST_MS = 5 * 60_000;

/** An event sent by a service. */
export interface HandedInEvent {
  readonly id: string;
  readonly type: string;
  readonly account_id: string;
  /** Numbers keep their digits (`ExactNumber`). */
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

/** Validates types, data and timestamps. The existence of accounts is checked by the database later. */
export async function validateBatch(
  service: string,
  handedIn: readonly HandedInEvent[],
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

/** IDs are unique per service only. */
function dedupeKeyOf(service: string, id: string): string {
  return `svc:${service}:${id}`;
}

function timeError(occurredAtMs: number, nowMs: number): (FieldError & { pointer: string }) | undefined {
  if (occurredAtMs >= nowMs - OLDEST_MS && occurredAtMs <= nowMs + NEWEST_MS) return undefined;
  return { pointer: '/timestamp', detail: 'must be within the last 30 days and at most 5 minutes in the future' };
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
  if (check === undefined) return { pointer: '/type', detail: 'is not listed under `events` in gateway.yaml' };
  const fault = check?.(toPlain(data));
  return fault && { pointer: `/data${encodeURI(fault.pointer)}`, detail: fault.detail };
}

/** EventSchemas compiles the schema of a type when its first event arrives. */
export class EventSchemas {
  private types: readonly EventType[] | undefined;
  private checks = new Map<string, Promise<DataCheck> | null>();

  constructor(private readonly current: () => readonly EventType[]) {}

  /** Returns the check for a type; null if it accepts any object, undefined if the type does not exist. */
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

/** Hashes a JSON value. Equal values have equal hashes, regardless of formatting and key order. */
function fingerprintOf(value: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(sorted(value)))
    .digest('base64url');
}

/**
 * Normalizes a number, so that `1.0` and `1` are equal. Returns its digits if JavaScript cannot represent it exactly.
 */
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
  // Pairs instead of an object, which would treat `__proto__` specially and move numeric keys first.
  return entries.toSorted(([one], [other]) => (one < other ? -1 : 1));
}
