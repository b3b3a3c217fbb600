/** Kept records equal the database records, and share common parts. */
import { describe, expect, it } from '@jest/globals';
import { keyRecord } from '../../test/support/key-records.js';
import { NO_LIMIT_CHANGES } from '../quota/model/effective-limits.js';
import type { ApiKeyRecord } from './api-key.js';
import { RecordCompactor, type CompactRecord } from './compact-record.js';

const FIELDS = keyRecord();

const OTHERS: readonly Partial<ApiKeyRecord>[] = [
  { hash: 'b' },
  { keyId: 'key_2' },
  { accountId: 'acc_2' },
  { keyStatus: 'revoked' },
  { environment: 'test' },
  { scopes: [] },
  { expiresAt: 1_900_000_000_000 },
  { rotatedOut: true },
  { allowedIps: ['192.0.2.1'] },
  { accountStatus: 'suspended' },
  { plan: 'pro' },
  { timeZone: 'Asia/Tokyo' },
  { billingDay: 31 },
  { limitChanges: { ...NO_LIMIT_CHANGES, keyLimits: { minute: 1 } } },
];

function fieldsOf(compact: CompactRecord): ApiKeyRecord {
  const names = Object.keys(FIELDS) as (keyof ApiKeyRecord)[];
  return Object.fromEntries(names.map((name) => [name, compact[name]])) as unknown as ApiKeyRecord;
}

describe('a compact record', () => {
  it.each(OTHERS)('is not confused with another that differs in %j', (difference) => {
    const compactor = new RecordCompactor();
    const first = compactor.compactRecord(FIELDS, undefined);
    const other = { ...FIELDS, ...difference };
    const second = compactor.compactRecord(other, first.account);
    expect([fieldsOf(first), fieldsOf(second)]).toEqual([FIELDS, other]);
  });

  it('is tested with a difference in every field', () => {
    expect(OTHERS.flatMap((other) => Object.keys(other)).toSorted()).toEqual(Object.keys(FIELDS).toSorted());
  });

  it('shares its account with a key of the same account', () => {
    const compactor = new RecordCompactor();
    const { account } = compactor.compactRecord(FIELDS, undefined);
    expect(compactor.compactRecord({ ...FIELDS, hash: 'b', scopes: ['*'] }, account).account).toBe(account);
  });
});
