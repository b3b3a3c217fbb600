/**
 * Reads what a change or revocation of a key would affect, as a preview for the caller. The result has the key's usage,
 * the last uses of its secrets, and its unused scopes.
 */
import { calendarOf } from '../quota/model/month-period.js';
import { missingScopes } from '../keys/scopes.js';
import { dateOf } from '../quota/usage/usage-query.js';
import { MAX_OPERATIONS, readKeyUsage, type OperationUse } from '../quota/usage/key-usage.js';
import type { Account, StoreDependencies } from './accounts.js';
import type { ApiKey } from './api-key-rows.js';
import { readGrant, type OAuthGrant } from './oauth-client-keys.js';

/**
 * Number of days before today whose usage is searched for used scopes. Thirty days include tasks that run once a month.
 */
const SCOPE_DAYS = 30;
const DAY_MS = 86_400_000;
/** Maximum length of `recent.operations`. The sum `recent.requests` includes the omitted operations. */
const MAX_SHOWN = 50;

/**
 * SecretLastUse describes the lifetime and the last use of a secret. Times are in milliseconds since the epoch. The
 * last use is null if the secret was never used.
 */
export interface SecretLastUse {
  readonly createdAt: number;
  /** End of the overlap. Null for the current secret. */
  readonly expiresAt: number | null;
  readonly lastUsedAt: number | null;
  readonly lastUsedIp: string | null;
}

/** ApiKeyImpact describes the use of a key, as of the last write of usage to the database. */
export interface ApiKeyImpact {
  /** Admitted requests of yesterday and today, in the account's time zone. Dates have the form `2026-11-20`. */
  readonly recent: {
    readonly from: string;
    readonly to: string;
    readonly requests: number;
    /** Most requested operations first, at most 50. */
    readonly operations: readonly { readonly operation: string; readonly requests: number }[];
  };
  readonly currentSecret: SecretLastUse | null;
  /** Previous secret during the overlap of a rotation. Null if only the current secret works. */
  readonly oldSecret: SecretLastUse | null;
  /**
   * First day of the search for used scopes: 30 days ago, or the day on which the key was created if that day is later.
   */
  readonly since: string;
  /** Scopes of the key that the operations requested since that day require. */
  readonly usedScopes: readonly string[];
  /** Scopes of the key that no requested operation requires. Empty if the key requested too many operations to tell. */
  readonly unusedScopes: readonly string[];
  /** Maximum access of an OAuth client's key. Null if the key has a secret. */
  readonly grant: OAuthGrant | null;
}

type ImpactDependencies = Pick<StoreDependencies, 'database' | 'clock' | 'catalogue' | 'longestAccessMs'>;

/**
 * Reads the impact of a key. Runs two database queries, or three for the key of an OAuth client. Rejects with the
 * database's error.
 */
export async function readImpact(
  { database: { db }, clock, catalogue, longestAccessMs }: ImpactDependencies,
  key: ApiKey,
  account: Account,
): Promise<ApiKeyImpact> {
  const now = clock.now();
  const calendar = calendarOf(account.timeZone, account.billingDay);
  const today = calendar.dayAt(now);
  const yesterday = calendar.dayAt(today.startMs - 1).label;
  const days = [...Array(SCOPE_DAYS + 1).keys()].map((daysAgo) => labelDaysBefore(today.label, daysAgo));
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
    operations: called.slice(0, MAX_SHOWN).map(({ operation, recent }) => ({ operation, requests: recent })),
  };
}

/**
 * Compares the key's scopes with the scopes of the requested operations. Refused requests count as use too, because
 * their caller relies on the scope.
 */
function scopesOf(
  key: ApiKey,
  uses: readonly OperationUse[],
  byOperation: ReadonlyMap<string, readonly string[]>,
): Pick<ApiKeyImpact, 'usedScopes' | 'unusedScopes'> {
  const needed = new Set(uses.flatMap(({ operation }) => byOperation.get(operation) ?? []));
  const isComplete = uses.length < MAX_OPERATIONS;
  const isUsed = (scope: string): boolean => [...needed].some((each) => missingScopes([scope], [each]).length === 0);
  return {
    usedScopes: [...needed].filter((each) => missingScopes(key.scopes, [each]).length === 0).toSorted(),
    unusedScopes: isComplete ? key.scopes.filter((scope) => !isUsed(scope)) : [],
  };
}

/** Returns the label of the day that is `days` days earlier. Labels have the form 20261120. */
function labelDaysBefore(label: number, days: number): number {
  const noon = Date.parse(`${dateOf(label)}T12:00:00Z`) - days * DAY_MS;
  return Number(new Date(noon).toISOString().slice(0, 10).replaceAll('-', ''));
}
