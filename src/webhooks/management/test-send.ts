/**
 * Sends a test event to an endpoint, even if the endpoint is paused. This process makes the single signed attempt, not
 * the workers. The test is stored as a delivery that can be viewed and replayed.
 */
import { recordChange, type ChangeContext } from '../../records/audit-log.js';
import type { DatabaseHandle } from '../../stores/database/connect.js';
import { newId } from '../../stores/database/ids.js';
import type { WebhookAttemptTable, WebhookDeliveryTable } from '../../stores/database/tables/webhook-tables.js';
import { retryAfterOf, Throttle } from '../../quota/throttle.js';
import { THROTTLES, type ThrottleRow } from '../../quota/model/throttle-rows.js';
import type { ThrottleVerdict, ThrottleWindows } from '../../quota/throttle-windows.js';
import type { Clock } from '../../platform/clock.js';
import { Problem } from '../../platform/problems/errors.js';
import { DELIVERY_RETENTION_MS } from '../../outbox/fan-out.js';
import type { WebhookEndpoint } from '../endpoints/endpoint-rows.js';
import type { EventCatalogue, PublishedEventType } from '../../outbox/event-catalogue.js';
import { TEST_EVENT, TEST_SOURCE } from '../../outbox/own-events.js';
import { type AttemptMade, payloadOf, type WebhookSender } from '../sending/attempt.js';
import type { WebhookSecrets } from '../signing/secret-store.js';

/** Dependencies of `TestSend`. */
export interface TestSendParts {
  readonly database: DatabaseHandle;
  readonly clock: Clock;
  readonly secrets: WebhookSecrets;
  readonly catalogue: EventCatalogue;
  readonly sender: WebhookSender;
  readonly throttles: ThrottleWindows;
  /** Returns the default timeout of an attempt, in milliseconds. */
  readonly timeoutMs: () => number;
}

/** Maximum number of concurrent tests per process. Each test occupies a connection while someone waits. */
const MAX_TESTS = 20;

/** TestSend sends test events from this process, and limits them per endpoint and per account. */
export class TestSend {
  /** Number of tests in progress. */
  private inProgress = 0;
  private readonly endpointThrottle: Throttle;
  private readonly accountThrottle: Throttle;

  constructor(private readonly parts: TestSendParts) {
    this.endpointThrottle = new Throttle(parts.throttles, THROTTLES.webhookTestsOfEndpoint);
    this.accountThrottle = new Throttle(parts.throttles, THROTTLES.webhookTestsOfAccount);
  }

  /**
   * Sends a test event. Rejects with `too_many_requests` if the endpoint or its account exceeds its limit per minute,
   * or if this process has too many tests in progress. Rejects with `validation_failed` for an unknown type.
   * @param type event type; undefined for the standard test event.
   * @returns the ID of the delivery, whose attempt has ended.
   */
  async send(endpoint: WebhookEndpoint, type: string | undefined, context: ChangeContext): Promise<string> {
    const published = this.typeOf(type);
    if (this.inProgress >= MAX_TESTS) {
      const detail = 'Too many tests are in progress. Try again in a few seconds.';
      throw new Problem('too_many_requests', { detail, headers: ['Retry-After', '5'] });
    }
    this.inProgress += 1;
    try {
      await this.enforceLimits(endpoint);
      return await this.attempt(endpoint, published, context);
    } finally {
      this.inProgress -= 1;
    }
  }

  /**
   * Enforces the rate limits, to prevent abuse. A test can send a request to any public address, and shows the
   * response.
   */
  private async enforceLimits({ id, accountId }: WebhookEndpoint): Promise<void> {
    const ofAccount = await this.accountThrottle.countHit(accountId);
    if (!ofAccount.admitted) throw tooMany('The account', THROTTLES.webhookTestsOfAccount, ofAccount);
    const ofEndpoint = await this.endpointThrottle.countHit(id);
    if (ofEndpoint.admitted) return;
    await this.accountThrottle.refund(accountId, ofAccount);
    throw tooMany('The endpoint', THROTTLES.webhookTestsOfEndpoint, ofEndpoint);
  }

  private typeOf(name = TEST_EVENT): PublishedEventType {
    const type = this.parts.catalogue.type(name);
    if (type !== undefined) return type;
    const errors = [{ pointer: '#/type', detail: 'is not an event type. See the list of event types' }];
    throw new Problem('validation_failed', { detail: 'Some fields are not valid.', errors });
  }

  /** Makes and records the attempt. Rejects with `gateway_overloaded` if no attempt was possible. */
  private async attempt(
    endpoint: WebhookEndpoint,
    { type, example }: PublishedEventType,
    context: ChangeContext,
  ): Promise<string> {
    const { clock, secrets, sender, timeoutMs } = this.parts;
    const now = clock.now();
    const keys = await secrets.signingKeys(endpoint.id, now);
    const delivery = newDelivery(endpoint, now);
    const data = JSON.stringify(example ?? {});
    await this.recordStart(delivery, type, data, context);
    const sent = { id: delivery.event_id, type, accountId: endpoint.accountId, occurredAtMs: now, data };
    const made = await sender.sendWebhook({
      url: endpoint.url,
      eventId: delivery.event_id,
      body: payloadOf(sent),
      keys,
      timeoutMs: endpoint.timeoutMs ?? timeoutMs(),
    });
    if ('shortOf' in made) {
      throw new Problem('gateway_overloaded', {
        detail: 'The gateway has no free connection for a test. Try again shortly.',
      });
    }
    await this.recordResult(delivery, made);
    return delivery.id;
  }

  /** Records the test before the attempt, so that every test has an audit entry. */
  private async recordStart(delivery: WebhookDeliveryTable, type: string, data: string, context: ChangeContext) {
    const { database } = this.parts;
    const { event_id: id, account_id: accountId, endpoint_id: endpointId, created_at: now } = delivery;
    const event = {
      id,
      account_id: accountId,
      type,
      data,
      dedupe_key: `${TEST_SOURCE}:${delivery.id}`,
      source: TEST_SOURCE,
      resource: null,
      occurred_at: now,
      fingerprint: null,
      created_at: now,
      keep_until: delivery.keep_until,
    };
    await database.db.transaction().execute(async (trx) => {
      await trx.insertInto('event').values(event).execute();
      await trx.insertInto('webhook_delivery').values(delivery).execute();
      const target = { accountId, targetType: 'webhook_endpoint', targetId: endpointId } as const;
      const change = {
        action: 'webhook_endpoint.tested',
        before: null,
        after: { type, delivery_id: delivery.id },
      } as const;
      await recordChange(trx, context, { ...target, ...change }, now);
    });
  }

  private async recordResult(delivery: WebhookDeliveryTable, made: AttemptMade): Promise<void> {
    const { database, clock } = this.parts;
    const attempt: WebhookAttemptTable = {
      id: newId('wha', made.atMs),
      delivery_id: delivery.id,
      number: 1,
      cycle: 0,
      at: made.atMs,
      status_code: made.statusCode,
      duration_ms: made.durationMs,
      error: made.error,
      address: made.address,
      response_body: made.responseBody,
    };
    const hasSucceeded = made.outcome === 'succeeded';
    const reason = made.outcome === 'gone' || made.outcome === 'aborted' ? made.outcome : ('exhausted' as const);
    await database.db.transaction().execute(async (trx) => {
      await trx.insertInto('webhook_attempt').values(attempt).execute();
      await trx
        .updateTable('webhook_delivery')
        .set({ attempts: 1, updated_at: clock.now() })
        .set(hasSucceeded ? { state: 'succeeded', reason: null } : { state: 'failed', reason })
        .where('id', '=', delivery.id)
        // Don't change the delivery if it was replayed meanwhile.
        .where('cycle', '=', 0)
        .execute();
    });
  }
}

function tooMany(whose: string, { limit }: ThrottleRow, verdict: ThrottleVerdict): Problem {
  const seconds = String(retryAfterOf(verdict));
  const detail = `${whose} can have ${limit} tests a minute. Wait ${seconds} seconds.`;
  return new Problem('too_many_requests', { detail, headers: ['Retry-After', seconds] });
}

/** Creates the delivery in its state before the attempt. Workers ignore the delivery, because its state is `failed`. */
function newDelivery(endpoint: WebhookEndpoint, nowMs: number): WebhookDeliveryTable {
  return {
    id: newId('whd', nowMs),
    event_id: newId('evt', nowMs),
    endpoint_id: endpoint.id,
    account_id: endpoint.accountId,
    state: 'failed',
    reason: 'exhausted',
    resource: null,
    due_at: nowMs,
    attempts: 0,
    cycle: 0,
    kind: 'test',
    created_at: nowMs,
    updated_at: nowMs,
    keep_until: nowMs + DELIVERY_RETENTION_MS,
  };
}
