/** A key as the request path holds it in memory: its record, and everything that can be worked out from it once. */
import type { BlockList } from 'node:net';
import type { GatewayFile } from '../config/schema.js';
import { calendarOf } from '../quotas/month-period.js';
import { limitsOf, QuotaSubject } from '../quotas/policies.js';
import { addressList } from './address-list.js';
import type { ApiKeyRecord } from './api-key.js';
import type { ScopeSet, ScopeSets } from './scopes.js';

export class KnownKey {
  /** When the database last confirmed the record, ms. */
  checkedAtMs: number;
  /** True after a re-check failed: the next ones run behind the request instead of in front of it. */
  recheckFailed = false;
  /** When its use was last noted for `last_used_at`, ms. */
  useNotedAtMs = 0;

  constructor(
    readonly record: ApiKeyRecord,
    readonly scopes: ScopeSet,
    readonly allowedAddresses: BlockList | undefined,
    /** Undefined where the account's plan is not in the configuration: then nothing can be decided. */
    readonly subject: QuotaSubject | undefined,
    nowMs: number,
  ) {
    this.checkedAtMs = nowMs;
  }
}

/** Builds known keys from records, by the plans of the running configuration. */
export class KnownKeyFactory {
  constructor(
    private readonly plans: GatewayFile['plans'],
    private readonly scopeSets: ScopeSets,
  ) {}

  /** @param previous what this key was known as before; its quota subject lives on where nothing about it changed. */
  build(record: ApiKeyRecord, nowMs: number, previous: KnownKey | undefined): KnownKey {
    const plan = this.plans[record.plan];
    const before = previous?.record;
    const calendar = calendarOf(record.timeZone, record.billingDay);
    const unchanged = before?.plan === record.plan && previous?.subject?.calendar === calendar;
    const subject =
      unchanged || plan === undefined
        ? previous?.subject
        : new QuotaSubject(record.accountId, record.keyId, limitsOf(plan), plan.onRedisLoss, calendar, plan.charge);
    return new KnownKey(
      record,
      this.scopeSets.of(record.scopes),
      addressList(record.allowedIps),
      plan === undefined ? undefined : subject,
      nowMs,
    );
  }
}
