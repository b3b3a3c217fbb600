/** Authenticates the secrets of API keys, and checks whether the keys can be used now. */
import type { Clock } from '../platform/clock.js';
import { Problem } from '../platform/problems/errors.js';
import { DO_NOT_RETRY } from '../platform/problems/retry-after.js';
import { digestOf, isOwnFormat } from './api-key-format.js';
import type { ApiKeyCache } from './api-key-cache.js';
import { MALFORMED_KEY, refusedKey } from './bearer.js';
import type { CachedKey } from './cached-key.js';
import type { ForeignKeys } from './foreign-keys.js';
import type { LastUsed } from './last-used.js';
import { scopeProblem } from './scope-problem.js';
import { missingScopes } from './scopes.js';

/**
 * DeniedKey is the 403 for an existing key that cannot be used now. It holds the key, so that the refusal can be
 * recorded in the usage of the key.
 */
export class DeniedKey extends Problem {
  constructor(
    code: 'ip_not_allowed' | 'account_suspended' | 'key_paused',
    detail: string,
    readonly key: CachedKey,
    headers?: readonly string[],
  ) {
    super(code, headers === undefined ? { detail } : { detail, headers });
  }
}

const UNKNOWN_KEY = refusedKey('invalid_api_key', 'There is no such API key.');
const REVOKED_KEY = refusedKey('revoked_api_key', 'This API key has been revoked. Use another one.');
const EXPIRED_KEY = refusedKey('expired_api_key', 'This API key has expired. Use another one.');
const ROTATED_KEY = refusedKey(
  'expired_api_key',
  'This API key was rotated and its overlap has ended. Use the new secret.',
);

export class Authenticator {
  constructor(
    private readonly cache: ApiKeyCache,
    private readonly foreign: ForeignKeys,
    private readonly lastUsed: LastUsed,
    private readonly clock: Clock,
  ) {}

  /**
   * Authenticates a secret, and records the use of its key.
   * @param secret well-formed or foreign secret, see `bearerSecret`.
   * @param address IP address of the client.
   * @returns the key, a 401 (`invalid_api_key`, `revoked_api_key`, `expired_api_key`), or a 403 as `DeniedKey`
   *   (`key_paused`, `ip_not_allowed`, `account_suspended`). The promise rejects with `authentication_unavailable`.
   */
  authenticate(secret: string, address: string): CachedKey | Problem | Promise<CachedKey | Problem> {
    const found = this.lookUp(secret);
    return found instanceof Promise
      ? found.then((key) => this.decide(key, address, secret))
      : this.decide(found, address, secret);
  }

  /**
   * Looks up the key of a secret without recording a use. For counters; never for authentication. The promise rejects
   * with `authentication_unavailable`.
   * @returns `unknown` if there is no such key, `unusable` for a key that would be refused now.
   */
  lookUpForCounting(
    secret: string,
    address: string,
  ): CachedKey | 'unknown' | 'unusable' | Promise<CachedKey | 'unknown' | 'unusable'> {
    const verdict = (key: CachedKey | undefined): CachedKey | 'unknown' | 'unusable' => {
      if (key === undefined) return 'unknown';
      return problemOf(key, address, this.clock.now()) === undefined ? key : 'unusable';
    };
    const found = this.lookUp(secret);
    return found instanceof Promise ? found.then(verdict) : verdict(found);
  }

  /**
   * Looks up the key of a secret without recording a use, even if the key would be refused now. Resolves to undefined
   * if there is no such key. Rejects with `authentication_unavailable`.
   */
  async find(secret: string): Promise<CachedKey | undefined> {
    return this.lookUp(secret);
  }

  /**
   * Returns the cached key of a secret without recording a use. The key may be refused now. Undefined if the key is not
   * cached.
   */
  ownerOf(secret: string): CachedKey | undefined {
    return this.cache.peek(digestOf(secret));
  }

  /**
   * Checks a key again during a long request, without recording a use. Never rejects.
   * @param hash digest of the secret, see `digestOf`.
   * @param needed scopes of the operation.
   * @returns the problem with which to end the request. Undefined if the key is still valid, or if the lookup fails.
   */
  async recheck(hash: string, address: string, needed: readonly string[]): Promise<Problem | undefined> {
    let key: CachedKey | undefined;
    try {
      key = await this.cache.find(hash);
    } catch {
      return undefined;
    }
    if (key === undefined) return UNKNOWN_KEY;
    const { scopes } = key.scopeSet;
    const lacksScopes = missingScopes(scopes, needed).length > 0;
    return problemOf(key, address, this.clock.now()) ?? (lacksScopes ? scopeProblem(scopes, needed) : undefined);
  }

  /**
   * Returns the error with which a key would be refused now, or undefined. Records no use.
   * @param address IP address of the client. Undefined to skip the check of the address.
   */
  previewProblem(key: CachedKey, address: string | undefined): Problem | undefined {
    return problemOf(key, address, this.clock.now());
  }

  private lookUp(secret: string): CachedKey | undefined | Promise<CachedKey | undefined> {
    if (isOwnFormat(secret)) return this.cache.find(digestOf(secret));
    const mayExist = this.foreign.mayExist();
    const find = (may: boolean) => (may ? this.cache.find(digestOf(secret)) : undefined);
    return mayExist instanceof Promise ? mayExist.then(find) : find(mayExist);
  }

  private decide(key: CachedKey | undefined, address: string, secret: string): CachedKey | Problem {
    if (key === undefined) return isOwnFormat(secret) ? UNKNOWN_KEY : MALFORMED_KEY;
    const now = this.clock.now();
    const problem = problemOf(key, address, now);
    if (problem !== undefined) return problem;
    this.lastUsed.record(key, now, address);
    return key;
  }
}

/**
 * Returns the error with which a key is refused at a time, or undefined.
 * @param address IP address of the client. Undefined to skip the check of the address.
 */
function problemOf(key: CachedKey, address: string | undefined, nowMs: number): Problem | undefined {
  const { record } = key;
  // For active keys, this one comparison replaces the checks of the other states.
  if (record.keyStatus !== 'active') return inactiveProblem(key, nowMs);
  if (record.expiresAt !== null && nowMs >= record.expiresAt) return expiredProblem(record);
  if (address !== undefined && key.allowedAddresses !== undefined && !key.allowedAddresses.holds(address)) {
    const detail = `This API key can only be used from its allowed addresses, and ${address} is not one of them.`;
    return new DeniedKey('ip_not_allowed', detail, key);
  }
  if (record.accountStatus === 'suspended') {
    const detail = 'The account that this API key belongs to is suspended. Its owner can find out why.';
    return new DeniedKey('account_suspended', detail, key);
  }
  return undefined;
}

/** Returns the error for a revoked or paused key. A paused key that has also expired is reported as expired. */
function inactiveProblem(key: CachedKey, nowMs: number): Problem {
  const { keyStatus, expiresAt } = key.record;
  if (keyStatus === 'revoked') return REVOKED_KEY;
  if (expiresAt !== null && nowMs >= expiresAt) return expiredProblem(key.record);
  const detail = 'This API key is paused. An administrator of the account can resume it.';
  return new DeniedKey('key_paused', detail, key, DO_NOT_RETRY);
}

function expiredProblem({ rotatedOut }: Pick<CachedKey['record'], 'rotatedOut'>): Problem {
  return rotatedOut ? ROTATED_KEY : EXPIRED_KEY;
}
