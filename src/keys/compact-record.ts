/**
 * Stores records of API keys with little memory. Nearly all keys differ only in their hash and ID. So the keys of an
 * account share one object with the account's data. Keys with the same properties share one object with these
 * properties.
 */
import { NO_LIMIT_CHANGES } from '../quota/model/effective-limits.js';
import { InternTable } from '../platform/intern-table.js';
import type { ApiKeyRecord } from './api-key.js';

/** AccountPart holds the account fields of a record. */
export type AccountPart = Pick<ApiKeyRecord, 'accountId' | 'accountStatus' | 'plan' | 'timeZone' | 'billingDay'>;

/** KeyPart holds the key fields of a record, except for the hash and the ID. */
export type KeyPart = Pick<
  ApiKeyRecord,
  'keyStatus' | 'environment' | 'scopes' | 'expiresAt' | 'rotatedOut' | 'allowedIps' | 'limitChanges'
>;

export class CompactRecord implements ApiKeyRecord {
  constructor(
    readonly hash: string,
    readonly keyId: string,
    readonly account: AccountPart,
    readonly key: KeyPart,
  ) {}

  /**
   * Converts a record. Returns a `CompactRecord` unchanged. Otherwise, the result shares no parts with other records.
   * To share parts, use `RecordCompactor`.
   */
  static from(record: ApiKeyRecord): CompactRecord {
    return record instanceof CompactRecord
      ? record
      : new CompactRecord(record.hash, record.keyId, accountPart(record), keyPart(record));
  }

  get accountId(): string {
    return this.account.accountId;
  }

  get accountStatus(): ApiKeyRecord['accountStatus'] {
    return this.account.accountStatus;
  }

  get plan(): string {
    return this.account.plan;
  }

  get timeZone(): string {
    return this.account.timeZone;
  }

  get billingDay(): number {
    return this.account.billingDay;
  }

  get keyStatus(): ApiKeyRecord['keyStatus'] {
    return this.key.keyStatus;
  }

  get environment(): ApiKeyRecord['environment'] {
    return this.key.environment;
  }

  get scopes(): readonly string[] {
    return this.key.scopes;
  }

  get expiresAt(): number | null {
    return this.key.expiresAt;
  }

  get rotatedOut(): boolean {
    return this.key.rotatedOut;
  }

  get allowedIps(): readonly string[] {
    return this.key.allowedIps;
  }

  get limitChanges(): ApiKeyRecord['limitChanges'] {
    return this.key.limitChanges;
  }
}

export class RecordCompactor {
  /** Key parts by environment and scopes. The size is limited, because every key could have different scopes. */
  private readonly usual = new InternTable<KeyPart>();

  /**
   * Converts a record. The result shares its parts with other records if they are equal.
   * @param account the part of another key of the same account, or undefined if no key of the account is cached.
   */
  compactRecord(record: ApiKeyRecord, account: AccountPart | undefined): CompactRecord {
    const part = account !== undefined && areSameAccounts(account, record) ? account : accountPart(record);
    return new CompactRecord(record.hash, record.keyId, part, this.keyPart(record));
  }

  private keyPart(record: ApiKeyRecord): KeyPart {
    if (!isUsual(record)) return keyPart(record);
    const name = `${record.environment} ${record.scopes.join(' ')}`;
    return this.usual.get(name) ?? this.usual.keep(name, keyPart(record));
  }
}

/**
 * Reports whether all fields of a key's part except environment and scopes have their usual values. Such a key is
 * active, does not expire, and allows all addresses without changes to its limits. The check must cover all other
 * fields of `KeyPart`. Otherwise, keys would share a part whose unchecked fields belong to another key.
 */
function isUsual({ keyStatus, expiresAt, rotatedOut, allowedIps, limitChanges }: ApiKeyRecord): boolean {
  const isPlain = keyStatus === 'active' && expiresAt === null && !rotatedOut;
  return isPlain && allowedIps.length === 0 && limitChanges === NO_LIMIT_CHANGES;
}

function keyPart(record: ApiKeyRecord): KeyPart {
  const { keyStatus, environment, scopes, expiresAt, rotatedOut, allowedIps, limitChanges } = record;
  return { keyStatus, environment, scopes, expiresAt, rotatedOut, allowedIps, limitChanges };
}

function accountPart({ accountId, accountStatus, plan, timeZone, billingDay }: ApiKeyRecord): AccountPart {
  return { accountId, accountStatus, plan, timeZone, billingDay };
}

function areSameAccounts(a: AccountPart, b: AccountPart): boolean {
  return (
    a.accountId === b.accountId &&
    a.accountStatus === b.accountStatus &&
    a.plan === b.plan &&
    a.timeZone === b.timeZone &&
    a.billingDay === b.billingDay
  );
}
