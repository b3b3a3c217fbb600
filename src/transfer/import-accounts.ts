/** Imports accounts. Each line is matched with an existing account by its ID, then by its `external_id`. */
import { auditedAccount } from '../accounts/accounts.js';
import { changedFields } from '../records/audit-log.js';
import { metadataJson } from '../records/external-fields.js';
import { newId } from '../stores/database/ids.js';
import { insertRows, textList } from '../stores/database/json-rows.js';
import type { AccountTable } from '../stores/database/schema.js';
import { searchText } from '../stores/database/search/search-text.js';
import { LineError, parseLine, type ImportBatch, type ImportLine, type Outcome } from './import-batch.js';
import { changedAccountLine, newAccountLine } from './import-fields.js';

/** Imports the lines of type `account`, and sets the outcome of each line. Rejects with the database's error. */
export async function importAccounts(batch: ImportBatch, lines: readonly ImportLine[]): Promise<void> {
  if (lines.length === 0) return;
  const accounts = await AccountRows.read(batch, textsOf(lines, 'id'), textsOf(lines, 'external_id'));
  const created = new Map<string, AccountTable>();
  const changed = new Map<string, AccountTable>();

  const create = (fields: ImportLine['fields']): Outcome => {
    const line = parseLine(newAccountLine, fields);
    if (line.id === undefined && line.external_id === undefined) {
      throw new LineError('needs an id or an external_id, so that the import can be repeated');
    }
    checkPlan(batch, line.plan);
    const row: AccountTable = {
      id: line.id ?? newId('acc', batch.nowMs),
      name: line.name,
      plan: line.plan,
      time_zone: line.time_zone,
      billing_day: line.billing_day,
      status: line.status,
      grant_period: 0,
      grant_amount: 0,
      created_at: line.created_at ?? batch.nowMs,
      updated_at: batch.nowMs,
      version: 1,
      external_id: line.external_id ?? null,
      metadata: metadataJson(line.metadata ?? {}),
    };
    accounts.put(row);
    created.set(row.id, row);
    return 'imported';
  };

  const update = (before: AccountTable, fields: ImportLine['fields']): Outcome => {
    const { type: _, id: _id, created_at: _at, metadata, ...rest } = parseLine(changedAccountLine, fields);
    if (rest.plan !== undefined) checkPlan(batch, rest.plan);
    const { updated_at: _u, version: _v, ...columns } = { ...rest, metadata: metadata && metadataJson(metadata) };
    const givenColumns = Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== undefined));
    const isNew = created.has(before.id);
    const version = isNew || changed.has(before.id) ? before.version : before.version + 1;
    const after: AccountTable = { ...before, ...givenColumns, updated_at: batch.nowMs, version };
    const difference = changedFields(auditedAccount(before), auditedAccount(after));
    if (difference === null) return 'skipped';
    accounts.put(after, before);
    (isNew ? created : changed).set(after.id, after);
    if (!isNew) batch.changes.push({ ...target(after), action: 'account.updated', ...difference });
    return 'updated';
  };

  for (const { index, fields } of lines) {
    batch.settle(index, () => {
      const before = accounts.match(fields);
      if (before === undefined) return create(fields);
      return batch.shouldUpdateExisting(before.id) ? update(before, fields) : 'skipped';
    });
  }
  await freeExternalIds(batch, 'account', [...changed.keys()]);
  for (const row of changed.values()) {
    const columns = { ...row, search: searchText(row.name) };
    await batch.trx.updateTable('account').set(columns).where('id', '=', row.id).execute();
    batch.accountIds.add(row.id);
  }
  const rows = [...created.values()].map((row) => ({ ...row, search: searchText(row.name) }));
  await insertRows(batch.trx, batch.kind, 'account', rows);
  for (const row of created.values()) {
    batch.changes.push({ ...target(row), action: 'account.created', before: null, after: auditedAccount(row) });
  }
}

/** Removes the external IDs of rows that will be written, so that an import can swap the external IDs of two rows. */
export async function freeExternalIds(
  { trx, kind }: ImportBatch,
  table: 'account' | 'api_key',
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  await trx.updateTable(table).set({ external_id: null }).where('id', 'in', textList(kind, ids)).execute();
}

/** AccountRows finds the existing accounts that lines describe or refer to. */
export class AccountRows {
  private readonly byId = new Map<string, AccountTable>();
  private readonly byExternalId = new Map<string, AccountTable>();

  private constructor(
    rows: readonly AccountTable[],
    /** IDs of accounts that are being deleted. */
    private readonly deleted: ReadonlySet<string>,
  ) {
    for (const row of rows) this.put(row);
  }

  /** Reads accounts by their IDs and external IDs. Locks them until the transaction ends. */
  static async read(
    { trx, kind }: ImportBatch,
    ids: readonly string[],
    externalIds: readonly string[],
  ): Promise<AccountRows> {
    const select = trx
      .selectFrom('account')
      .selectAll()
      .where(({ eb, or }) =>
        or([eb('id', 'in', textList(kind, ids)), eb('external_id', 'in', textList(kind, externalIds))]),
      )
      .orderBy('id')
      .$if(kind === 'postgres', (query) => query.forNoKeyUpdate());
    const rows = await select.execute();
    const deletions = trx.selectFrom('account_deletion').select('account_id');
    const deleted = await deletions.where('account_id', 'in', textList(kind, ids)).execute();
    return new AccountRows(rows, new Set(deleted.map(({ account_id: id }) => id)));
  }

  /** Adds a row, or replaces the row `before`. Throws `LineError` if another account has the `external_id`. */
  put(row: AccountTable, before?: AccountTable): void {
    const { id, external_id: externalId } = row;
    const taken = externalId === null ? undefined : this.byExternalId.get(externalId);
    if (taken !== undefined && taken.id !== id) throw new LineError(`external_id: is taken by ${taken.id}`);
    if (before !== undefined && before.external_id !== null) this.byExternalId.delete(before.external_id);
    this.byId.set(id, row);
    if (externalId !== null) this.byExternalId.set(externalId, row);
  }

  /**
   * Returns the existing account that a line describes, or undefined. Throws `LineError` if the account is being
   * deleted.
   */
  match({ id, external_id: externalId }: ImportLine['fields']): AccountTable | undefined {
    this.refuseDeleted(id);
    return this.byId.get(String(id)) ?? this.findByExternalId(externalId);
  }

  /**
   * Returns the account to which the record of a line belongs. Throws `LineError` if there is none, or if the account
   * is being deleted.
   */
  ownerOf({ account_id: id, account_external_id: externalId }: ImportLine['fields']): AccountTable {
    if (id === undefined && externalId === undefined) throw new LineError('needs an account_id or account_external_id');
    this.refuseDeleted(id);
    const row = id === undefined ? this.findByExternalId(externalId) : this.byId.get(String(id));
    if (row === undefined) throw new LineError(`there is no account ${String(id ?? externalId)}`);
    return row;
  }

  private refuseDeleted(id: unknown): void {
    if (this.deleted.has(String(id))) throw new LineError(`${String(id)} is being deleted; import it in an hour`);
  }

  private findByExternalId(externalId: unknown): AccountTable | undefined {
    return typeof externalId === 'string' ? this.byExternalId.get(externalId) : undefined;
  }
}

/** Returns the ID of each key's account, by the ID of the key. Omits keys that do not exist. */
export async function keysOfAccounts(
  { trx, kind }: ImportBatch,
  keyIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const keys = trx.selectFrom('api_key').select(['id', 'account_id']).where('id', 'in', textList(kind, keyIds));
  return new Map((await keys.execute()).map(({ id, account_id: accountId }) => [id, accountId]));
}

/** Returns the distinct texts in a field of lines. */
export function textsOf(lines: readonly ImportLine[], field: string): string[] {
  const texts = lines.map(({ fields }) => fields[field]).filter((value) => typeof value === 'string');
  // PostgreSQL cannot store U+0000 or lone surrogates, so no row has such a text.
  return [...new Set(texts)].filter((text) => text.isWellFormed() && !text.includes('\0'));
}

function checkPlan({ catalogue }: ImportBatch, plan: string): void {
  if (!catalogue.hasPlan(plan)) throw new LineError(`plan: ${plan} is not a plan of the configuration`);
}

function target({ id, version }: AccountTable) {
  return { accountId: id, targetType: 'account', targetId: id, targetVersion: version } as const;
}
