/** Reports what a change or revocation of a key would affect: its usage and its unused scopes. */
import { calendarOf } from '../quota/model/month-period.js';
import { missingScopes } from '../keys/scopes.js';
import { dateOf } from '../quota/usage/usage-query.js';
import { MOST_OPERATIONS, readKeyUsage, type OperationUse } from '../quota/usage/key-usage.js';
import type { Account, StoreDependencies } from './accounts.js';
import type { ApiKey } from './api-key-rows.js';
import { readGrant, type LetInGrant } from './let-in-keys.js';

/** Scopes are looked at for so many days: what a business does once a month is among it. */
const SCOPE_DAYS = 30;
const DAY_MS = 86_400_000;
/** A dialog lists no more; the sum has all of them. */
const MOST_SHOWN = 50;

/** When a secret was last sent, and from where. */
export interface SecretLastUse {
  readonly createdAt: number;
  /** The end of its overlap; null for the current one. */
  readonly expiresAt: number | null;
  readonly lastUsedAt: number | null;
  readonly lastUsedIp: string | null;
}

/** ApiKeyImpact is what a key is used for, as usage was last written. */
export interface ApiKeyImpact {
  /** Yesterday and today in the account's time zone: requests that were let in. */
  readonly recent: {
    readonly from: string;
    readonly to: string;
    readonly requests: number;
    /** Most first, at most 50. */
    readonly operations: readonly { readonly operation: string; readonly requests: number }[];
  };
  readonly currentSecret: SecretLastUse | null;
  /** Null where no overlap is under way. */
  readonly oldSecret: SecretLastUse | null;
  /** Since when its use has been looked at: 30 days ago, or when it was made. */
  readonly since: string;
  /** Scopes that operations needed which it asked for since. */
  readonly usedScopes: readonly string[];
  /** Scopes of the key that none of these operations needed. */
  readonly unusedScopes: readonly string[];
  /** The most that it may become where it is an OAuth client's; null: it has a secret. */
  readonly grant: LetInGrant | null;
}

type ImpactDependencies = Pick<StoreDependencies, 'database' | 'clock' | 'catalogue' | 'longestAccessMs'>;

/** Reads the impact of a key. Runs two statements, or three for the key of an OAuth client. */
export async function readImpact(
  { database: { db }, clock, catalogue, longestAccessMs }: ImpactDependencies,
  key: ApiKey,
  account: Account,
): Promise<ApiKeyImpact> {
  const now = clock.now();
  const calendar = calendarOf(account.timeZone, account.billingDay);
  const today = calendar.dayAt(now);
  const yesterday = calendar.dayAt(today.startMs - 1).label;
  const days = [...Array(SCOPE_DAYS + 1).keys()].map((ago) => labelDaysBefore(today.label, ago));
  const uses = await readKeyUsage(db, { accountId: account.id, keyId: key.id }, days, yesterday);
  const secrets = await db
    .selectFrom('api_key_secret')
    .select(['created_at', 'expires_at', 'last_used_at', 'last_used_ip'])
    .where('api_key_id', '=', key.id)
    .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', now)]))
    .limit(2)
    .execute();
  const lastUses = secrets.map(
    ({ created_at: createdAt, expires_at: expiresAt, last_used_at: lastUsedAt, last_used_ip: lastUsedIp }) => ({
      createdAt,
      expiresAt,
      lastUsedAt,
      lastUsedIp,
    }),
  );
  const oldest = Math.max(calendar.dayAt(key.createdAt).label, days.at(-1) ?? 0);
  return {
    recent: recentOf(uses, yesterday, today.label),
    currentSecret: lastUses.find(({ expiresAt }) => expiresAt === null) ?? null,
    oldSecret: lastUses.find(({ expiresAt }) => expiresAt !== null) ?? null,
    since: dateOf(oldest),
    ...scopesOf(key, uses, catalogue.scopesOfOperations()),
    grant: key.oauthClient === null ? null : await readGrant(db, key, longestAccessMs?.() ?? 0),
  };
}

function recentOf(uses: readonly OperationUse[], from: number, to: number): ApiKeyImpact['recent'] {
  const called = uses.filter(({ recent }) => recent > 0);
  return {
    from: dateOf(from),
    to: dateOf(to),
    requests: called.reduce((sum, { recent }) => sum + recent, 0),
    operations: called.slice(0, MOST_SHOWN).map(({ operation, recent }) => ({ operation, requests: recent })),
  };
}

/** Also what was refused counts as use: a scope that a caller reckons with is not taken away for being unused. */
function scopesOf(
  key: ApiKey,
  uses: readonly OperationUse[],
  byOperation: ReadonlyMap<string, readonly string[]>,
): Pick<ApiKeyImpact, 'usedScopes' | 'unusedScopes'> {
  const needed = new Set(uses.flatMap(({ operation }) => byOperation.get(operation) ?? []));
  const isWhole = uses.length < MOST_OPERATIONS;
  const isUsed = (scope: string): boolean => [...needed].some((each) => missingScopes([scope], [each]).length === 0);
  return {
    usedScopes: [...needed].filter((each) => missingScopes(key.scopes, [each]).length === 0).toSorted(),
    unusedScopes: isWhole ? key.scopes.filter((scope) => !isUsed(scope)) : [],
  };
}

/** The label of a day so many before it. */
function labelDaysBefore(label: number, days: number): number {
  const noon = Date.parse(`${dateOf(label)}T12:00:00Z`) - days * DAY_MS;
  return Number(new Date(noon).toISOString().slice(0, 10).replaceAll('-', ''));
}
