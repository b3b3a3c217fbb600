/**
 * Queries the database for the request path: finds API keys by the hashes of their secrets, and writes the last uses of
 * keys.
 */
import { sql, type Kysely } from 'kysely';
import type { DatabaseHandle } from '../stores/database/connect.js';
import { jsonRows, type JsonColumn } from '../stores/database/json-rows.js';
import type { Tables } from '../stores/database/schema.js';
import { NO_LIMIT_CHANGES, type LimitChanges } from '../quota/model/effective-limits.js';
import type { ApiKeyLookup, ApiKeyRecord } from './api-key.js';
import type { ForeignKeyLookup } from './foreign-keys.js';
import type { SecretUse } from './last-used.js';
import { digestOfHex, hexOfDigest } from './api-key-format.js';
import { parseLimits, parseStrings } from './api-key-columns.js';
import { InternTable } from '../platform/intern-table.js';

/** Maximum number of rows per statement, below the parameter limits of SQLite and PostgreSQL. */
const MAX_ROWS_PER_STATEMENT = 500;
const USE_COLUMNS: readonly JsonColumn[] = [
  { name: 'id', type: 'text' },
  { name: 'at', type: 'bigint' },
];
const SECRET_USE_COLUMNS: readonly JsonColumn[] = [...USE_COLUMNS, { name: 'ip', type: 'text' }];

export class DatabaseKeyLookup implements ApiKeyLookup, ForeignKeyLookup {
  private readonly strings = new InternedStrings();
  private readonly lists = new InternedLists();

  constructor(
    protected readonly db: Kysely<Tables>,
    private readonly kind: DatabaseHandle['kind'],
  ) {}

  /**
   * Returns the records of hashes in any order. Unknown hashes have no record in the result.
   * @param hashes results of `digestOf`.
   * @throws DatabaseUnavailable if the database cannot be queried.
   */
  async findByHashes(hashes: readonly string[]): Promise<readonly ApiKeyRecord[]> {
    const records: ApiKeyRecord[] = [];
    for (const chunk of chunks(hashes)) records.push(...(await this.findChunk(chunk)));
    return records;
  }

  /** Reports whether any key has a foreign secret, which another system created. */
  async hasForeignSecrets(): Promise<boolean> {
    const { rows } = await sql`select 1 from api_key_secret where is_foreign = 1 limit 1`.execute(this.db);
    return rows.length > 0;
  }

  /** Writes the last uses of secrets and of their keys. Does not replace a time with an earlier one. */
  async touchLastUsed(batch: readonly SecretUse[]): Promise<void> {
    // Write in chunks, because writing all keys of a busy minute at once would block the event loop.
    for (const chunk of chunks(batch)) {
      // Sort the keys, so that all processes lock the rows in the same order and do not deadlock.
      const keys = [...latestByKey(chunk)].sort(byFirst);
      await sql`
        update api_key set last_used_at = seen.at from ${jsonRows(this.kind, USE_COLUMNS, keys, 'seen')}
        where api_key.id = seen.id and (api_key.last_used_at is null or api_key.last_used_at < seen.at)
      `.execute(this.db);
      const secrets = chunk
        .map(({ hash, usedAtMs, address }) => [hexOfDigest(hash), usedAtMs, address] as const)
        .sort(byFirst);
      await sql`
        update api_key_secret set last_used_at = seen.at, last_used_ip = seen.ip
        from ${jsonRows(this.kind, SECRET_USE_COLUMNS, secrets, 'seen')}
        where api_key_secret.hash = seen.id
          and (api_key_secret.last_used_at is null or api_key_secret.last_used_at < seen.at)
      `.execute(this.db);
    }
  }

  private async findChunk(hashes: readonly string[]): Promise<ApiKeyRecord[]> {
    const rows = await this.db
      .selectFrom('api_key_secret as secret')
      .innerJoin('api_key as key', 'key.id', 'secret.api_key_id')
      .innerJoin('account', 'account.id', 'key.account_id')
      .select([
        'secret.hash',
        'secret.expires_at as secret_expires_at',
        'key.id as key_id',
        'key.account_id',
        'key.status as key_status',
        'key.environment',
        'key.scopes',
        'key.expires_at as key_expires_at',
        'key.allowed_ips',
        'key.limits',
        'key.grant_period as key_grant_period',
        'key.grant_amount as key_grant_amount',
        'account.status as account_status',
        'account.plan',
        'account.time_zone',
        'account.billing_day',
        'account.grant_period',
        'account.grant_amount',
      ])
      .where('secret.hash', 'in', hashes.map(hexOfDigest))
      .execute();
    return rows.map((row) => ({
      hash: digestOfHex(row.hash),
      keyId: row.key_id,
      accountId: row.account_id,
      keyStatus: this.strings.intern(row.key_status),
      environment: this.strings.intern(row.environment),
      scopes: this.lists.parsed(row.scopes),
      ...lifetime(row.key_expires_at, row.secret_expires_at),
      allowedIps: this.lists.parsed(row.allowed_ips),
      accountStatus: this.strings.intern(row.account_status),
      plan: this.strings.intern(row.plan),
      timeZone: this.strings.intern(row.time_zone),
      billingDay: row.billing_day,
      limitChanges: limitChanges(row),
    }));
  }
}

/**
 * InternedStrings shares equal strings. The database drivers create a string for each field, but the rows of a hundred
 * thousand keys have few different values.
 */
class InternedStrings {
  private readonly table = new InternTable<string>();

  intern<Word extends string>(word: Word): Word {
    return (this.table.get(word) ?? this.table.keep(word, word)) as Word;
  }
}

/** InternedLists shares equal JSON arrays of strings. Keys with the same scopes then share an array. */
class InternedLists {
  private readonly table = new InternTable<readonly string[]>();

  parsed(json: string): readonly string[] {
    return this.table.get(json) ?? this.table.keep(json, Object.freeze(parseStrings(json)));
  }
}

/**
 * Returns the earlier of the expirations of a key and its secret, and whether it is that of the secret. Times are in ms
 * since the epoch, null for none.
 */
function lifetime(key: number | null, secret: number | null): Pick<ApiKeyRecord, 'expiresAt' | 'rotatedOut'> {
  if (secret === null || (key !== null && key <= secret)) return { expiresAt: key, rotatedOut: false };
  return { expiresAt: secret, rotatedOut: true };
}

/** Returns the changes to the limits of the plan. Most keys have no changes, and share `NO_LIMIT_CHANGES`. */
function limitChanges(row: {
  limits: string | null;
  key_grant_period: number;
  key_grant_amount: number;
  grant_period: number;
  grant_amount: number;
}): LimitChanges {
  if (row.limits === null && row.key_grant_amount === 0 && row.grant_amount === 0) return NO_LIMIT_CHANGES;
  return {
    keyLimits: parseLimits(row.limits),
    accountGrant: { month: row.grant_period, amount: row.grant_amount },
    keyGrant: { month: row.key_grant_period, amount: row.key_grant_amount },
  };
}

function* chunks<T>(items: Iterable<T>): Generator<T[]> {
  let chunk: T[] = [];
  for (const item of items) {
    chunk.push(item);
    if (chunk.length < MAX_ROWS_PER_STATEMENT) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}

/**
 * Returns the latest use of each key. Otherwise, if two secrets of a key were used, the update would write either time.
 */
function latestByKey(uses: readonly SecretUse[]): Map<string, number> {
  const latest = new Map<string, number>();
  for (const { keyId, usedAtMs } of uses) latest.set(keyId, Math.max(usedAtMs, latest.get(keyId) ?? 0));
  return latest;
}

function byFirst([a]: readonly [string, ...unknown[]], [b]: readonly [string, ...unknown[]]): number {
  return a < b ? -1 : 1;
}
