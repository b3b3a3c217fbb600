/** Creates key records as the database returns them. */
import type { ApiKeyRecord } from '../../src/keys/api-key.js';
import { NO_LIMIT_CHANGES } from '../../src/quota/model/effective-limits.js';

/** Returns a record of an active live key of `acc_1` on the plan `starter`, with the given changes. */
export function keyRecord(changes: Partial<ApiKeyRecord> = {}): ApiKeyRecord {
  return {
    hash: 'a',
    keyId: 'key_1',
    accountId: 'acc_1',
    keyStatus: 'active',
    environment: 'live',
    scopes: ['customers:read'],
    expiresAt: null,
    rotatedOut: false,
    allowedIps: [],
    accountStatus: 'active',
    plan: 'starter',
    timeZone: 'UTC',
    billingDay: 1,
    limitChanges: NO_LIMIT_CHANGES,
    ...changes,
  };
}
