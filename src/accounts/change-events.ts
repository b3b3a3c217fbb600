/**
 * Events of what is changed about keys and accounts: each stands in the transaction of its change, beside the audit
 * entry. Whoever delivers is told when the change has committed.
 */
import type { Kysely, Transaction } from 'kysely';
import type { AccountTable, ApiKeyTable, Tables } from '../stores/database/schema.js';
import type { WorkSignal } from '../outbox/work-signal.js';
import type { NewEvent } from '../outbox/event-types.js';
import type { EventType } from '../outbox/own-events.js';
import { addEvents, countOwnEvents, type AddedEvents } from '../outbox/outbox.js';
import { parseStrings } from '../keys/api-key-columns.js';
import { timestamp } from './api-key-rows.js';

/** The actions of the audit log that are events as well. */
const KEY_EVENTS = [
  'api_key.created',
  'api_key.rotated',
  'api_key.previous_secret_ended',
  'api_key.paused',
  'api_key.resumed',
  'api_key.revoked',
] as const satisfies readonly EventType[];

type KeyEvent = (typeof KEY_EVENTS)[number] | 'api_key.expiring';

/** ChangeEvents adds events of changes, and tells of them when they are there for good. */
export class ChangeEvents {
  /** By the row that a change has made. */
  private readonly toTell = new WeakMap<object, AddedEvents>();

  constructor(private readonly signal: WorkSignal | undefined) {}

  /** Adds the event of a change to a key, where the action is one. @param isExposed whether that is why. */
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

  /** Adds the event of an account's new status, where it has one. */
  async addAccountChange(
    trx: Transaction<Tables>,
    before: AccountTable,
    after: AccountTable,
    actor: string,
  ): Promise<void> {
    if (before.status === after.status) return;
    const { id, name, plan, status } = after;
    const type = status === 'suspended' ? 'account.suspended' : 'account.reactivated';
    const data = { account: { id, name, plan, status }, actor };
    const event = { type, accountId: id, data, resource: id, dedupeKey: `${type}:${id}:${after.version}` } as const;
    await this.add(trx, after, event, after.updated_at);
  }

  /** Call it when the transaction that has made the row has committed. */
  committed(row: object): void {
    const added = this.toTell.get(row);
    if (added === undefined) return;
    this.toTell.delete(row);
    countOwnEvents(added.events.size);
    this.signal?.tell(added.endpointIds);
  }

  private async add(trx: Transaction<Tables>, row: object, event: NewEvent, nowMs: number): Promise<void> {
    this.toTell.set(row, await addEvents(trx, [event], nowMs));
  }
}

/** The event of a key. @param occasion which of those of its type it is. */
function keyEvent(row: ApiKeyTable, type: KeyEvent, actor: string, occasion: number | string): NewEvent<KeyEvent> {
  const { id, account_id: accountId, name, environment, hint, status } = row;
  const scopes = parseStrings(row.scopes);
  const key = { id, name, scopes, environment, hint, status, expires_at: timestamp(row.expires_at) };
  return { type, accountId, data: { api_key: key, actor }, resource: id, dedupeKey: `${type}:${id}:${occasion}` };
}

/** Days before its end at which the account of a key is told of it. */
const NOTICE_DAYS = [7, 1] as const;
const DAY_MS = 86_400_000;
const KEYS_AT_ONCE = 500;

/**
 * Adds the events of keys that end within the week, and within the day; each once for each end. A key that was made to
 * end so soon is told of when the next of them comes.
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
    signal.tell(added.endpointIds);
    if (rows.length < KEYS_AT_ONCE) return;
    after = rows.at(-1)?.id ?? '';
  }
}
