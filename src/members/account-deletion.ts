/**
 * Deletes accounts with all their data. One transaction suspends the account, so that its keys stop working, and
 * records the deletion. The data is then deleted in batches. The worker role completes interrupted deletions, and
 * deletes rows that other processes wrote in the meantime.
 */
import { sql, type Kysely, type RawBuilder, type SqlBool, type Transaction } from 'kysely';
import { lockAccount } from '../accounts/accounts.js';
import type { InvalidationBus } from '../keys/api-key.js';
import { parseStrings } from '../keys/api-key-columns.js';
import { addEvents, countOwnEvents, type AddedEvents } from '../outbox/outbox.js';
import type { WorkSignal } from '../outbox/work-signal.js';
import type { Clock } from '../platform/clock.js';
import type { Log } from '../platform/log.js';
import { Problem } from '../platform/problems/errors.js';
import { neverStopped, type IsStopped } from '../platform/repeated-run.js';
import { recordChange, type ChangeContext } from '../records/audit-log.js';
import { parseMetadata } from '../records/external-fields.js';
import type { DatabaseHandle } from '../stores/database/connect.js';
import type { Tables } from '../stores/database/schema.js';
import { deleteAccountInRedis } from '../stores/redis/delete-account.js';
import { deleteMentions } from './account-mentions.js';
import type { MemberErasure } from './member-erasure.js';

const SYSTEM: ChangeContext = { actor: 'system', ip: '', requestId: '' };
/**
 * Grace period of a deletion: one hour. During this period, other processes may still write rows of the account. The
 * webhook endpoints are kept during this period while the `account.deleted` event is being delivered.
 */
const GRACE_MS = 3_600_000;
const ROWS_AT_ONCE = 1_000;
const DELETED_EVENT = 'account.deleted';
/** Account ID of the anonymous usage rows of all deleted accounts. */
const ANONYMOUS = 'deleted';
/**
 * Tables from which the rows of the account are deleted, in this order, because rows may refer to rows of later tables.
 */
const ACCOUNT_TABLES = [
  'member_session',
  'link',
  'account_token',
  'quota_adjustment',
  'quota_counter',
  'usage_in_flight',
  'request_log',
] as const;
/** Tables that the delivery of the `account.deleted` event needs, in the order of deletion. */
const DELIVERY_TABLES = ['webhook_delivery', 'event', 'webhook_endpoint'] as const;
/** Tables with rows of API keys. The database deletes the secrets of a deleted key. */
const KEY_TABLES = ['oauth_object', 'idempotent_request'] as const;

/** AccountDeletionParts are the dependencies of `AccountDeletion`. */
export interface AccountDeletionParts {
  readonly database: DatabaseHandle;
  readonly clock: Clock;
  readonly log: Log;
  /** Notifies all nodes that the account's keys no longer work. */
  readonly bus: InvalidationBus;
  readonly signal: WorkSignal;
  readonly erasure: MemberErasure;
  /** URL of Redis. Undefined if the installation has no Redis. */
  readonly redisUrl: string | undefined;
  /**
   * Reports whether the usage of deleted accounts is kept without account and key IDs (setting
   * `usage.deletedAccounts`).
   */
  readonly keepsUsage: () => boolean;
}

/** AccountDeletion deletes accounts and continues unfinished deletions. */
export class AccountDeletion {
  constructor(private readonly parts: AccountDeletionParts) {}

  /**
   * Deletes an account. Once the promise resolves, the deletion is committed and the account's keys no longer work. If
   * an error interrupts the deletion of data, the worker role continues later. Rejects with `resource_not_found`, also
   * for an account that was already deleted.
   * @param name the name of the account, repeated as a confirmation. Rejects with `conflict` if the name differs.
   */
  async delete(id: string, name: string, context: ChangeContext): Promise<void> {
    const { database, bus, signal, log } = this.parts;
    const added = await database.db.transaction().execute((trx) => this.begin(trx, id, name, context));
    await bus.publish({ type: 'account', accountId: id });
    countOwnEvents(added.events.size);
    signal.signalEndpoints(added.endpointIds);
    try {
      await this.erase(id);
    } catch (error) {
      log.logger.warn(
        { event: 'account_deletion_unfinished', account_id: id, err: error },
        'The worker role deletes the rest of the account within minutes',
      );
    }
  }

  /**
   * Continues all unfinished deletions. The worker role runs this every minute. If deletions fail, tries the remaining
   * accounts, and then rejects with the first error of the database or Redis.
   */
  async continueAll(isStopped: IsStopped = neverStopped): Promise<void> {
    const rows = await this.parts.database.db.selectFrom('account_deletion').select('account_id').execute();
    const errors: unknown[] = [];
    for (const { account_id: id } of rows) {
      // A failed deletion must not block the deletion of other accounts.
      if (!isStopped()) await this.erase(id).catch((error: unknown) => void errors.push(error));
    }
    if (errors.length > 0) throw errors[0];
  }

  private async begin(
    trx: Transaction<Tables>,
    id: string,
    name: string,
    context: ChangeContext,
  ): Promise<AddedEvents> {
    const { database, clock } = this.parts;
    const now = clock.now();
    const row = await lockAccount(trx, database.kind, id);
    if (row.name !== name) {
      const detail = 'must be the name of the account';
      throw new Problem('conflict', {
        detail: 'The name is not that of the account, so nothing was deleted.',
        errors: [{ pointer: '#/name', detail }],
      });
    }
    const texts = await this.readTexts(trx, id, name);
    const keys = await trx.selectFrom('api_key').select('id').where('account_id', '=', id).execute();
    const keyIds = JSON.stringify(keys.map((key) => key.id));
    const deletion = { account_id: id, begun_at: now, key_ids: keyIds, texts };
    await trx.insertInto('account_deletion').values(deletion).execute();
    const times = { updated_at: now, version: row.version + 1 };
    const nameless = {
      status: 'suspended',
      name: '',
      search: '',
      external_id: null,
      metadata: null,
      ...times,
    } as const;
    await trx.updateTable('account').set(nameless).where('id', '=', id).execute();
    // Demote the owners. Otherwise, the last owner of the account could not be erased.
    await trx.updateTable('account_member').set({ role: 'viewer' }).where('account_id', '=', id).execute();
    // Delete the account's invitations and portal links, so that no one can join or open the account any more.
    await trx.deleteFrom('link').where('account_id', '=', id).execute();
    const target = { accountId: id, targetType: 'account', targetId: id, targetVersion: nameless.version } as const;
    await recordChange(trx, context, { ...target, action: DELETED_EVENT, before: null, after: null }, now);
    const { plan, external_id, metadata } = row;
    const account = { id, name, plan, status: nameless.status, external_id, metadata: parseMetadata(metadata) };
    const data = { account, actor: context.actor };
    const event = {
      type: DELETED_EVENT,
      accountId: id,
      data,
      resource: id,
      dedupeKey: `${DELETED_EVENT}:${id}`,
    } as const;
    return addEvents(trx, [event], now);
  }

  /** Returns the name of the account and the email addresses of its members as a JSON array. */
  private async readTexts(trx: Transaction<Tables>, id: string, name: string): Promise<string> {
    const members = await trx
      .selectFrom('account_member')
      .innerJoin('member', 'member.id', 'account_member.member_id')
      .select('member.email')
      .where('account_id', '=', id)
      .execute();
    return JSON.stringify([name, ...members.map(({ email }) => email)]);
  }

  /**
   * Deletes the data that the account has now. Several processes may run this at the same time. The first run after the
   * grace period ends the deletion. On SQLite, the deletion also needs an empty write-ahead log to end.
   */
  private async erase(id: string): Promise<void> {
    const { database, clock, keepsUsage } = this.parts;
    const { db, kind } = database;
    const deletion = await db
      .selectFrom('account_deletion')
      .select(['begun_at', 'key_ids', 'texts'])
      .where('account_id', '=', id)
      .executeTakeFirst();
    if (deletion === undefined) return;
    const isGraceOver = clock.now() - deletion.begun_at >= GRACE_MS;
    if (deletion.texts !== null) await this.eraseTexts(id, deletion.texts);
    await this.eraseMembers(id);
    await this.eraseKeys(id, parseStrings(deletion.key_ids ?? '[]'), isGraceOver);
    const own = sql<SqlBool>`account_id = ${id}`;
    for (const table of ACCOUNT_TABLES) await this.deleteRows(table, own);
    if (keepsUsage()) await this.anonymizeUsage(id);
    else await this.deleteRows('usage_daily', own);
    await this.redactAuditEntries(id);
    await this.eraseDeliveries(id, isGraceOver);
    const isLogEmpty = kind === 'postgres' || (await emptyWriteAheadLog(db));
    if (isGraceOver && isLogEmpty) await db.deleteFrom('account_deletion').where('account_id', '=', id).execute();
  }

  /** Deletes stored responses and notices that mention the account, and then the texts of the deletion itself. */
  private async eraseTexts(id: string, texts: string): Promise<void> {
    const { database } = this.parts;
    await deleteMentions(database, id, parseStrings(texts));
    await database.db.updateTable('account_deletion').set({ texts: null }).where('account_id', '=', id).execute();
  }

  /**
   * Erases members who belong to no other account and are not operators. Other members only lose this membership.
   * Memberships in other accounts that are being deleted do not count. Otherwise, two concurrent deletions would both
   * keep a member of both accounts.
   */
  private async eraseMembers(id: string): Promise<void> {
    const { database, erasure } = this.parts;
    // Someone may have joined as an owner since the deletion began.
    await database.db.updateTable('account_member').set({ role: 'viewer' }).where('account_id', '=', id).execute();
    const members = await database.db
      .selectFrom('account_member')
      .innerJoin('member', 'member.id', 'account_member.member_id')
      .select(({ exists, selectFrom }) => [
        'member.id',
        'member.is_operator',
        exists(
          selectFrom('account_member as other')
            .select('other.account_id')
            .whereRef('other.member_id', '=', 'member.id')
            .where('other.account_id', 'not in', selectFrom('account_deletion').select('account_id')),
        ).as('is_elsewhere'),
      ])
      .where('account_member.account_id', '=', id)
      .execute();
    for (const { id: memberId, is_operator: isOperator, is_elsewhere: isElsewhere } of members) {
      if (isOperator === 0 && !isElsewhere) await erasure.eraseMember(memberId, SYSTEM);
      const membership = database.db.deleteFrom('account_member').where('account_id', '=', id);
      await membership.where('member_id', '=', memberId).execute();
    }
  }

  /**
   * Deletes the account's API keys and the data stored for them. Requests in progress can store more data afterwards,
   * so later runs repeat the deletion. The run searches Redis only if keys still exist, or the grace period is over.
   * @param knownIds IDs of the keys that the account had when its deletion began
   */
  private async eraseKeys(id: string, knownIds: readonly string[], isGraceOver: boolean): Promise<void> {
    const { database, redisUrl, log } = this.parts;
    const { db } = database;
    const rows = await db.selectFrom('api_key').select('id').where('account_id', '=', id).execute();
    const ids = new Set([...knownIds, ...rows.map((row) => row.id)]);
    if (redisUrl !== undefined && (rows.length > 0 || isGraceOver))
      await deleteAccountInRedis(redisUrl, id, ids, log.logger);
    const keys = [...ids];
    for (let at = 0; at < keys.length; at += ROWS_AT_ONCE) {
      const batch = keys.slice(at, at + ROWS_AT_ONCE);
      for (const table of KEY_TABLES) await this.deleteRows(table, sql`api_key_id in (${sql.join(batch)})`);
      await this.deleteRows('api_key', sql`id in (${sql.join(batch)})`);
    }
  }

  /**
   * Adds the account's usage to the anonymous rows of all deleted accounts, and deletes the account's own rows. Each
   * transaction moves one day.
   */
  private async anonymizeUsage(id: string): Promise<void> {
    const { db, kind } = this.parts.database;
    for (let hasMore = true; hasMore;) {
      hasMore = await db.transaction().execute(async (trx) => {
        // Lock the deletion, so that no other process adds the same rows.
        const deletion = trx.selectFrom('account_deletion').select('account_id').where('account_id', '=', id);
        await deletion.$if(kind === 'postgres', (select) => select.forUpdate()).execute();
        const own = trx.selectFrom('usage_daily').select('day').where('account_id', '=', id);
        const next = await own.limit(1).executeTakeFirst();
        if (next === undefined) return false;
        const rows = sql`usage_daily where account_id = ${id} and day = ${next.day}`;
        // Use one statement on PostgreSQL, because another process can add rows between two statements. SQLite cannot
        // delete and insert in one statement, but runs one write transaction at a time.
        const isSingleStatement = kind === 'postgres';
        await sql`
          ${isSingleStatement ? sql`with gone as (delete from ${rows} returning *)` : sql``}
          insert into usage_daily (account_id, day, api_key_id, operation, period, outcome, requests, cost, updated_at)
          select ${sql.lit(ANONYMOUS)}, day, '', operation, period, outcome,
            cast(sum(requests) as bigint), cast(sum(cost) as bigint), max(updated_at)
          from ${isSingleStatement ? sql`gone` : rows}
          group by day, operation, period, outcome
          on conflict (account_id, day, api_key_id, operation, period, outcome) do update set
            requests = usage_daily.requests + excluded.requests, cost = usage_daily.cost + excluded.cost,
            updated_at = excluded.updated_at
        `.execute(trx);
        if (!isSingleStatement) await sql`delete from ${rows}`.execute(trx);
        return true;
      });
    }
  }

  /** Removes names, changed values and IP addresses from the account's audit entries. IDs, actions and times remain. */
  private async redactAuditEntries(id: string): Promise<void> {
    const { db } = this.parts.database;
    const some = sql`select id from audit_entry where account_id = ${id} and
      (before is not null or after is not null or actor_label is not null or ip <> '') limit ${ROWS_AT_ONCE}`;
    const empty = sql`update audit_entry set before = null, after = null, actor_label = null, ip = '' where id in (${some})`;
    await inBatches(db, empty);
  }

  /**
   * Deletes the account's events, webhook deliveries and endpoints, and then the account's row. During the grace
   * period, keeps the `account.deleted` event, the endpoints and the row while a delivery of the event is pending or
   * held.
   */
  private async eraseDeliveries(id: string, isGraceOver: boolean): Promise<void> {
    const { db } = this.parts.database;
    const last = sql`select id from event where account_id = ${id} and type = ${DELETED_EVENT}`;
    const own = sql<SqlBool>`account_id = ${id}`;
    await this.deleteRows('webhook_delivery', sql`${own} and event_id not in (${last})`);
    await this.deleteRows('event', sql`${own} and type <> ${DELETED_EVENT}`);
    const open = db.selectFrom('webhook_delivery').select('id').where('account_id', '=', id);
    if (!isGraceOver && (await open.where('state', 'in', ['pending', 'held']).executeTakeFirst()) !== undefined) return;
    for (const table of DELIVERY_TABLES) await this.deleteRows(table, own);
    await db.deleteFrom('account').where('id', '=', id).execute();
  }

  private async deleteRows(table: keyof Tables, where: RawBuilder<unknown>): Promise<void> {
    const { db, kind } = this.parts.database;
    // The condition appears twice, because a `ctid` is unique only within one partition.
    const row = sql.raw(kind === 'sqlite' ? 'rowid' : 'ctid');
    const some = sql`select ${row} from ${sql.table(table)} where ${where} limit ${ROWS_AT_ONCE}`;
    await inBatches(db, sql`delete from ${sql.table(table)} where ${row} in (${some}) and ${where}`);
  }
}

/**
 * Empties the write-ahead log of SQLite, which still contains deleted rows. Returns false if a reader prevents emptying
 * the log.
 */
async function emptyWriteAheadLog(db: Kysely<Tables>): Promise<boolean> {
  const { rows } = await sql<{ busy: number }>`pragma wal_checkpoint(truncate)`.execute(db);
  return rows[0]?.busy === 0;
}

/** Repeats a statement that changes at most about `ROWS_AT_ONCE` rows, until the statement changes fewer rows. */
async function inBatches(db: Kysely<Tables>, statement: RawBuilder<unknown>): Promise<void> {
  for (let changed = ROWS_AT_ONCE; changed >= ROWS_AT_ONCE;) {
    changed = Number((await statement.execute(db)).numAffectedRows ?? 0n);
  }
}
