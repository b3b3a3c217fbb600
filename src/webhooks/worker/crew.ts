/** What lanes have done: deliveries read, keys opened, attempts made, results written. */
import type { Kysely } from 'kysely';
import type { Tables } from '../../stores/database/schema.js';
import { writeResults, type AttemptRecord } from '../deliveries/delivery-results.js';
import { readPayloads, type DueDelivery, type EventPayload } from '../deliveries/due-deliveries.js';
import { expireDelivery } from '../deliveries/expire-delivery.js';
import type { LaneEndpoint } from '../deliveries/lane-endpoints.js';
import type { WorkSignal } from '../../outbox/work-signal.js';
import type { AttemptMade, AttemptPutOff, WebhookSender } from '../sending/attempt.js';
import { payloadOf } from '../sending/payload.js';
import type { SigningKeys } from '../signing/webhook-signature.js';
import { DatabaseUnavailable } from '../../stores/database/database-errors.js';
import { Batcher } from '../../platform/batcher.js';
import type { Clock } from '../../platform/clock.js';
import type { Logger } from '../../platform/log.js';
import { METRICS } from '../../platform/metrics.js';
import { DueReader, type DuePage } from './due-reader.js';
import { healthOf, recordOf } from './outcomes.js';

/** Results of one transaction: SQLite has one connection, and holds everybody up meanwhile. */
const MOST_RESULTS = { sqlite: 64, postgres: 256 } as const;
/** Events of one query: each may have a quarter of a megabyte. */
const PAYLOADS_AT_ONCE = 64;
/** Endpoints whose keys are opened in one turn of the event loop: each takes a tenth of a millisecond. */
const KEYS_AT_ONCE = 16;

/** What the work is done with. */
export interface CrewParts {
  readonly db: Kysely<Tables>;
  readonly kind: 'sqlite' | 'postgres';
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: WorkSignal;
  readonly sender: WebhookSender;
  /** For each its keys, or why they do not open. */
  readonly openKeys: (endpointIds: readonly string[], nowMs: number) => Promise<readonly (SigningKeys | Error)[]>;
  /** For an attempt, where its endpoint does not say. */
  readonly timeoutMs: () => number;
  /**
   * Attempts at these endpoints have failed; at some, by their endpoint, the receiver of that URL is gone. Told behind
   * the commit.
   */
  readonly onFailed: (endpointIds: ReadonlySet<string>, goneUrls: ReadonlyMap<string, string>) => void;
}

/** Crew works for all lanes of a process. */
export class Crew {
  private readonly results: Batcher<AttemptRecord, void>;
  private readonly due: DueReader;
  private readonly keys: Batcher<string, SigningKeys | Error>;
  private readonly payloads: Batcher<string, EventPayload | undefined>;

  constructor(private readonly parts: CrewParts) {
    const { db, kind, clock, openKeys } = parts;
    // Results wait for a database that is away, and nothing new begins: an attempt without a result would be repeated.
    this.results = new Batcher((records) => this.write(records), {
      most: MOST_RESULTS[kind],
      isAway: (error) => error instanceof DatabaseUnavailable,
      isOneAtFault: () => true,
    });
    this.due = new DueReader(db, clock);
    this.keys = new Batcher((ids) => openKeys(ids, clock.now()), { most: KEYS_AT_ONCE });
    this.payloads = new Batcher(
      async (ids) => {
        const payloads = await readPayloads(db, ids);
        return ids.map((id) => payloads.get(id));
      },
      { most: PAYLOADS_AT_ONCE },
    );
  }

  /** Whether results cannot be written now. */
  get isStuck(): boolean {
    return this.results.isStuck;
  }

  /** Gives up results that cannot be written: the leases end, and others make those attempts again. */
  stop(): void {
    this.results.stop(new DatabaseUnavailable('the results of webhooks are not written any more'));
  }

  readDue(endpoint: LaneEndpoint, most: number, except: readonly string[]): Promise<DuePage> {
    return this.due.page(endpoint, most, except);
  }

  async openKeys(endpointId: string): Promise<SigningKeys> {
    const keys = await this.keys.add(endpointId);
    if (keys instanceof Error) throw keys;
    return keys;
  }

  msUntil(dueAtMs: number): number {
    return Math.max(0, dueAtMs - this.parts.clock.now());
  }

  /** Null: there is nothing to send any more. */
  async attempt(
    endpoint: LaneEndpoint,
    keys: SigningKeys,
    delivery: DueDelivery,
  ): Promise<AttemptMade | AttemptPutOff | null> {
    const { sender, timeoutMs, clock } = this.parts;
    const body = await this.bodyOf(delivery);
    if (body === undefined) {
      this.parts.signal.tell(await expireDelivery(this.parts.db, delivery, clock.now()));
      return null;
    }
    if (delivery.attempts === 0 && delivery.cycle === 0) {
      METRICS.webhookFirstAttemptDelay.series().observe(Math.max(0, clock.now() - delivery.createdAt) / 1_000);
    }
    const { url } = endpoint;
    const { eventId } = delivery;
    return await sender.attempt({ url, eventId, body, keys, timeoutMs: endpoint.timeoutMs ?? timeoutMs() });
  }

  /** Apart, so that an attempt holds its body, and not what it was made of beside it. Undefined: the event is gone. */
  private async bodyOf({ eventId }: DueDelivery): Promise<Buffer | undefined> {
    const payload = await this.payloads.add(eventId);
    return payload && payloadOf({ ...payload, occurredAtMs: payload.occurredAt, data: payload.dataText });
  }

  outcomeOf(endpoint: LaneEndpoint, delivery: DueDelivery, made: AttemptMade, url: string): AttemptRecord {
    const record = recordOf(endpoint, delivery, made, url, this.parts.clock.now());
    const { statusCode, durationMs, error } = made;
    const { state } = record.outcome;
    this.parts.log.info({
      event: 'webhook_attempt',
      delivery_id: delivery.id,
      event_id: delivery.eventId,
      endpoint_id: endpoint.id,
      account_id: endpoint.accountId,
      attempt: delivery.attempts + 1,
      status: statusCode,
      duration_ms: durationMs,
      outcome: made.outcome,
      error,
      delivery: state,
    });
    return record;
  }

  record(record: AttemptRecord): Promise<void> {
    return this.results.add(record);
  }

  private async write(records: readonly AttemptRecord[]): Promise<readonly void[]> {
    const { db, clock, signal, onFailed } = this.parts;
    const { changed, released } = await writeResults(db, records, healthOf(records), clock.now());
    signal.tell(released);
    for (const { delivery, outcome } of records) {
      if (outcome.state === 'pending' || !changed.has(delivery.id)) continue;
      const reason = outcome.state === 'failed' ? outcome.reason : '';
      METRICS.webhookDeliveries.series(outcome.state, reason).inc();
    }
    const failed = records.filter(({ outcome }) => outcome.state !== 'succeeded');
    const gone = failed.filter(({ outcome }) => outcome.state === 'failed' && outcome.reason === 'gone');
    if (failed.length > 0) {
      const goneUrls = new Map(gone.map(({ delivery, url }) => [delivery.endpointId, url]));
      onFailed(new Set(failed.map(({ delivery }) => delivery.endpointId)), goneUrls);
    }
    return records.map(() => undefined);
  }
}
