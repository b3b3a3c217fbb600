/**
 * Manages webhook endpoints for the admin API. Each change and its audit entry are written in one transaction. After a
 * change of an existing endpoint is committed, the workers are notified.
 */
import { sql, type Transaction } from 'kysely';
import { lockAccount } from '../../accounts/accounts.js';
import type { AccessChanges } from '../../records/access-changes.js';
import type { AuditAction } from '../../records/audit-actions.js';
import { changedFields, recordChange, type AuditedFields, type ChangeContext } from '../../records/audit-log.js';
import { checkVersion, type ExpectedVersions } from '../../records/versions.js';
import type { DatabaseHandle } from '../../stores/database/connect.js';
import { decodeCursor, pageOf, type Page, type PageRequest } from '../../stores/database/cursor.js';
import { newId } from '../../stores/database/ids.js';
import type { Tables } from '../../stores/database/schema.js';
import type { WebhookEndpointTable } from '../../stores/database/tables/webhook-tables.js';
import type { Clock } from '../../platform/clock.js';
import { Problem } from '../../platform/problems/errors.js';
import { addLane, deactivateLane, wakeLanes } from '../../outbox/lane-rows.js';
import { lockLanes } from '../deliveries/rows/order.js';
import type { WorkSignal } from '../../outbox/work-signal.js';
import { parseWebhookSecret } from '../signing/webhook-secret.js';
import type { WebhookSecrets } from '../signing/secret-store.js';
import { changedEndpoint, statusAction } from './endpoint-change.js';
import type { CreateWebhookEndpoint, RotateWebhookSecret, UpdateWebhookEndpoint } from './endpoint-fields.js';
import type { EndpointRules } from './endpoint-rules.js';
import {
  auditedEndpoint,
  changeableFields,
  lockWebhookEndpoint,
  webhookEndpointNotFound,
  webhookEndpointOf,
  type WebhookEndpoint,
} from './endpoint-rows.js';
import { endOpenDeliveries, makeDueNow, releaseHeldDeliveries, type DeliverySpan } from './open-deliveries.js';

/** Dependencies of `WebhookEndpoints`. */
export interface WebhookEndpointsDependencies {
  readonly database: DatabaseHandle;
  readonly clock: Clock;
  readonly secrets: WebhookSecrets;
  readonly signal: WorkSignal;
  readonly rules: EndpointRules;
}

/** An endpoint with its new secret. The plain secret is never available again. */
export interface WebhookEndpointWithSecret {
  readonly endpoint: WebhookEndpoint;
  readonly secret: string;
}

/** The actor of a change, and the conditions for it. */
export interface EndpointChange {
  readonly context: ChangeContext;
  /** Versions of the endpoint that may be changed; undefined for any. */
  readonly expected?: ExpectedVersions;
  /** Whether the actor has the permissions of an operator, such as for disabling an endpoint. */
  readonly isOperator: boolean;
}

const MS_PER_SECOND = 1_000;

/**
 * WebhookEndpoints creates, reads, changes and deletes webhook endpoints. All methods reject with a `Problem` for
 * faults of the caller, or with the database's error.
 */
export class WebhookEndpoints {
  constructor(private readonly deps: WebhookEndpointsDependencies) {}

  /** Creates an endpoint and its secret. Rejects with `too_many_endpoints` if the account has reached its limit. */
  async create(
    accountId: string,
    input: CreateWebhookEndpoint,
    context: ChangeContext,
  ): Promise<WebhookEndpointWithSecret> {
    const { database, clock, secrets, rules } = this.deps;
    rules.check({ url: input.url, eventTypes: input.event_types });
    secrets.check();
    const now = clock.now();
    const row = newRow(accountId, input, now);
    const secret = await database.db.transaction().execute(async (trx) => {
      await lockAccount(trx, database.kind, accountId);
      await this.checkEndpointLimit(trx, accountId);
      await trx.insertInto('webhook_endpoint').values(row).execute();
      await addLane(trx, row.id);
      const plain = await secrets.add(trx, row.id, suppliedSecret(input.secret), now);
      await record(trx, context, row, 'webhook_endpoint.created', { before: null, after: changeableFields(row) });
      return plain;
    });
    return { endpoint: webhookEndpointOf(row), secret };
  }

  /** Reads an endpoint. Rejects with `resource_not_found`. */
  async get(id: string): Promise<WebhookEndpoint> {
    const query = this.deps.database.db.selectFrom('webhook_endpoint').selectAll().where('id', '=', id);
    const row = await query.where('deleted_at', 'is', null).executeTakeFirst();
    return webhookEndpointOf(row ?? webhookEndpointNotFound());
  }

  /** Lists the endpoints of an account in order of creation. */
  async list(accountId: string, { limit, cursor }: PageRequest): Promise<Page<WebhookEndpoint>> {
    const list = `webhook-endpoints:${accountId}`;
    let query = this.deps.database.db
      .selectFrom('webhook_endpoint')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('deleted_at', 'is', null);
    if (cursor !== undefined) query = query.where('id', '>', decodeCursor(list, cursor));
    const rows = await query
      .orderBy('id')
      .limit(limit + 1)
      .execute();
    return pageOf(list, limit, rows, webhookEndpointOf);
  }

  /** Changes the given fields. Waiting deliveries are sent to the new URL. A change without effect is not recorded. */
  async update(id: string, changes: UpdateWebhookEndpoint, change: EndpointChange): Promise<WebhookEndpoint> {
    const { database, clock, rules, signal } = this.deps;
    const before = await this.get(id);
    if (changes.deliver !== undefined && changes.status !== 'enabled') {
      throw new Problem('conflict', {
        detail: '`deliver` requires `status` to become `enabled`. Send both.',
      });
    }
    rules.check({ url: changes.url, eventTypes: changes.event_types, known: before.eventTypes });
    const isEnabling = changes.status === 'enabled' && before.status !== 'enabled';
    if (isEnabling) {
      // End unwanted deliveries before the endpoint is enabled. No worker attempts them yet.
      await database.db.transaction().execute((trx) => this.lockAndCheck(trx, id, changes, change));
      await this.prepareWaiting(id, changes);
    }
    const row = await database.db.transaction().execute(async (trx) => {
      const locked = await this.lockAndCheck(trx, id, changes, change);
      return this.updateIn(trx, locked, changes, change.context);
    });
    if (changes.ordered === false) await releaseHeldDeliveries(database.db, id, clock.now());
    if (!isEnabling && row.status === 'enabled' && row.url !== before.url) await this.makeWaitingDue(id);
    signal.tellChanged([id]);
    return webhookEndpointOf(row);
  }

  /** Adds a new secret. Webhooks are also signed with the previous secrets until the overlap ends. */
  async rotateSecret(
    id: string,
    input: RotateWebhookSecret,
    { context, expected }: Pick<EndpointChange, 'context' | 'expected'>,
  ): Promise<WebhookEndpointWithSecret> {
    const { database, clock, secrets, signal } = this.deps;
    secrets.check();
    const now = clock.now();
    const rotation = {
      suppliedSecret: suppliedSecret(input.secret),
      overlapMs: input.overlap_seconds * MS_PER_SECOND,
      endsPrevious: input.end_previous_secret,
    };
    const rotated = await database.db.transaction().execute(async (trx) => {
      const before = await lockWebhookEndpoint(trx, id);
      await checkVersion(trx, before, expected, await timeZoneOf(trx, before));
      const secret = await secrets.rotate(trx, id, rotation, now);
      const row = { ...before, updated_at: now, version: before.version + 1 };
      await trx
        .updateTable('webhook_endpoint')
        .set({ updated_at: now, version: row.version })
        .where('id', '=', id)
        .execute();
      const after = { previous_secrets_expire_at: new Date(now + rotation.overlapMs).toISOString() };
      await record(trx, context, row, 'webhook_endpoint.secret_rotated', { before: null, after });
      return { endpoint: webhookEndpointOf(row), secret };
    });
    // A receiver that rejected the signature may accept it now. But if only the new secret signs and the receiver
    // cannot know it yet, early retries would fail.
    const isVerifiable = rotation.overlapMs > 0 || rotation.suppliedSecret !== null;
    if (rotated.endpoint.status === 'enabled' && isVerifiable) await this.makeWaitingDue(id);
    signal.tellChanged([id]);
    return rotated;
  }

  /** Ends the previous secrets, so that only the current secret signs. No effect without previous secrets. */
  async endPreviousSecret(
    id: string,
    { context, expected }: Pick<EndpointChange, 'context' | 'expected'>,
  ): Promise<WebhookEndpoint> {
    const { database, clock, secrets, signal } = this.deps;
    const now = clock.now();
    const row = await database.db.transaction().execute(async (trx) => {
      const before = await lockWebhookEndpoint(trx, id);
      const end = await secrets.endPrevious(trx, id, now);
      if (end === null) return before;
      await checkVersion(trx, before, expected, await timeZoneOf(trx, before));
      const change = { updated_at: now, version: before.version + 1 };
      await trx.updateTable('webhook_endpoint').set(change).where('id', '=', id).execute();
      const after = { ...before, ...change };
      await record(trx, context, after, 'webhook_endpoint.previous_secret_ended', {
        before: { previous_secrets_expire_at: new Date(end).toISOString() },
        after: { previous_secrets_expire_at: null },
      });
      return after;
    });
    signal.tellChanged([id]);
    return webhookEndpointOf(row);
  }

  /**
   * Deletes the endpoint and its secrets, and ends its open deliveries. All deliveries stay visible until their
   * retention ends.
   */
  async delete(id: string, { context, expected }: Pick<EndpointChange, 'context' | 'expected'>): Promise<void> {
    const { database, clock, signal } = this.deps;
    const now = clock.now();
    await database.db.transaction().execute(async (trx) => {
      const before = await lockWebhookEndpoint(trx, id);
      await checkVersion(trx, before, expected, await timeZoneOf(trx, before));
      const row = { ...before, deleted_at: now, updated_at: now, version: before.version + 1 };
      await trx.updateTable('webhook_endpoint').set(row).where('id', '=', id).execute();
      await trx.deleteFrom('webhook_lane').where('endpoint_id', '=', id).execute();
      await trx.deleteFrom('webhook_secret').where('endpoint_id', '=', id).execute();
      await record(trx, context, row, 'webhook_endpoint.deleted', { before: changeableFields(before), after: null });
    });
    signal.tellChanged([id]);
    await endOpenDeliveries(database.db, id, 'endpoint_deleted', now);
  }

  /** @throws Problem `too_many_endpoints` if the account has reached its limit. */
  private async checkEndpointLimit(trx: Transaction<Tables>, accountId: string): Promise<void> {
    const { maxEndpoints } = this.deps.rules;
    const { count } = await trx
      .selectFrom('webhook_endpoint')
      .select(sql<number>`count(*)`.as('count'))
      .where('account_id', '=', accountId)
      .where('deleted_at', 'is', null)
      .executeTakeFirstOrThrow();
    if (Number(count) < maxEndpoints) return;
    const detail = `The account has ${count} webhook endpoints, which is the maximum. Delete one first.`;
    throw new Problem('too_many_endpoints', { detail });
  }

  /** Locks the row, checks that the change is permitted, and returns the row before the change. */
  private async lockAndCheck(
    trx: Transaction<Tables>,
    id: string,
    changes: UpdateWebhookEndpoint,
    { context, expected, isOperator }: EndpointChange,
  ): Promise<WebhookEndpointTable> {
    const before = await lockWebhookEndpoint(trx, id);
    const isOperators = changes.status === 'disabled' || before.disabled_reason === 'operator';
    if (isOperators && !isOperator && changes.status !== undefined && changes.status !== before.status) {
      const what =
        changes.status === 'disabled'
          ? 'disable an endpoint. Pause it instead'
          : 'enable an endpoint that an operator disabled';
      throw new Problem('forbidden', { detail: `Only operators may ${what}.`, requiredRoles: ['operator'] });
    }
    const after = changedEndpoint(before, changes, this.deps.clock.now());
    // A change without effect cannot conflict.
    if (changedFields(changeableFields(before), changeableFields(after)) === null) return before;
    await checkVersion(trx, before, expected, await timeZoneOf(trx, before));
    context.authorize?.('webhook_endpoint', accessOf(before), accessOf(after));
    return before;
  }

  /**
   * Writes a change with its audit entry, and wakes or deactivates the lane. Returns the row after the change. Writes
   * nothing for a change without effect.
   */
  private async updateIn(
    trx: Transaction<Tables>,
    before: WebhookEndpointTable,
    changes: UpdateWebhookEndpoint,
    context: ChangeContext,
  ): Promise<WebhookEndpointTable> {
    const now = this.deps.clock.now();
    const after = changedEndpoint(before, changes, now);
    const difference = changedFields(changeableFields(before), changeableFields(after));
    if (difference === null) return before;
    // `holdBlocked` uses the same lock when it reads `ordered`.
    if (after.ordered !== before.ordered) await lockLanes(trx, [before.id]);
    await trx.updateTable('webhook_endpoint').set(after).where('id', '=', before.id).execute();
    await record(trx, context, after, statusAction(before, after), difference);
    if (after.status === 'enabled') await wakeLanes(trx, [after.id], now);
    else await deactivateLane(trx, after.id);
    return after;
  }

  /** Ends the waiting deliveries that the user did not select (`deliver`), and makes all others due. */
  private async prepareWaiting(id: string, { deliver = 'all' }: UpdateWebhookEndpoint): Promise<void> {
    const { database, clock } = this.deps;
    const now = clock.now();
    const span: DeliverySpan | undefined =
      typeof deliver === 'object'
        ? { sinceMs: Date.parse(deliver.since), untilMs: deliver.until === undefined ? now : Date.parse(deliver.until) }
        : undefined;
    if (deliver !== 'all') await endOpenDeliveries(database.db, id, 'skipped', now, span);
    await releaseHeldDeliveries(database.db, id, now);
    await makeDueNow(database.db, id, now);
  }

  /**
   * Makes waiting deliveries due. Never rejects, because the preceding change is committed, and its response may
   * contain the only copy of a secret. After a failure, the deliveries keep their schedule.
   */
  private async makeWaitingDue(id: string): Promise<void> {
    const { database, clock } = this.deps;
    const now = clock.now();
    try {
      await makeDueNow(database.db, id, now);
      await database.db.transaction().execute((trx) => wakeLanes(trx, [id], now));
    } catch {
      // The deliveries keep their schedule.
    }
  }
}

function newRow(accountId: string, input: CreateWebhookEndpoint, nowMs: number): WebhookEndpointTable {
  return {
    id: newId('whe', nowMs),
    account_id: accountId,
    url: input.url,
    description: input.description,
    event_types: JSON.stringify(input.event_types),
    retry_schedule: input.retry_schedule === null ? null : JSON.stringify(input.retry_schedule),
    ordered: input.ordered ? 1 : 0,
    rate_per_second: input.rate_per_second,
    concurrency: input.concurrency,
    timeout_ms: input.timeout_ms,
    status: 'enabled',
    disabled_reason: null,
    status_changed_at: nowMs,
    url_set_at: nowMs,
    failing_since: null,
    failures: 0,
    last_success_at: null,
    version: 1,
    created_at: nowMs,
    updated_at: nowMs,
    deleted_at: null,
  };
}

/** Returns the properties of an endpoint on which the permission for a change depends. */
function accessOf({ status, url, event_types: eventTypes }: WebhookEndpointTable): AccessChanges['webhook_endpoint'] {
  return { isEnabled: status === 'enabled', url, eventTypes: JSON.parse(eventTypes) as string[] };
}

/** Returns the secret that the caller supplied, or null to generate one. */
function suppliedSecret(text: string | undefined): Buffer | null {
  return text === undefined ? null : parseWebhookSecret(text);
}

async function timeZoneOf(trx: Transaction<Tables>, { account_id: id }: WebhookEndpointTable): Promise<string> {
  const account = trx.selectFrom('account').select('time_zone').where('id', '=', id);
  return (await account.executeTakeFirst())?.time_zone ?? 'UTC';
}

/** Writes the audit entry of a change. */
function record(
  trx: Transaction<Tables>,
  context: ChangeContext,
  row: WebhookEndpointTable,
  action: AuditAction,
  { before, after }: { readonly before: AuditedFields | null; readonly after: AuditedFields | null },
): Promise<void> {
  const target = { accountId: row.account_id, targetType: 'webhook_endpoint', targetId: row.id } as const;
  const change = { before: before && auditedEndpoint(before), after: after && auditedEndpoint(after) };
  return recordChange(trx, context, { ...target, action, targetVersion: row.version, ...change }, row.updated_at);
}
