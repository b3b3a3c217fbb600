/**
 * Stores quota adjustments: grants in addition to the monthly limit, and counts that are set or reset. Each adjustment
 * is one transaction with its audit entry, and applies on all nodes after the commit.
 */
import type { Transaction } from 'kysely';
import { LARGEST_LIMIT } from '../config/model/plan-schema.js';
import { decodeCursor, pageOf, type Page, type PageRequest } from '../stores/database/cursor.js';
import { newId } from '../stores/database/ids.js';
import type { AccountTable, ApiKeyTable, QuotaAdjustmentTable, Tables } from '../stores/database/schema.js';
import { scopesWithin } from '../stores/database/scopes-within.js';
import { Problem } from '../platform/problems/errors.js';
import { ACCOUNT_MONTH, KEY_MONTH } from '../platform/quotas/windows.js';
import { effectiveLimits, grantedIn, NO_GRANT, type MonthGrant } from '../quota/model/effective-limits.js';
import { calendarOf, type MonthCalendar, type MonthPeriod } from '../quota/model/month-period.js';
import { writeMonthSet } from '../quota/redis/month-set.js';
import type { Limiter } from '../quota/limiter.js';
import { addAdjustment } from '../quota/usage/usage-adjustment.js';
import { lockAccount, type StoreDependencies } from './accounts.js';
import { adjustmentOf, allAdjustments, type NamedAdjustment, type QuotaAdjustment } from './adjustment-list.js';
import { parseLimits } from '../keys/api-key-columns.js';
import { recordChange, type AuditedFields, type ChangeContext } from '../records/audit-log.js';
import type { CreateQuotaAdjustment } from './quota-adjustment-fields.js';

export interface AdjustmentDependencies extends StoreDependencies {
  readonly counters: Pick<Limiter, 'read' | 'setMonthUsed'>;
  /** Whether this process can reach the counters. False if they are in the memory of another process. */
  readonly hasCounters: boolean;
}

/** Locked contains the account and key of an adjustment, locked until the transaction ends. */
interface Locked {
  readonly account: AccountTable;
  readonly key: ApiKeyTable | undefined;
}

/**
 * QuotaAdjustmentStore creates and lists adjustments. Methods reject with a `Problem` for errors of the caller, and
 * with the database's error otherwise.
 */
export class QuotaAdjustmentStore {
  constructor(private readonly deps: AdjustmentDependencies) {}

  /**
   * Creates an adjustment. A grant only changes the database. A set or reset changes the counter first, inside the
   * transaction. If the counter cannot be changed, nothing is written. If a later statement fails, the counter keeps
   * the new value, and the caller can repeat the request.
   * @throws Problem `resource_not_found`, `validation_failed`, `conflict`, or `quota_unavailable` if the counters are
   * unavailable
   */
  async create(accountId: string, input: CreateQuotaAdjustment, context: ChangeContext): Promise<QuotaAdjustment> {
    if (input.type !== 'grant') await this.checkCounters(accountId, input.api_key_id);
    const adjustment = await this.deps.database.db.transaction().execute(async (trx) => {
      const rows = await this.lock(trx, accountId, input.api_key_id);
      return input.type === 'grant' ? this.grant(trx, rows, input, context) : this.setUsed(trx, rows, input, context);
    });
    await this.deps.bus.publish({ type: 'account', accountId });
    return adjustment;
  }

  /**
   * Lists the adjustments of an account, newest first. Rejects with `resource_not_found`.
   * @param grantedScopes omits adjustments of keys that have other scopes than these; undefined: omits nothing
   */
  async list(
    accountId: string,
    { limit, cursor }: PageRequest,
    grantedScopes?: readonly string[],
  ): Promise<Page<QuotaAdjustment>> {
    const { db, kind } = this.deps.database;
    const account = await db.selectFrom('account').select('time_zone').where('id', '=', accountId).executeTakeFirst();
    if (account === undefined) throw noAccount();
    const list = `quota-adjustments:${accountId}`;
    let query = db.selectFrom('quota_adjustment').selectAll().where('account_id', '=', accountId);
    if (cursor !== undefined) query = query.where('id', '<', decodeCursor(list, cursor));
    if (grantedScopes !== undefined) {
      const keys = db.selectFrom('api_key').select('id').where('account_id', '=', accountId);
      const within = keys.where(scopesWithin(kind, grantedScopes));
      query = query.where(({ eb, or }) => or([eb('api_key_id', '=', ''), eb('api_key_id', 'in', within)]));
    }
    const page = query.orderBy('id', 'desc').limit(limit + 1);
    return pageOf(list, limit, await page.execute(), (row) => adjustmentOf(row, account.time_zone));
  }

  /** Lists the adjustments of all accounts, newest first. */
  async listAll(request: PageRequest): Promise<Page<NamedAdjustment>> {
    return await allAdjustments(this.deps.database.db, request);
  }

  /**
   * Checks that the counters can be read, before the transaction starts. Missing counters are loaded from the database.
   * On SQLite, loading them inside the transaction would wait for that transaction.
   */
  private async checkCounters(accountId: string, keyId: string | undefined): Promise<void> {
    if (!this.deps.hasCounters) {
      throw new Problem('quota_unavailable', {
        detail:
          'The counters are in the gateway process, which this process cannot reach. Run both roles in one process, or set ' +
          'REDIS_URL.',
      });
    }
    const rows = await this.deps.database.db.transaction().execute((trx) => this.lock(trx, accountId, keyId));
    try {
      await this.deps.counters.read(accountId, keyId, calendarOfAccount(rows.account));
    } catch (error) {
      throw error instanceof Problem ? error : countersUnavailable(error);
    }
  }

  private async lock(trx: Transaction<Tables>, accountId: string, keyId: string | undefined): Promise<Locked> {
    const account = await lockAccount(trx, this.deps.database.kind, accountId);
    if (keyId === undefined) return { account, key: undefined };
    const query = trx
      .selectFrom('api_key')
      .selectAll()
      .where('id', '=', keyId)
      .where('account_id', '=', accountId)
      .$if(this.deps.database.kind === 'postgres', (select) => select.forUpdate());
    const key = await query.executeTakeFirst();
    if (key === undefined) throw invalid('#/api_key_id', 'is not a key of this account');
    return { account, key };
  }

  private async grant(
    trx: Transaction<Tables>,
    rows: Locked,
    input: CreateQuotaAdjustment,
    context: ChangeContext,
  ): Promise<QuotaAdjustment> {
    const { account, key } = rows;
    const now = this.deps.clock.now();
    const period = calendarOfAccount(account).at(now);
    this.checkGrantable(rows, period);
    const row = key ?? account;
    const granted = grantedIn({ month: row.grant_period, amount: row.grant_amount }, period.label);
    const total = granted + (input.amount ?? 0);
    if (total > LARGEST_LIMIT) {
      throw invalid('#/amount', `makes more than ${LARGEST_LIMIT} with the ${granted} that are granted already`);
    }
    // Keep the label of a later month, which exists if the billing day was moved.
    const change = { grant_period: Math.max(row.grant_period, period.label), grant_amount: total };
    if (key === undefined) await trx.updateTable('account').set(change).where('id', '=', account.id).execute();
    else await trx.updateTable('api_key').set(change).where('id', '=', key.id).execute();
    return this.record(trx, rows, input, context, period, { before: { granted }, after: { granted: total } });
  }

  private async setUsed(
    trx: Transaction<Tables>,
    rows: Locked,
    input: CreateQuotaAdjustment,
    context: ChangeContext,
  ): Promise<QuotaAdjustment> {
    const { account, key } = rows;
    const used = input.amount ?? 0;
    const calendar = calendarOfAccount(account);
    const monthSet = await this.deps.counters.setMonthUsed(account.id, key?.id, calendar, used);
    const now = this.deps.clock.now();
    await writeMonthSet(trx, account.id, key?.id, monthSet, now);
    const place = {
      accountId: account.id,
      keyId: key?.id,
      month: monthSet.period.label,
      day: calendar.dayAt(now).label,
    };
    await addAdjustment(trx, place, used - monthSet.before, now);
    return this.record(trx, rows, input, context, monthSet.period, {
      before: { used: monthSet.before },
      after: { used },
    });
  }

  private async record(
    trx: Transaction<Tables>,
    { account, key }: Locked,
    input: CreateQuotaAdjustment,
    context: ChangeContext,
    period: MonthPeriod,
    change: { readonly before: AuditedFields; readonly after: AuditedFields },
  ): Promise<QuotaAdjustment> {
    const now = this.deps.clock.now();
    const { type, reason } = input;
    const row: QuotaAdjustmentTable = {
      id: newId('adj', now),
      account_id: account.id,
      api_key_id: key?.id ?? '',
      period: period.label,
      period_ends_at: period.endMs,
      type,
      amount: input.amount ?? null,
      reason,
      actor: context.actor,
      created_at: now,
    };
    await trx.insertInto('quota_adjustment').values(row).execute();
    const audited = { window: 'month', type, amount: row.amount, api_key_id: key?.id ?? null, reason };
    const target = { accountId: account.id, targetType: 'quota_adjustment', targetId: row.id } as const;
    const entry = { ...target, action: 'quota_adjustment.created', before: change.before } as const;
    await recordChange(trx, context, { ...entry, after: { ...change.after, ...audited } }, now);
    const adjustment = adjustmentOf(row, account.time_zone);
    await context.storeResponse?.(trx, adjustment);
    return adjustment;
  }

  /**
   * Rejects grants that would have no effect.
   * @throws Problem `conflict`
   */
  private checkGrantable({ account, key }: Locked, { label }: MonthPeriod): void {
    const plan = this.deps.catalogue.plan(account.plan);
    if (plan === undefined) throw conflict(`The plan ${account.plan} is not in the configuration.`);
    if (key?.status === 'revoked') throw conflict('The key is revoked. Create a new one.');
    const keyLimits = parseLimits(key?.limits ?? null);
    const none: MonthGrant = NO_GRANT;
    const limits = effectiveLimits(plan, { keyLimits, accountGrant: none, keyGrant: none }, label);
    if (key === undefined && limits[ACCOUNT_MONTH] === Infinity) {
      throw conflict(`The plan ${account.plan} has no monthly limit for the account to raise.`);
    }
    if (key !== undefined && limits[KEY_MONTH] === Infinity) {
      throw conflict('The key has no monthly limit of its own to raise. Omit api_key_id.');
    }
  }
}

/**
 * Adds an imported grant to the limit of its month, on the row of its key or account. Does nothing if the row has a
 * grant for a later month.
 */
export async function addGrant(
  trx: Transaction<Tables>,
  { account_id: accountId, api_key_id: keyId, period, amount }: QuotaAdjustmentTable,
): Promise<void> {
  const [table, id] = keyId === '' ? (['account', accountId] as const) : (['api_key', keyId] as const);
  const row = await trx
    .selectFrom(table)
    .select(['grant_period', 'grant_amount'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  if (row.grant_period > period) return;
  const granted = grantedIn({ month: row.grant_period, amount: row.grant_amount }, period);
  const change = { grant_period: period, grant_amount: Math.min(granted + (amount ?? 0), LARGEST_LIMIT) };
  await trx.updateTable(table).set(change).where('id', '=', id).execute();
}

function calendarOfAccount({ time_zone, billing_day }: AccountTable): MonthCalendar {
  return calendarOf(time_zone, billing_day);
}

function invalid(pointer: string, detail: string): Problem {
  return new Problem('validation_failed', { detail: 'Some fields are not valid.', errors: [{ pointer, detail }] });
}

function conflict(detail: string): Problem {
  return new Problem('conflict', { detail });
}

function noAccount(): Problem {
  return new Problem('resource_not_found', { detail: 'Not found. No account has this id.' });
}

function countersUnavailable(cause: unknown): Problem {
  return new Problem('quota_unavailable', {
    detail: 'The counters are unavailable. Nothing was changed. Try again.',
    headers: ['Retry-After', '1'],
    cause,
  });
}
