/**
 * Adds webhook events for changes of keys and accounts. An event is written in the transaction of its change. The
 * webhook workers are notified after the commit.
 */
import type { Kysely, Transaction } from 'kysely';
import type { AccountTable, ApiKeyTable, Tables } from '../stores/database/schema.js';
import type { WorkSignal } from '../outbox/work-signal.js';
import type { NewEvent } from '../outbox/event-types.js';
import type { EventType } from '../outbox/own-events.js';
import { addEvents, countOwnEvents, type AddedEvents } from '../outbox/outbox.js';
import { parseMetadata } from '../records/external-fields.js';
import { settingsOf } from './api-key-fields.js';
import { formatTimestamp } from './api-key-rows.js';

/** Audit log actions on keys that are also event types. */
const KEY_EVENTS = [
  'api_key.created',
  'api_key.rotated',
  'api_key.previous_secret_ended',
  'api_key.paused',
  'api_key.resumed',
  'api_key.revoked',
] as const satisfies readonly EventType[];

type KeyEvent = (typeof KEY_EVENTS)[number] | 'api_key.expiring';

/** ChangeEvents adds the events of changes, and notifies webhook workers after the commit. */
export class ChangeEvents {
  /** Events that were added but not yet committed, by the changed row. */
  private readonly uncommitted = new WeakMap<object, AddedEvents>();

  constructor(private readonly signal: WorkSignal | undefined) {}

  /**
   * Adds the event of a change to a key, if the action has an event.
   * @param isExposed whether the secret was sent in clear text, which becomes the reason in the event
   */
  async addKeyChange(
    trx: Transaction<Tables>,
    row: ApiKeyTable,
    action: string,
    actor: string,
    isExposed: boolean,
  ): Promise<void> {
    const type = KEY_EVENTS.find((each) => each === action);
    if (type === undefined) return;
    const event = keyEvent(row, type, actor, row.version);
    const data = isExposed ? { ...event.data, reason: 'exposed' as const } : event.data;
    await this.add(trx, row, { ...event, data }, row.updated_at);
  }

  /** Adds an event if the change suspends or reactivates the account. */
  async addAccountChange(
    trx: Transaction<Tables>,
    before: AccountTable,
    after: AccountTable,
    actor: string,
  ): Promise<void> {
    if (before.status === after.status) return;
    const { id, name, plan, status, external_id, metadata } = after;
    const type = status === 'suspended' ? 'account.suspended' : 'account.reactivated';
    const data = { account: { id, name, plan, status, external_id, metadata: parseMetadata(metadata) }, actor };
    const event = { type, accountId: id, data, resource: id, dedupeKey: `${type}:${id}:${after.version}` } as const;
    await this.add(trx, after, event, after.updated_at);
  }

  /** Notifies webhook workers of the event of a changed row. Call it after the commit. */
  notifyCommitted(row: object): void {
    const added = this.uncommitted.get(row);
    if (added === undefined) return;
    this.uncommitted.delete(row);
    countOwnEvents(added.events.size);
    this.signal?.signalEndpoints(added.endpointIds);
  }

  private async add(trx: Transaction<Tables>, row: object, event: NewEvent, nowMs: number): Promise<void> {
    this.uncommitted.set(row, await addEvents(trx, [event], nowMs));
  }
}

/**
 * Creates an event of a key.
 * @param occasion distinguishes events of the same type for deduplication
 */
function keyEvent(row: ApiKeyTable, type: KeyEvent, actor: string, occasion: number | string): NewEvent<KeyEvent> {
  const { id, account_id: accountId, hint, status } = row;
  const { name, scopes, environment, external_id, metadata } = settingsOf(row);
  const key = {
    id,
    name,
    scopes,
    environment,
    hint,
    status,
    external_id,
    metadata,
    expires_at: formatTimestamp(row.expires_at),
  };
  return { type, accountId, data: { api_key: key, actor }, resource: id, dedupeKey: `${type}:${id}:${occasion}` };
}

/** Numbers of days before a key's expiration at which an event is added. */
const NOTICE_DAYS = [7, 1] as const;
const DAY_MS = 86_400_000;
const KEYS_AT_ONCE = 500;

/**
 * Adds an event for each key that expires within seven days. Adds another event if the key expires within one day.
 * Skips a notice if the whole lifetime of the key is not longer than the notice period. Repeated calls add no
 * duplicates.
 */
export async function addExpiringKeys(db: Kysely<Tables>, signal: WorkSignal, nowMs: number): Promise<void> {
  const [longest] = NOTICE_DAYS;
  for (let after = ''; ;) {
    const rows = await db
      .selectFrom('api_key')
      .selectAll()
      .where('id', '>', after)
      .where('status', '<>', 'revoked')
      .where('expires_at', '>', nowMs)
      .where('expires_at', '<=', nowMs + longest * DAY_MS)
      .orderBy('id')
      .limit(KEYS_AT_ONCE)
      .execute();
    const events = rows.flatMap((row) => {
      const end = row.expires_at ?? 0;
      const days = NOTICE_DAYS.findLast((each) => end - nowMs <= each * DAY_MS) ?? longest;
      if (end - row.created_at <= days * DAY_MS) return [];
      return [keyEvent(row, 'api_key.expiring', 'system', `${end}:${days}`)];
    });
    const added = await addEvents(db, events, nowMs);
    countOwnEvents(added.events.size);
    signal.signalEndpoints(added.endpointIds);
    if (rows.length < KEYS_AT_ONCE) return;
    after = rows.at(-1)?.id ?? '';
  }
}
