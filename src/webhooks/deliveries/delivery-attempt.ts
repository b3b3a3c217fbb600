/** Attempts a delivery: reads its event, builds the body and sends it, signed, to the endpoint. */
import type { Kysely } from 'kysely';
import type { Tables } from '../../stores/database/schema.js';
import type { WorkSignal } from '../../outbox/work-signal.js';
import { Batcher } from '../../platform/batcher.js';
import type { Clock } from '../../platform/clock.js';
import { METRICS } from '../../platform/metrics.js';
import { type AttemptMade, type AttemptPutOff, payloadOf, type WebhookSender } from '../sending/attempt.js';
import type { LaneAttempt } from './lane.js';
import { readPayloads, type DueDelivery, type EventPayload } from './rows/due-deliveries.js';
import { expireDelivery } from './rows/retention.js';

/** Events of one query: each may have a quarter of a megabyte. */
const PAYLOADS_AT_ONCE = 64;

/** The parts that attempts are made with. */
export interface DeliveryAttemptsParts {
  readonly db: Kysely<Tables>;
  readonly clock: Clock;
  readonly signal: WorkSignal;
  readonly sender: WebhookSender;
  /** Returns the timeout of an attempt where its endpoint has none. */
  readonly timeoutMs: () => number;
}

/** DeliveryAttempts makes attempts. */
export class DeliveryAttempts {
  private readonly payloads: Batcher<string, EventPayload | undefined>;

  constructor(private readonly parts: DeliveryAttemptsParts) {
    this.payloads = new Batcher(
      async (ids) => {
        const payloads = await readPayloads(parts.db, ids);
        return ids.map((id) => payloads.get(id));
      },
      { most: PAYLOADS_AT_ONCE },
    );
  }

  /** Returns null where the event was deleted: the delivery has expired then. Rejects as the database does. */
  async attempt({ delivery, endpoint, keys }: LaneAttempt): Promise<AttemptMade | AttemptPutOff | null> {
    const { db, sender, signal, timeoutMs, clock } = this.parts;
    const body = await this.readBody(delivery);
    if (body === undefined) {
      signal.tell(await expireDelivery(db, delivery, clock.now()));
      return null;
    }
    if (delivery.attempts === 0 && delivery.cycle === 0) {
      METRICS.webhookFirstAttemptDelay.series().observe(Math.max(0, clock.now() - delivery.createdAt) / 1_000);
    }
    const { url } = endpoint;
    return await sender.attempt({
      url,
      eventId: delivery.eventId,
      body,
      keys,
      timeoutMs: endpoint.timeoutMs ?? timeoutMs(),
    });
  }

  /** A method of its own, so that an attempt does not hold the event's data beside the body. */
  private async readBody({ eventId }: DueDelivery): Promise<Buffer | undefined> {
    const payload = await this.payloads.add(eventId);
    return payload && payloadOf({ ...payload, occurredAtMs: payload.occurredAt, data: payload.dataText });
  }
}
