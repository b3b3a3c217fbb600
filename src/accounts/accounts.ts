/**
 * Stores accounts. Each change adds an audit entry in its transaction. After an update, all nodes are notified, because
 * they cache the accounts of keys.
 */
import type { Kysely, Transaction } from 'kysely';
import type { Clock } from '../platform/clock.js';
import type { DatabaseHandle } from '../stores/database/connect.js';
import type { Page } from '../stores/database/cursor.js';
import { newId } from '../stores/database/ids.js';
import { searchText } from '../stores/database/search/search-text.js';
import type { AccountTable, Tables } from '../stores/database/schema.js';
import type { WorkSignal } from '../outbox/work-signal.js';
import { Problem } from '../platform/problems/errors.js';
import type { MonthGrant } from '../quota/model/effective-limits.js';
import type { CreateAccount, UpdateAccount } from '../records/account-fields.js';
import { metadataJson, parseMetadata, writeUnique, type Metadata } from '../records/external-fields.js';
import { pageOfAccounts, type AccountQuery, type VisibleAccounts } from './account-list.js';
import { limitsInForce, type AccessChanges } from '../records/access-changes.js';
import type { InvalidationBus } from '../keys/api-key.js';
import { changedFields, recordChange, type AuditedFields, type ChangeContext } from '../records/audit-log.js';
import type { Catalogue } from './catalogue.js';
import { ChangeEvents } from './change-events.js';
import { checkVersion, type ExpectedVersions } from '../records/versions.js';

export interface Account {
  readonly id: string;
  readonly name: string;
  readonly plan: string;
  readonly timeZone: string;
  readonly billingDay: number;
  readonly status: 'active' | 'suspended';
  /** Requests granted in addition to the monthly limit, and the month of the grant. */
  readonly grant: MonthGrant;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Version for `If-Match`. Every update increments the version. Quota grants leave the version unchanged. */
  readonly version: number;
  readonly externalId: string | null;
  readonly metadata: Metadata;
}

/** StoreDependencies are the dependencies of the stores in `src/accounts`. */
export interface StoreDependencies {
  readonly database: DatabaseHandle;
  readonly clock: Clock;
  readonly bus: InvalidationBus;
  readonly catalogue: Catalogue;
  /** Notifies the webhook workers of endpoints with new deliveries. */
  readonly signal?: WorkSignal;
  /** Returns the maximum lifetime of an OAuth client's access, in milliseconds. Undefined without OAuth. */
  readonly longestAccessMs?: () => number;
  /**
   * Extends the registration of an OAuth client beyond the end of its key (`keyEndsMs`, milliseconds since the epoch).
   */
  readonly keepClient?: (trx: Kysely<Tables>, clientId: string, keyEndsMs: number) => Promise<void>;
}

/**
 * AccountStore creates, reads and updates accounts. Methods reject with a `Problem` for errors of the caller, and with
 * the database's error otherwise.
 */
export class AccountStore {
  private readonly events: ChangeEvents;

  constructor(private readonly deps: StoreDependencies) {
    this.events = new ChangeEvents(deps.signal);
  }

  /**
   * Creates an account. Rejects with `validation_failed` for an unknown plan, and with `conflict` for a taken
   * `external_id`.
   */
  async create(input: CreateAccount, context: ChangeContext): Promise<Account> {
    this.checkPlan(input.plan);
    const now = this.deps.clock.now();
    const row: AccountTable = {
      id: newId('acc', now),
      name: input.name,
      plan: input.plan,
      time_zone: input.time_zone,
      billing_day: input.billing_day,
      status: 'active',
      grant_period: 0,
      grant_amount: 0,
      created_at: now,
      updated_at: now,
      version: 1,
      external_id: input.external_id ?? null,
      metadata: metadataJson(input.metadata ?? {}),
    };
    await this.deps.database.db.transaction().execute(async (trx) => {
      const insert = trx.insertInto('account').values({ ...row, search: searchText(row.name) });
      await writeUnique(insert.execute(), 'account');
      const created = {
        ...target(row.id),
        action: 'account.created',
        targetVersion: 1,
        before: null,
        after: auditedAccount(row),
      } as const;
      await recordChange(trx, context, created, now);
      await context.storeResponse?.(trx, accountOf(row));
    });
    return accountOf(row);
  }

  /** Returns an account. Rejects with `resource_not_found`, also if the account is being deleted. */
  async get(id: string): Promise<Account> {
    const { db } = this.deps.database;
    const deleted = db.selectFrom('account_deletion').select('account_id');
    const query = db.selectFrom('account').selectAll().where('id', '=', id).where('id', 'not in', deleted);
    return accountOf((await query.executeTakeFirst()) ?? notFound());
  }

  /**
   * Lists the visible accounts, sorted by creation or by name. Rejects with `invalid_cursor` for a cursor of another
   * query.
   */
  async list(query: AccountQuery, visible: VisibleAccounts = 'all'): Promise<Page<Account>> {
    return await pageOfAccounts(this.deps.database, query, visible, accountOf);
  }

  /**
   * Updates the given fields. Writes nothing if the fields already have these values. Rejects with
   * `resource_not_found`, `validation_failed` for an unknown plan, `conflict` for a taken `external_id`, or
   * `precondition_failed` for a stale version.
   */
  async update(
    id: string,
    changes: UpdateAccount,
    context: ChangeContext,
    expected?: ExpectedVersions,
  ): Promise<Account> {
    if (changes.plan !== undefined) this.checkPlan(changes.plan);
    const row = await this.deps.database.db
      .transaction()
      .execute(async (trx) => this.updateIn(trx, id, changes, context, expected));
    this.events.notifyCommitted(row);
    // Publish even without a change. The caller may be repeating a change whose message was lost.
    await this.deps.bus.publish({ type: 'account', accountId: id });
    return accountOf(row);
  }

  private async updateIn(
    trx: Transaction<Tables>,
    id: string,
    changes: UpdateAccount,
    context: ChangeContext,
    expected: ExpectedVersions,
  ): Promise<AccountTable> {
    const before = await lockAccount(trx, this.deps.database.kind, id);
    const { metadata, ...rest } = changes;
    const columns = { ...rest, metadata: metadata && metadataJson(metadata) };
    const changed = Object.entries(columns).filter(([, value]) => value !== undefined);
    const now = this.deps.clock.now();
    const version = before.version + 1;
    const after: AccountTable = { ...before, ...Object.fromEntries(changed), updated_at: now, version };
    const difference = changedFields(auditedAccount(before), auditedAccount(after));
    // A repeated change needs no version check.
    if (difference === null) return before;
    await checkVersion(trx, before, expected, before.time_zone);
    context.authorize?.('account', this.accessOf(before), this.accessOf(after));
    const update = trx.updateTable('account').set({ ...after, search: searchText(after.name) });
    await writeUnique(update.where('id', '=', id).execute(), 'account');
    await recordChange(
      trx,
      context,
      { ...target(id), action: 'account.updated', targetVersion: version, ...difference },
      now,
    );
    await this.events.addAccountChange(trx, before, after, context.actor);
    return after;
  }

  private accessOf({ status, billing_day: billingDay, plan }: AccountTable): AccessChanges['account'] {
    return { isActive: status === 'active', billingDay, limits: limitsInForce(this.deps.catalogue.plan(plan)) };
  }

  private checkPlan(plan: string): void {
    if (this.deps.catalogue.hasPlan(plan)) return;
    const names = this.deps.catalogue.plans().map(({ name }) => name);
    const detail = `is not a plan; the plans are ${names.join(', ')}`;
    throw new Problem('validation_failed', {
      detail: 'The plan does not exist.',
      errors: [{ pointer: '#/plan', detail }],
    });
  }
}

/**
 * Locks the row of an account until the transaction ends. To avoid deadlocks, other transactions can still insert rows
 * that refer to the account. Rejects with `resource_not_found`, also if the account is being deleted.
 */
export async function lockAccount(
  trx: Transaction<Tables>,
  kind: DatabaseHandle['kind'],
  id: string,
): Promise<AccountTable> {
  const query = trx
    .selectFrom('account')
    .selectAll()
    .where('id', '=', id)
    // SQLite has only one write transaction at a time.
    .$if(kind === 'postgres', (select) => select.forNoKeyUpdate());
  const row = (await query.executeTakeFirst()) ?? notFound();
  // Use a separate statement, so that PostgreSQL sees a deletion that committed while this transaction waited for the
  // lock.
  await refuseDeleted(trx, id);
  return row;
}

/** Rejects with `resource_not_found` if an account is being deleted. */
export async function refuseDeleted(trx: Transaction<Tables>, id: string): Promise<void> {
  const deletion = trx.selectFrom('account_deletion').select('account_id').where('account_id', '=', id);
  if ((await deletion.executeTakeFirst()) !== undefined) notFound();
}

function notFound(): never {
  throw new Problem('resource_not_found', { detail: 'Not found. No account has this id.' });
}

function target(id: string): { accountId: string; targetType: 'account'; targetId: string } {
  return { accountId: id, targetType: 'account', targetId: id };
}

/** Returns the fields of an account that the audit log records, with the names of the API. */
export function auditedAccount(row: AccountTable): AuditedFields {
  const { name, plan, time_zone, billing_day, status, external_id, metadata } = row;
  return { name, plan, time_zone, billing_day, status, external_id, metadata: parseMetadata(metadata) };
}

function accountOf(row: AccountTable): Account {
  return {
    id: row.id,
    name: row.name,
    plan: row.plan,
    timeZone: row.time_zone,
    billingDay: row.billing_day,
    status: row.status,
    grant: { month: row.grant_period, amount: row.grant_amount },
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    version: row.version,
    externalId: row.external_id,
    metadata: parseMetadata(row.metadata),
  };
}
