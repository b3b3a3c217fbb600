/** Attempts a delivery: reads its event, builds the body, and sends the signed body to the endpoint. */
import type { Kysely } from 'kysely';
import type { Tables } from '../../stores/database/schema.js';
import type { WorkSignal } from '../../outbox/work-signal.js';
import { Batcher } from '../../platform/batcher.js';
import type { Clock } from '../../platform/clock.js';
import { METRICS } from '../../platform/metrics.js';
import { type AttemptMade, type ResourceShortage, payloadOf, type WebhookSender } from '../sending/attempt.js';
import type { LaneAttempt } from './lane.js';
import { readPayloads, type DueDelivery, type EventPayload } from './rows/due-deliveries.js';
import { expireDelivery } from './rows/retention.js';

/** Maximum number of events per query. Each event can have up to 256 KiB of data. */
const PAYLOADS_AT_ONCE = 64;

/** Dependencies of `DeliveryAttempts`. */
export interface DeliveryAttemptsParts {
  readonly db: Kysely<Tables>;
  readonly clock: Clock;
  readonly signal: WorkSignal;
  readonly sender: WebhookSender;
  /** Returns the default timeout of an attempt, in milliseconds. */
  readonly timeoutMs: () => number;
}

/** DeliveryAttempts makes the attempts of all lanes, and reads their events in batches. */
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

  /**
   * Attempts a delivery. If its event was deleted, marks the delivery as expired and returns null. Rejects if the
   * database fails or the body cannot be signed.
   */
  async attempt({ delivery, endpoint, keys }: LaneAttempt): Promise<AttemptMade | ResourceShortage | null> {
    const { db, sender, signal, timeoutMs, clock } = this.parts;
    const body = await this.readBody(delivery);
    if (body === undefined) {
      signal.signalEndpoints(await expireDelivery(db, delivery, clock.now()));
      return null;
    }
    if (delivery.attempts === 0 && delivery.cycle === 0) {
      METRICS.webhookFirstAttemptDelay.series().observe(Math.max(0, clock.now() - delivery.createdAt) / 1_000);
    }
    const { url } = endpoint;
    return await sender.sendWebhook({
      url,
      eventId: delivery.eventId,
      body,
      keys,
      timeoutMs: endpoint.timeoutMs ?? timeoutMs(),
    });
  }

  /**
   * Reads the event and builds the body; returns undefined if the event was deleted. This is a separate method, so that
   * the event's data is freed early.
   */
  private async readBody({ eventId }: DueDelivery): Promise<Buffer | undefined> {
    const payload = await this.payloads.add(eventId);
    return payload && payloadOf({ ...payload, occurredAtMs: payload.occurredAt, data: payload.dataText });
  }
}
