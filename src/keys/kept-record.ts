/**
 * Records as they stay in memory. There may be a hundred thousand, and nearly all of them say the same but for hash and
 * id: what keys of one account, and what keys of one kind have in common, is one object for all of them.
 */
import { NO_LIMIT_CHANGES } from '../quota/model/effective-limits.js';
import { InternTable } from '../platform/intern-table.js';
import type { ApiKeyRecord } from './api-key.js';

/** What a record says of its account. */
export type AccountPart = Pick<ApiKeyRecord, 'accountId' | 'accountStatus' | 'plan' | 'timeZone' | 'billingDay'>;

/** What it says of the key, but for which one it is. */
export type KeyPart = Pick<
  ApiKeyRecord,
  'keyStatus' | 'environment' | 'scopes' | 'expiresAt' | 'rotatedOut' | 'allowedIps' | 'limitChanges'
>;

export class KeptRecord implements ApiKeyRecord {
  constructor(
    readonly hash: string,
    readonly keyId: string,
    readonly account: AccountPart,
    readonly key: KeyPart,
  ) {}

  /** A record as it stays. What it shares with others is for `RecordKeeper` to find. */
  static of(record: ApiKeyRecord): KeptRecord {
    return record instanceof KeptRecord
      ? record
      : new KeptRecord(record.hash, record.keyId, accountPart(record), keyPart(record));
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

export class RecordKeeper {
  /** By sets of scopes; there are few, but a program may make one for each key. */
  private readonly usual = new InternTable<KeyPart>();

  /** The same record. @param account what another key of its account has kept, if one has. */
  keep(record: ApiKeyRecord, account: AccountPart | undefined): KeptRecord {
    const part = account !== undefined && areSameAccounts(account, record) ? account : accountPart(record);
    return new KeptRecord(record.hash, record.keyId, part, this.keyPart(record));
  }

  private keyPart(record: ApiKeyRecord): KeyPart {
    if (!isUsual(record)) return keyPart(record);
    const name = `${record.environment} ${record.scopes.join(' ')}`;
    return this.usual.get(name) ?? this.usual.keep(name, keyPart(record));
  }
}

/**
 * A key like most: nothing sets it apart from others with its scopes. Every other field of `KeyPart` is looked at here:
 * one that is left out would be that of whichever key was read first.
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
