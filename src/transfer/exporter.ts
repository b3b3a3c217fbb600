/** Exports the records of the installation by type and page, in the format that `Importer` reads. */
import { settingsOf, shownSettingsOf } from '../accounts/api-key-fields.js';
import { formatTimestamp } from '../accounts/api-key-rows.js';
import { recordChange, type ChangeContext } from '../records/audit-log.js';
import { parseMetadata } from '../records/external-fields.js';
import { decodeJsonCursor, encodeCursor, invalidCursor, type Page } from '../stores/database/cursor.js';
import type { DatabaseHandle } from '../stores/database/connect.js';
import { textList } from '../stores/database/json-rows.js';
import type { AccountTable, ApiKeyTable, QuotaAdjustmentTable } from '../stores/database/schema.js';
import { changeableFields } from '../webhooks/endpoints/endpoint-rows.js';
import { monthOfLabel } from './import-fields.js';
import type { RecordType } from './record-types.js';

const ROWS_PER_PAGE = 500;

/** ExportedRecord is a record of an export. The CLI writes it as one line of JSON. */
export type ExportedRecord = Readonly<Record<string, unknown>>;

/**
 * ReadRows reads the next page of records of a type. `after` is the position of the last record of the previous page.
 */
type ReadRows = (
  database: DatabaseHandle,
  after: readonly string[],
  nowMs: number,
) => Promise<readonly { readonly position: readonly string[]; readonly record: ExportedRecord }[]>;

const READERS: Readonly<Record<RecordType, ReadRows>> = {
  account: readAccounts,
  api_key: readKeys,
  member: readMembers,
  webhook_endpoint: readEndpoints,
  quota_adjustment: readAdjustments,
  month_count: readMonths,
};

export class Exporter {
  constructor(
    private readonly database: DatabaseHandle,
    private readonly clock: { now(): number },
  ) {}

  /**
   * Returns a page of records of a type, in the order of their IDs. Writes an audit log entry for the first page.
   * Rejects with `invalid_cursor` if the cursor is not from this export.
   */
  async page(type: RecordType, cursor: string | undefined, context: ChangeContext): Promise<Page<ExportedRecord>> {
    const list = `export:${type}`;
    if (cursor === undefined) await this.record(type, context);
    const after = cursor === undefined ? ['', '', ''] : positionOf(list, cursor);
    const rows = await READERS[type](this.database, after, this.clock.now());
    const last = rows.length === ROWS_PER_PAGE ? rows.at(-1) : undefined;
    return {
      data: rows.map(({ record }) => ({ type, ...record })),
      nextCursor: last === undefined ? null : encodeCursor(list, JSON.stringify(last.position)),
    };
  }

  private async record(type: RecordType, context: ChangeContext): Promise<void> {
    const change = { accountId: null, action: 'installation.exported', targetType: 'installation' } as const;
    await this.database.db
      .transaction()
      .execute((trx) =>
        recordChange(trx, context, { ...change, targetId: type, before: null, after: null }, this.clock.now()),
      );
  }
}

/** Parses a cursor. Throws `invalid_cursor`. */
function positionOf(list: string, cursor: string): readonly string[] {
  const values = decodeJsonCursor(list, cursor);
  if (!Array.isArray(values)) throw invalidCursor();
  const texts = values.map(String);
  if (texts.some((text) => text.includes('\0'))) throw invalidCursor();
  return texts;
}

/** Returns a query of the accounts that are being deleted, which are not exported. */
function beingDeleted(db: DatabaseHandle['db']) {
  return db.selectFrom('account_deletion').select('account_id');
}

async function readAccounts({ db }: DatabaseHandle, [after = '']: readonly string[]) {
  const rows = await db
    .selectFrom('account')
    .selectAll()
    .where('id', '>', after)
    .where('id', 'not in', beingDeleted(db))
    .orderBy('id')
    .limit(ROWS_PER_PAGE)
    .execute();
  return rows.map((row) => ({ position: [row.id], record: accountRecord(row) }));
}

function accountRecord(row: AccountTable): ExportedRecord {
  const { id, external_id, name, plan, time_zone, billing_day, status } = row;
  const metadata = parseMetadata(row.metadata);
  return {
    id,
    external_id,
    name,
    plan,
    time_zone,
    billing_day,
    status,
    metadata,
    created_at: formatTimestamp(row.created_at),
  };
}

/**
 * Reads keys with the hashes of their valid secrets. Omits keys of OAuth clients, because people can authorize the
 * client again.
 */
async function readKeys({ db, kind }: DatabaseHandle, [after = '']: readonly string[], nowMs: number) {
  const rows = await db
    .selectFrom('api_key')
    .selectAll()
    .where('id', '>', after)
    .where('oauth_client_id', 'is', null)
    .where('account_id', 'not in', beingDeleted(db))
    .orderBy('id')
    .limit(ROWS_PER_PAGE)
    .execute();
  const ids = textList(
    kind,
    rows.map(({ id }) => id),
  );
  const secrets = await db
    .selectFrom('api_key_secret')
    .select(['hash', 'api_key_id', 'expires_at', 'is_foreign'])
    .where('api_key_id', 'in', ids)
    .where(({ eb, or }) => or([eb('expires_at', 'is', null), eb('expires_at', '>', nowMs)]))
    .execute();
  const secretsByKey = Map.groupBy(secrets, ({ api_key_id: keyId }) => keyId);
  return rows.map((row) => {
    const current = secretsByKey.get(row.id)?.find(({ expires_at: endMs }) => endMs === null);
    const previous = secretsByKey.get(row.id)?.find(({ expires_at: endMs }) => endMs !== null);
    return {
      position: [row.id],
      record: { ...keyRecord(row), secret_sha256: current?.hash ?? null, ...previousOf(previous) },
    };
  });
}

function keyRecord(row: ApiKeyTable): ExportedRecord {
  return {
    id: row.id,
    account_id: row.account_id,
    ...shownSettingsOf(settingsOf(row)),
    status: row.status,
    hint: row.hint,
    expires_at: formatTimestamp(row.expires_at),
    last_used_at: formatTimestamp(row.last_used_at),
    created_at: formatTimestamp(row.created_at),
    revoked_at: formatTimestamp(row.revoked_at),
  };
}

function previousOf(secret: { hash: string; expires_at: number | null; is_foreign: number | null } | undefined) {
  if (secret === undefined) return {};
  return {
    previous_secret_sha256: secret.hash,
    previous_secret_expires_at: formatTimestamp(secret.expires_at),
    previous_secret_is_foreign: secret.is_foreign === 1,
  };
}

async function readMembers({ db, kind }: DatabaseHandle, [after = '']: readonly string[]) {
  const rows = await db
    .selectFrom('member')
    .selectAll()
    .where('id', '>', after)
    .where('removed_at', 'is', null)
    .orderBy('id')
    .limit(ROWS_PER_PAGE)
    .execute();
  const ids = textList(
    kind,
    rows.map(({ id }) => id),
  );
  const memberships = await db
    .selectFrom('account_member')
    .select(['account_id', 'member_id', 'role'])
    .where('member_id', 'in', ids)
    .where('account_id', 'not in', beingDeleted(db))
    .orderBy('account_id')
    .execute();
  const membershipsByMember = Map.groupBy(memberships, ({ member_id: memberId }) => memberId);
  return rows.map((row) => {
    const { id, email, name, status, locale } = row;
    const accounts = (membershipsByMember.get(id) ?? []).map(({ account_id, role }) => ({ account_id, role }));
    const flags = { email_verified: row.email_verified_at !== null, is_operator: row.is_operator === 1 };
    const record = { id, email, name, status, locale, ...flags, accounts, created_at: formatTimestamp(row.created_at) };
    return { position: [id], record };
  });
}

async function readEndpoints({ db, kind }: DatabaseHandle, [after = '']: readonly string[], nowMs: number) {
  const rows = await db
    .selectFrom('webhook_endpoint')
    .selectAll()
    .where('id', '>', after)
    .where('deleted_at', 'is', null)
    .where('account_id', 'not in', beingDeleted(db))
    .orderBy('id')
    .limit(ROWS_PER_PAGE)
    .execute();
  const ids = textList(
    kind,
    rows.map(({ id }) => id),
  );
  const secrets = await db
    .selectFrom('webhook_secret')
    .selectAll()
    .where('endpoint_id', 'in', ids)
    .where(({ eb, or }) => or([eb('expires_at', 'is', null), eb('expires_at', '>', nowMs)]))
    .orderBy('id')
    .execute();
  const secretsByEndpoint = Map.groupBy(secrets, ({ endpoint_id: endpointId }) => endpointId);
  return rows.map((row) => {
    const signing_secrets = (secretsByEndpoint.get(row.id) ?? []).map((each) => ({
      id: each.id,
      secret: each.secret,
      seed: each.seed,
      public_key: each.public_key,
      fingerprint: each.fingerprint,
      created_at: formatTimestamp(each.created_at),
      expires_at: formatTimestamp(each.expires_at),
    }));
    const { id, account_id, disabled_reason } = row;
    const own = { id, account_id, ...changeableFields(row), disabled_reason };
    return { position: [id], record: { ...own, created_at: formatTimestamp(row.created_at), signing_secrets } };
  });
}

async function readAdjustments({ db }: DatabaseHandle, [after = '']: readonly string[]) {
  const rows = await db
    .selectFrom('quota_adjustment')
    .selectAll()
    .where('id', '>', after)
    .where('account_id', 'not in', beingDeleted(db))
    .orderBy('id')
    .limit(ROWS_PER_PAGE)
    .execute();
  return rows.map((row) => ({ position: [row.id], record: adjustmentRecord(row) }));
}

function adjustmentRecord(row: QuotaAdjustmentTable): ExportedRecord {
  const { id, account_id, api_key_id, type: adjustment, amount, reason, actor } = row;
  return {
    id,
    account_id,
    api_key_id: api_key_id === '' ? null : api_key_id,
    window: 'month',
    adjustment,
    amount,
    reason,
    actor,
    month: monthOfLabel(row.period),
    period_ends_at: formatTimestamp(row.period_ends_at),
    created_at: formatTimestamp(row.created_at),
  };
}

/**
 * Reads month counts. Omits counts of keys that are not exported, because the counts of their accounts include them.
 */
async function readMonths({ db }: DatabaseHandle, [accountId = '', keyId = '', period = '']: readonly string[]) {
  const rows = await db
    .selectFrom('quota_counter')
    .leftJoin('api_key', 'api_key.id', 'quota_counter.api_key_id')
    .select(['quota_counter.account_id', 'quota_counter.api_key_id', 'quota_counter.period', 'quota_counter.used'])
    .where(({ eb, or, and }) =>
      and([
        or([
          eb('quota_counter.api_key_id', '=', ''),
          and([eb('api_key.id', 'is not', null), eb('api_key.oauth_client_id', 'is', null)]),
        ]),
        or([
          eb('quota_counter.account_id', '>', accountId),
          and([
            eb('quota_counter.account_id', '=', accountId),
            or([
              eb('quota_counter.api_key_id', '>', keyId),
              and([eb('quota_counter.api_key_id', '=', keyId), eb('quota_counter.period', '>', Number(period))]),
            ]),
          ]),
        ]),
      ]),
    )
    .where('quota_counter.account_id', 'not in', beingDeleted(db))
    .orderBy('quota_counter.account_id')
    .orderBy('quota_counter.api_key_id')
    .orderBy('quota_counter.period')
    .limit(ROWS_PER_PAGE)
    .execute();
  return rows.map(({ account_id, api_key_id, period: label, used }) => ({
    position: [account_id, api_key_id, String(label)],
    record: { account_id, api_key_id: api_key_id === '' ? null : api_key_id, month: monthOfLabel(label), used },
  }));
}
