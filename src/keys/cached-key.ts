/** Represents API keys in memory: the database record, and the values that are derived from the record. */
import type { GatewayFile } from '../config/model/schema.js';
import { calendarOf } from '../quota/model/month-period.js';
import { effectiveLimits, hasGrantIn } from '../quota/model/effective-limits.js';
import type { Logger } from '../platform/log.js';
import type { NetworkList } from '../platform/network-list.js';
import { QuotaSubject, ShadowSubject, type QuotaTerms } from '../quota/model/subject.js';
import { areSameTerms, TermsTable } from '../quota/model/terms-table.js';
import { AllowedNetworks } from './allowed-networks.js';
import type { ApiKeyRecord } from './api-key.js';
import { CompactRecord } from './compact-record.js';
import { ScopeSets, type ScopeSet } from './scopes.js';

/** KeyExceptions are properties that most keys do not have. Keys without them share no object for these properties. */
interface KeyExceptions {
  readonly allowedAddresses: NetworkList | undefined;
  readonly limitsUntilMs: number | undefined;
}

/**
 * CachedKey is an API key in memory, with its scopes and quota subject. Optimized for size, because there is an object
 * for each key in use (`test/performance/used-keys.spec.ts`). The class extends the record instead of referencing it.
 * Times are stored in seconds, which V8 stores in the field itself. All fields are initialized, so that the shape of
 * the objects does not change.
 */
export class CachedKey extends CompactRecord {
  /** Whether the last attempt to read the key again failed. Requests then no longer wait for the next attempt. */
  recheckFailed = false;
  /** Second-chance flag for eviction. Only `CachedKeys` uses this field and the next two. */
  wasUsed = false;
  nextOfAccount: CachedKey | undefined = undefined;
  previousOfAccount: CachedKey | undefined = undefined;
  private readonly checkedAtSecond: number;
  private useNotedAtSecond = 0;
  private readonly exceptions: KeyExceptions | undefined;

  constructor(
    record: CompactRecord,
    readonly scopeSet: ScopeSet,
    /**
     * Quota subject of the key. Undefined if the plan of the account is not configured. No quota can be decided then.
     */
    readonly subject: QuotaSubject | undefined,
    checkedAtMs: number,
    exceptions: KeyExceptions,
  ) {
    super(record.hash, record.keyId, record.account, record.key);
    this.checkedAtSecond = Math.floor(checkedAtMs / 1_000);
    // This condition must check every exception. An exception that is not checked here would not be enforced.
    const isUsual = exceptions.allowedAddresses === undefined && exceptions.limitsUntilMs === undefined;
    this.exceptions = isUsual ? undefined : exceptions;
  }

  get record(): ApiKeyRecord {
    return this;
  }

  /** Networks of the clients that may use the key. Undefined to allow all. */
  get allowedAddresses(): NetworkList | undefined {
    return this.exceptions?.allowedAddresses;
  }

  /**
   * Time when a grant ends and the limits change, in ms since the epoch. Undefined if there is no grant in this month.
   */
  get limitsUntilMs(): number | undefined {
    return this.exceptions?.limitsUntilMs;
  }

  /** Reports whether the key was built with these rules. If not, the key must be built again. */
  wasBuiltWith(rules: KeyRules): boolean {
    return this.scopeSet.owner === rules.scopeSets;
  }

  /** Time when the record was last read from the database, in ms since the epoch. Rounded down to a second. */
  get checkedAtMs(): number {
    return this.checkedAtSecond * 1_000;
  }

  /** Time of the last recorded use, in ms since the epoch. Rounded down to a second. 0 if no use was recorded. */
  get useNotedAtMs(): number {
    return this.useNotedAtSecond * 1_000;
  }

  set useNotedAtMs(ms: number) {
    this.useNotedAtSecond = Math.floor(ms / 1_000);
  }
}

/** KeyRules are the settings with which keys are built. Each configuration change creates a new object. */
export interface KeyRules {
  readonly plans: GatewayFile['plans'];
  readonly scopeSets: ScopeSets;
}

/** CachedKeyFactory builds cached keys from records and the configured plans. */
export class CachedKeyFactory {
  private currentRules: KeyRules;
  private readonly terms = new TermsTable();
  private readonly networks: AllowedNetworks;

  constructor(plans: GatewayFile['plans'], scopeSets: ScopeSets, log?: Logger) {
    this.currentRules = { plans, scopeSets };
    this.networks = new AllowedNetworks(log);
  }

  /** Current rules. A key that was built with other rules must be built again. */
  get rules(): KeyRules {
    return this.currentRules;
  }

  /** Replaces the plans and the sets of scopes. Keys in the cache are built again when they are used. */
  replacePlans(plans: GatewayFile['plans']): void {
    // The required scopes of operations may have changed, too.
    this.currentRules = { plans, scopeSets: new ScopeSets() };
  }

  /**
   * Builds a cached key.
   * @param checkedAtMs time when the record was read, in ms since the epoch.
   * @param previous previous version of the key, if any. Its quota subject is reused if the limits are the same.
   * @param nowMs time for which the limits apply, in ms since the epoch.
   */
  build(
    record: ApiKeyRecord,
    checkedAtMs: number,
    previous: CachedKey | undefined,
    nowMs: number = checkedAtMs,
  ): CachedKey {
    const { label, endMs } = calendarOf(record.timeZone, record.billingDay).at(nowMs);
    return new CachedKey(
      CompactRecord.from(record),
      this.currentRules.scopeSets.getOrCreate(record.scopes),
      this.subject(record, label, previous),
      checkedAtMs,
      {
        allowedAddresses: this.networks.read(record.allowedIps, record.keyId),
        limitsUntilMs: hasGrantIn(record.limitChanges, label) ? endMs : undefined,
      },
    );
  }

  /** Returns the quota subject of a key, or undefined if the plan of the key is not configured. */
  private subject(record: ApiKeyRecord, label: number, previous: CachedKey | undefined): QuotaSubject | undefined {
    // The plan may no longer be configured. Inherited properties such as `constructor` are not plans.
    const plan = Object.hasOwn(this.currentRules.plans, record.plan) ? this.currentRules.plans[record.plan] : undefined;
    if (plan === undefined) return undefined;
    const calendar = calendarOf(record.timeZone, record.billingDay);
    const { onRedisLoss, charge, shadow } = plan;
    const limits = effectiveLimits(plan, record.limitChanges, label);
    const terms = this.terms.intern(limits, onRedisLoss, calendar, charge);
    const shadowTerms =
      shadow === undefined
        ? undefined
        : this.terms.intern(effectiveLimits(shadow, record.limitChanges, label), 'local', calendar, charge);
    const reusable = previous?.subject;
    if (
      reusable !== undefined &&
      previous?.record.plan === record.plan &&
      areSameTerms(reusable.terms, terms) &&
      isSameShadow(reusable.shadow, shadowTerms)
    ) {
      return reusable;
    }
    const { accountId, keyId } = record;
    const candidate =
      shadowTerms === undefined ? undefined : new ShadowSubject(accountId, keyId, record.plan, shadowTerms);
    return new QuotaSubject(accountId, keyId, terms, candidate);
  }
}

function isSameShadow(before: ShadowSubject | undefined, terms: QuotaTerms | undefined): boolean {
  if (before === undefined || terms === undefined) return before === terms;
  return areSameTerms(before.terms, terms);
}
