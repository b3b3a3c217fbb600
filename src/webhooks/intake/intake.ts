/**
 * Accepts events from services: all events of a request or none. Requests that arrive during a transaction share the
 * next one. Many small requests thus cost no more commits than a few large ones.
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
import { EventSchemas, validateBatch, type HandedInEvent } from './event-batch.js';

/** Maximum number of events per transaction, unless one request has more. */
const EVENTS_PER_TRANSACTION = 1_000;

/** Maximum number of waiting requests. More are rejected, so that a slow database does not exhaust memory. */
const MOST_WAITING = 200;

/** Result for one event. */
export interface TakenEvent {
  /** Event ID as sent to receivers: `evt_…`. */
  readonly eventId: string;
  /** Number of endpoints that get the event. */
  readonly deliveries: number;
  /** Whether the event was accepted before. */
  readonly isDuplicate: boolean;
}

/** A stored event. */
interface KnownEvent {
  /** Null if it will be added in this transaction. */
  readonly id: string | null;
  readonly fingerprint: string | null;
  readonly deliveries: number;
}

interface KnownRow {
  readonly id: string;
  readonly dedupe_key: string;
  readonly fingerprint: string | null;
  readonly deliveries: number | string | null;
}

/** Accepted events of a request, or the reason for its rejection. */
type Reply = readonly TakenEvent[] | Problem;

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
      isOneAtFault: (error) => error instanceof Problem,
    });
  }

  /**
   * Stores the events of a request. They are committed when this resolves. Rejects with a `Problem` if one is invalid
   * or conflicts with an earlier event, or as the database does. Nothing is stored then.
   */
  async acceptEvents(service: string, handedIn: readonly HandedInEvent[]): Promise<readonly TakenEvent[]> {
    const { events, errors } = await validateBatch(service, handedIn, this.schemas, this.clock.now());
    try {
      if (errors.length > 0) throw invalid(errors);
      if (this.requests.length >= MOST_WAITING) throw overloaded();
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
    this.signal.tell(added.endpointIds);
    return replies;
  }
}

/** Adds the events of all valid requests. */
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
  // Another process stored one of them at the same moment. Check whether it is the same event.
  const late = all.filter(({ dedupeKey }) => known.get(dedupeKey)?.id === null && !added.events.has(dedupeKey));
  const foundLate = await knownEvents(trx, late);
  if (late.some((event) => foundLate.get(event.dedupeKey)?.fingerprint !== event.fingerprint)) throw conflict('');
  const told = new Set<string>();
  const replies = requests.map(
    (events, index) => refusals[index] ?? events.map((event) => takenOf(event, added, known, foundLate, told)),
  );
  return { replies, added };
}

function takenOf(
  { dedupeKey }: ForeignEvent,
  { events: added }: AddedEvents,
  known: ReadonlyMap<string, KnownEvent>,
  late: ReadonlyMap<string, KnownEvent>,
  told: Set<string>,
): TakenEvent {
  const own = added.get(dedupeKey);
  if (own !== undefined) {
    const isDuplicate = told.has(dedupeKey);
    told.add(dedupeKey);
    return { eventId: own.id, deliveries: own.deliveries, isDuplicate };
  }
  const other = late.get(dedupeKey) ?? known.get(dedupeKey);
  return { eventId: other?.id ?? '', deliveries: other?.deliveries ?? 0, isDuplicate: true };
}

/**
 * Registers the events of a request for the following ones. Returns a conflict if an ID belongs to a different event.
 */
function registerOrConflict(events: readonly ForeignEvent[], known: Map<string, KnownEvent>): Problem | undefined {
  const noted: string[] = [];
  for (const { dedupeKey, fingerprint } of events) {
    const before = known.get(dedupeKey);
    if (before !== undefined && before.fingerprint !== fingerprint) {
      for (const key of noted) known.delete(key);
      return conflict(dedupeKey.slice(dedupeKey.indexOf(':', dedupeKey.indexOf(':') + 1) + 1));
    }
    if (before !== undefined) continue;
    known.set(dedupeKey, { id: null, fingerprint, deliveries: 0 });
    noted.push(dedupeKey);
  }
  return undefined;
}

function accountsQuery(trx: Kysely<Tables>, events: readonly ForeignEvent[]): CompiledQuery {
  const ids = textList(kindOf(trx), [...new Set(events.map(({ accountId }) => accountId))]);
  return trx.selectFrom('account').select('id').where('id', 'in', ids).compile();
}

/** Returns those of the events that are stored already, by dedupe key. */
async function knownEvents(trx: Kysely<Tables>, events: readonly ForeignEvent[]): Promise<Map<string, KnownEvent>> {
  return events.length === 0 ? new Map() : knownIn(await trx.executeQuery(knownEventsQuery(trx, events)));
}

/** Returns the query of `knownEvents`, to be combined with others. */
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

/** Reads the result of `knownEventsQuery`, by dedupe key. */
function knownIn({ rows }: QueryResult<unknown>): Map<string, KnownEvent> {
  return new Map(
    (rows as readonly KnownRow[]).map(({ id, dedupe_key: key, fingerprint, deliveries }) => [
      key,
      { id, fingerprint, deliveries: Number(deliveries ?? 0) },
    ]),
  );
}

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

function conflict(id: string): Problem {
  const which = id === '' ? 'One of these IDs' : `The ID ${id}`;
  return new Problem('event_conflict', {
    detail: `${which} already belongs to a different event. No event was accepted.`,
  });
}
