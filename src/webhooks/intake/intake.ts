/**
 * Accepts events from services. Either all events of a request are accepted, or none. Requests that arrive during a
 * transaction share the next transaction. So many small requests need no more commits than a few large requests.
 */
import type { CompiledQuery, Kysely, QueryResult } from 'kysely';
import type { EventType } from '../../config/model/schema.js';
import { kindOf } from '../../stores/database/database-kind.js';
import { textList } from '../../stores/database/json-rows.js';
import type { Tables } from '../../stores/database/schema.js';
import { executeBatch } from '../../stores/database/statement-batch.js';
import { Batcher } from '../../platform/batcher.js';
import type { Clock } from '../../platform/clock.js';
import { METRICS } from '../../platform/metrics.js';
import { Problem, type FieldError } from '../../platform/problems/errors.js';
import type { WorkSignal } from '../../outbox/work-signal.js';
import type { ForeignEvent } from '../../outbox/event-types.js';
import { addEvents, type AddedEvents } from '../../outbox/outbox.js';
import { EventSchemas, validateBatch, type SubmittedEvent } from './event-batch.js';

/** Maximum number of events per transaction. A larger request has its own transaction. */
const EVENTS_PER_TRANSACTION = 1_000;

/**
 * Maximum number of waiting requests. Further requests are rejected, so that a slow database does not exhaust memory.
 */
const MAX_WAITING = 200;

/** Result for one accepted event. */
export interface AcceptedEvent {
  /** Event ID as sent to receivers: `evt_…`. */
  readonly eventId: string;
  /** Number of endpoints that receive the event. */
  readonly deliveries: number;
  /** Whether the event was accepted before. */
  readonly isDuplicate: boolean;
}

/** An event that is stored, or will be stored by the current transaction. */
interface KnownEvent {
  /** Null if the current transaction will add the event. */
  readonly id: string | null;
  readonly fingerprint: string | null;
  readonly deliveries: number;
}

/** A row of `knownEventsQuery`. */
interface KnownRow {
  readonly id: string;
  readonly dedupe_key: string;
  readonly fingerprint: string | null;
  readonly deliveries: number | string | null;
}

/** The accepted events of a request, or the problem for which the request is rejected. */
type Reply = readonly AcceptedEvent[] | Problem;

/** EventIntake validates and stores events from services. */
export class EventIntake {
  private readonly schemas: EventSchemas;
  private readonly requests: Batcher<readonly ForeignEvent[], Reply>;

  constructor(
    private readonly db: Kysely<Tables>,
    private readonly clock: Clock,
    private readonly signal: WorkSignal,
    types: () => readonly EventType[],
  ) {
    this.schemas = new EventSchemas(types);
    this.requests = new Batcher((requests) => this.write(requests), {
      most: EVENTS_PER_TRANSACTION,
      sizeOf: (events) => events.length,
      // An invalid request must not fail the others in its batch.
      isItemError: (error) => error instanceof Problem,
    });
  }

  /**
   * Stores the events of a request. Resolves after the commit. Rejects with a `Problem` if an event is invalid or
   * conflicts with an earlier event, or if too many requests are waiting. Also rejects if the database fails. Nothing
   * is stored then.
   */
  async acceptEvents(service: string, handedIn: readonly SubmittedEvent[]): Promise<readonly AcceptedEvent[]> {
    const { events, errors } = await validateBatch(service, handedIn, this.schemas, this.clock.now());
    try {
      if (errors.length > 0) throw invalid(errors);
      if (this.requests.length >= MAX_WAITING) throw overloaded();
      const taken = await this.requests.add(events);
      if (taken instanceof Problem) throw taken;
      for (const { isDuplicate } of taken) {
        METRICS.events.series('service', isDuplicate ? 'duplicate' : 'accepted').inc();
      }
      return taken;
    } catch (error) {
      if (error instanceof Problem) METRICS.events.series('service', 'refused').inc(handedIn.length);
      throw error;
    }
  }

  private async write(requests: readonly (readonly ForeignEvent[])[]): Promise<readonly Reply[]> {
    const { replies, added } = await this.db
      .transaction()
      .execute((trx) => writeRequests(trx, requests, this.clock.now()));
    this.signal.signalEndpoints(added.endpointIds);
    return replies;
  }
}

/** Adds the events of all valid requests, and returns a reply for each request. */
async function writeRequests(
  trx: Kysely<Tables>,
  requests: readonly (readonly ForeignEvent[])[],
  nowMs: number,
): Promise<{ replies: Reply[]; added: AddedEvents }> {
  const all = requests.flat();
  const found = await executeBatch(trx, [accountsQuery(trx, all), knownEventsQuery(trx, all)]);
  const accounts = new Set((found[0]!.rows as readonly { id: string }[]).map(({ id }) => id));
  const known = knownIn(found[1]!);
  const refusals = requests.map((events) => unknownAccounts(events, accounts) ?? registerOrConflict(events, known));
  const added = await addEvents(
    trx,
    requests.flatMap((events, index) => (refusals[index] === undefined ? events : [])),
    nowMs,
  );
  // Another process has stored some of the events since the query. Check whether they are the same events.
  const late = all.filter(({ dedupeKey }) => known.get(dedupeKey)?.id === null && !added.events.has(dedupeKey));
  const foundLate = await knownEvents(trx, late);
  if (late.some((event) => foundLate.get(event.dedupeKey)?.fingerprint !== event.fingerprint)) throw conflict('');
  const reported = new Set<string>();
  const replies = requests.map(
    (events, index) => refusals[index] ?? events.map((event) => takenOf(event, added, known, foundLate, reported)),
  );
  return { replies, added };
}

/**
 * Returns the result for an event of a valid request.
 * @param reported keys of added events in earlier results. Later events with these keys are duplicates.
 */
function takenOf(
  { dedupeKey }: ForeignEvent,
  { events: added }: AddedEvents,
  known: ReadonlyMap<string, KnownEvent>,
  late: ReadonlyMap<string, KnownEvent>,
  reported: Set<string>,
): AcceptedEvent {
  const own = added.get(dedupeKey);
  if (own !== undefined) {
    const isDuplicate = reported.has(dedupeKey);
    reported.add(dedupeKey);
    return { eventId: own.id, deliveries: own.deliveries, isDuplicate };
  }
  const other = late.get(dedupeKey) ?? known.get(dedupeKey);
  return { eventId: other?.id ?? '', deliveries: other?.deliveries ?? 0, isDuplicate: true };
}

/**
 * Adds the events of a request to `known`, for the next requests. If an ID already belongs to a different event, adds
 * none and returns the conflict.
 */
function registerOrConflict(events: readonly ForeignEvent[], known: Map<string, KnownEvent>): Problem | undefined {
  const addedKeys: string[] = [];
  for (const { dedupeKey, fingerprint } of events) {
    const before = known.get(dedupeKey);
    if (before !== undefined && before.fingerprint !== fingerprint) {
      for (const key of addedKeys) known.delete(key);
      return conflict(dedupeKey.slice(dedupeKey.indexOf(':', dedupeKey.indexOf(':') + 1) + 1));
    }
    if (before !== undefined) continue;
    known.set(dedupeKey, { id: null, fingerprint, deliveries: 0 });
    addedKeys.push(dedupeKey);
  }
  return undefined;
}

function accountsQuery(trx: Kysely<Tables>, events: readonly ForeignEvent[]): CompiledQuery {
  const ids = textList(kindOf(trx), [...new Set(events.map(({ accountId }) => accountId))]);
  return trx.selectFrom('account').select('id').where('id', 'in', ids).compile();
}

/** Reads the events that are already stored, and returns them by dedupe key. */
async function knownEvents(trx: Kysely<Tables>, events: readonly ForeignEvent[]): Promise<Map<string, KnownEvent>> {
  return events.length === 0 ? new Map() : knownIn(await trx.executeQuery(knownEventsQuery(trx, events)));
}

/** Returns the query of `knownEvents`, for use in a batch of statements. */
function knownEventsQuery(trx: Kysely<Tables>, events: readonly ForeignEvent[]): CompiledQuery {
  return trx
    .selectFrom('event')
    .select(['id', 'dedupe_key', 'fingerprint'])
    .select(({ selectFrom, fn }) =>
      selectFrom('webhook_delivery')
        .select(fn.countAll<number>().as('count'))
        .whereRef('event_id', '=', 'event.id')
        .as('deliveries'),
    )
    .where('dedupe_key', 'in', textList(kindOf(trx), [...new Set(events.map(({ dedupeKey }) => dedupeKey))]))
    .compile();
}

/** Converts the result of `knownEventsQuery` to a map by dedupe key. */
function knownIn({ rows }: QueryResult<unknown>): Map<string, KnownEvent> {
  return new Map(
    (rows as readonly KnownRow[]).map(({ id, dedupe_key: key, fingerprint, deliveries }) => [
      key,
      { id, fingerprint, deliveries: Number(deliveries ?? 0) },
    ]),
  );
}

/** Returns the problem for events of accounts that do not exist, or undefined. */
function unknownAccounts(events: readonly ForeignEvent[], accounts: ReadonlySet<string>): Problem | undefined {
  const errors = events.flatMap(({ accountId }, index): FieldError[] =>
    accounts.has(accountId) ? [] : [{ pointer: `#/events/${index}/account_id`, detail: 'is not an account' }],
  );
  return errors.length === 0 ? undefined : invalid(errors.slice(0, 20));
}

function invalid(errors: readonly FieldError[]): Problem {
  return new Problem('validation_failed', { detail: 'No event was accepted, because some are not valid.', errors });
}

function overloaded(): Problem {
  const detail = 'Too many requests are waiting for the database. Send this request again.';
  return new Problem('gateway_overloaded', { detail, headers: ['Retry-After', '1'] });
}

/** @param id event ID of the service; empty if unknown. */
function conflict(id: string): Problem {
  const which = id === '' ? 'One of these IDs' : `The ID ${id}`;
  return new Problem('event_conflict', {
    detail: `${which} already belongs to a different event. No event was accepted.`,
  });
}
