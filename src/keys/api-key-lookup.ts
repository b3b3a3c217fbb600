/** The request path's questions to the database: which key has this secret, and which keys were used. */
import { sql, type Kysely } from 'kysely';
import type { DatabaseHandle } from '../stores/database/connect.js';
import { jsonRows, type JsonColumn } from '../stores/database/json-rows.js';
import type { Tables } from '../stores/database/schema.js';
import { NO_LIMIT_CHANGES, type LimitChanges } from '../quota/model/effective-limits.js';
import type { ApiKeyLookup, ApiKeyRecord } from './api-key.js';
import type { SecretUse } from './last-used.js';
import { digestOfHex, hexOfDigest } from './api-key-format.js';
import { parseLimits, parseStrings } from './api-key-columns.js';
import { InternTable } from '../platform/intern-table.js';

/** Far below both databases' limits on parameters. */
const MAX_ROWS_PER_STATEMENT = 500;
const USE_COLUMNS: readonly JsonColumn[] = [
  { name: 'id', type: 'text' },
  { name: 'at', type: 'bigint' },
];
const SECRET_USE_COLUMNS: readonly JsonColumn[] = [...USE_COLUMNS, { name: 'ip', type: 'text' }];

export class DatabaseKeyLookup implements ApiKeyLookup {
  private readonly words = new SameWords();
  private readonly lists = new SameLists();

  constructor(
    protected readonly db: Kysely<Tables>,
    private readonly kind: DatabaseHandle['kind'],
  ) {}

  /** One statement for all. Rejects with `DatabaseUnavailable` where the database cannot be asked. */
  async findByHashes(hashes: readonly string[]): Promise<readonly ApiKeyRecord[]> {
    const records: ApiKeyRecord[] = [];
    for (const some of chunks(hashes)) records.push(...(await this.findSome(some)));
    return records;
  }

  /** Notes when secrets and their keys were last used. An older time than the stored one changes nothing. */
  async touchLastUsed(batch: readonly SecretUse[]): Promise<void> {
    // A part at a time: with all keys of a busy minute at once the event loop would stand still.
    for (const some of chunks(batch)) {
      // In one order for all processes, or PostgreSQL would have them wait for each other.
      const keys = [...latestByKey(some)].sort(byFirst);
      await sql`
        update api_key set last_used_at = seen.at from ${jsonRows(this.kind, USE_COLUMNS, keys, 'seen')}
        where api_key.id = seen.id and (api_key.last_used_at is null or api_key.last_used_at < seen.at)
      `.execute(this.db);
      const secrets = some
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

  private async findSome(hashes: readonly string[]): Promise<ApiKeyRecord[]> {
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
      keyStatus: this.words.same(row.key_status),
      environment: this.words.same(row.environment),
      scopes: this.lists.parsed(row.scopes),
      ...lifetime(row.key_expires_at, row.secret_expires_at),
      allowedIps: this.lists.parsed(row.allowed_ips),
      accountStatus: this.words.same(row.account_status),
      plan: this.words.same(row.plan),
      timeZone: this.words.same(row.time_zone),
      billingDay: row.billing_day,
      limitChanges: limitChanges(row),
    }));
  }
}

/**
 * A database hands out a string of its own for every field of every row; a hundred
 * thousand keys have few words among them.
 */
class SameWords {
  private readonly table = new InternTable<string>();

  same<Word extends string>(word: Word): Word {
    return (this.table.get(word) ?? this.table.keep(word, word)) as Word;
  }
}

/** JSON arrays of strings, by their text: keys with the same scopes share one. */
class SameLists {
  private readonly table = new InternTable<readonly string[]>();

  parsed(json: string): readonly string[] {
    return this.table.get(json) ?? this.table.keep(json, Object.freeze(parseStrings(json)));
  }
}

function lifetime(key: number | null, secret: number | null): Pick<ApiKeyRecord, 'expiresAt' | 'rotatedOut'> {
  if (secret === null || (key !== null && key <= secret)) return { expiresAt: key, rotatedOut: false };
  return { expiresAt: secret, rotatedOut: true };
}

/** Almost every key has none of it, and shares one value. */
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

/** Two secrets of one key may have been used: a statement that joins a row twice takes either. */
function latestByKey(uses: readonly SecretUse[]): Map<string, number> {
  const latest = new Map<string, number>();
  for (const { keyId, usedAtMs } of uses) latest.set(keyId, Math.max(usedAtMs, latest.get(keyId) ?? 0));
  return latest;
}

function byFirst([a]: readonly [string, ...unknown[]], [b]: readonly [string, ...unknown[]]): number {
  return a < b ? -1 : 1;
}
