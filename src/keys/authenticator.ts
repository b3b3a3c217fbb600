/** Who is calling: from the secret that was sent to a key that may be used now, from here. */
import type { Clock } from '../platform/clock.js';
import { Problem } from '../platform/problems/errors.js';
import { DO_NOT_RETRY } from '../platform/problems/retry-after.js';
import { digestOf } from './api-key-format.js';
import type { ApiKeyCache } from './api-key-cache.js';
import { refusedKey } from './bearer.js';
import type { CachedKey } from './cached-key.js';
import type { LastUsed } from './last-used.js';
import { scopeProblem } from './scope-problem.js';
import { missingScopes } from './scopes.js';

/** A key that is known and alive was refused all the same: 403. Whoever keeps usage learns which. */
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
    private readonly lastUsed: LastUsed,
    private readonly clock: Clock,
  ) {}

  /**
   * The key that a secret belongs to, or why it may not be used: 401 `invalid_api_key`, `revoked_api_key`,
   * `expired_api_key`; 403 `key_paused`, `ip_not_allowed`, `account_suspended`, all three as `DeniedKey`.
   * @param secret well formed, see `bearerSecret`.
   * @param address where the request comes from.
   * @throws Problem 503 `authentication_unavailable`: the promise rejects.
   */
  authenticate(secret: string, address: string): CachedKey | Problem | Promise<CachedKey | Problem> {
    const found = this.cache.find(digestOf(secret));
    return found instanceof Promise ? found.then((key) => this.judge(key, address)) : this.judge(found, address);
  }

  /**
   * The key that a secret belongs to, for whoever counts and lets nobody in: no use of the key, and not said to
   * anybody.
   * @throws Problem 503 `authentication_unavailable`: the promise rejects.
   */
  recognise(
    secret: string,
    address: string,
  ): CachedKey | 'unknown' | 'unusable' | Promise<CachedKey | 'unknown' | 'unusable'> {
    const verdict = (key: CachedKey | undefined): CachedKey | 'unknown' | 'unusable' => {
      if (key === undefined) return 'unknown';
      return unusable(key, address, this.clock.now()) === undefined ? key : 'unusable';
    };
    const found = this.cache.find(digestOf(secret));
    return found instanceof Promise ? found.then(verdict) : verdict(found);
  }

  /**
   * Looks up the key of a secret, also one that may not be used, without recording a use. Undefined: there is none.
   * Rejects with `authentication_unavailable`.
   */
  async find(secret: string): Promise<CachedKey | undefined> {
    return this.cache.find(digestOf(secret));
  }

  /** The key that a secret belongs to, also one that may not be used, as far as it is in memory. Is no use of it. */
  ownerOf(secret: string): CachedKey | undefined {
    return this.cache.peek(digestOf(secret));
  }

  /**
   * Why a key that was let in may not go on with what it does; undefined: it may, or nobody can tell at the moment. Is
   * no use of the key. Never rejects.
   * @param hash of the secret that was presented.
   * @param needed scopes of the operation.
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
    const mayNot = missingScopes(scopes, needed).length > 0;
    return unusable(key, address, this.clock.now()) ?? (mayNot ? scopeProblem(scopes, needed) : undefined);
  }

  /**
   * Why a known key would be refused now; undefined: it would be let in. Is no use of the key. @param address
   * undefined: from anywhere.
   */
  foretell(key: CachedKey, address: string | undefined): Problem | undefined {
    return unusable(key, address, this.clock.now());
  }

  private judge(key: CachedKey | undefined, address: string): CachedKey | Problem {
    if (key === undefined) return UNKNOWN_KEY;
    const now = this.clock.now();
    const problem = unusable(key, address, now);
    if (problem !== undefined) return problem;
    this.lastUsed.note(key, now, address);
    return key;
  }
}

/**
 * Why a key may not be used now, from here.
 * @param address undefined: from anywhere.
 */
function unusable(key: CachedKey, address: string | undefined, nowMs: number): Problem | undefined {
  const { record } = key;
  // A key that is in force pays one comparison, as many states as there may be.
  if (record.keyStatus !== 'active') return outOfForce(key, nowMs);
  if (record.expiresAt !== null && nowMs >= record.expiresAt) return expired(record);
  if (address !== undefined && key.allowedAddresses !== undefined && !key.allowedAddresses.holds(address)) {
    const detail = `This API key may only be used from the addresses on its list; ${address} is not one of them.`;
    return new DeniedKey('ip_not_allowed', detail, key);
  }
  if (record.accountStatus === 'suspended') {
    const detail = 'The account that this API key belongs to is suspended. Its owner can find out why.';
    return new DeniedKey('account_suspended', detail, key);
  }
  return undefined;
}

/** Of a key that is revoked or paused. What ends for good comes before what may go on. */
function outOfForce(key: CachedKey, nowMs: number): Problem {
  const { keyStatus, expiresAt } = key.record;
  if (keyStatus === 'revoked') return REVOKED_KEY;
  if (expiresAt !== null && nowMs >= expiresAt) return expired(key.record);
  const detail = 'This API key is paused. Whoever manages it can let it go on.';
  return new DeniedKey('key_paused', detail, key, DO_NOT_RETRY);
}

function expired({ rotatedOut }: Pick<CachedKey['record'], 'rotatedOut'>): Problem {
  return rotatedOut ? ROTATED_KEY : EXPIRED_KEY;
}
