/** A key as the request path holds it in memory: its record, and everything that can be worked out from it once. */
import type { GatewayFile } from '../config/model/schema.js';
import { calendarOf } from '../quota/model/month-period.js';
import { effectiveLimits, hasGrantIn } from '../quota/model/effective-limits.js';
import type { Logger } from '../platform/log.js';
import type { NetworkList } from '../platform/network-list.js';
import { QuotaSubject, ShadowSubject, type QuotaTerms } from '../quota/model/subject.js';
import { areSameTerms, TermsTable } from '../quota/model/terms-table.js';
import { AllowedNetworks } from './allowed-networks.js';
import type { ApiKeyRecord } from './api-key.js';
import { KeptRecord } from './kept-record.js';
import { ScopeSets, type ScopeSet } from './scopes.js';

/** What sets a key apart from nearly all others. */
interface KeyExceptions {
  readonly allowedAddresses: NetworkList | undefined;
  readonly limitsUntilMs: number | undefined;
}

/**
 * There is one for every key in use (test/performance/used-keys.spec.ts): it is its record and does not hold one,
 * instants are whole seconds, which V8 keeps in the field itself, and every field has a value from the beginning.
 */
export class CachedKey extends KeptRecord {
  /** True after a re-check failed: the next ones run behind the request instead of in front of it. */
  recheckFailed = false;
  /** Since somebody last looked; belongs to `CachedKeys`, as the next two. */
  wasUsed = false;
  nextOfAccount: CachedKey | undefined = undefined;
  previousOfAccount: CachedKey | undefined = undefined;
  private readonly checkedAtSecond: number;
  private useNotedAtSecond = 0;
  private readonly exceptions: KeyExceptions | undefined;

  constructor(
    record: KeptRecord,
    readonly scopeSet: ScopeSet,
    /** Undefined where the account's plan is not in the configuration: then nothing can be decided. */
    readonly subject: QuotaSubject | undefined,
    checkedAtMs: number,
    exceptions: KeyExceptions,
  ) {
    super(record.hash, record.keyId, record.account, record.key);
    this.checkedAtSecond = Math.floor(checkedAtMs / 1_000);
    // Every exception is looked at here: one that is left out would be forgotten, and the key let in.
    const isUsual = exceptions.allowedAddresses === undefined && exceptions.limitsUntilMs === undefined;
    this.exceptions = isUsual ? undefined : exceptions;
  }

  /** What the database says of it. */
  get record(): ApiKeyRecord {
    return this;
  }

  /** Undefined: it may be used from anywhere. */
  get allowedAddresses(): NetworkList | undefined {
    return this.exceptions?.allowedAddresses;
  }

  /** When its limits change by themselves, because a grant ends (ms); undefined: most never do. */
  get limitsUntilMs(): number | undefined {
    return this.exceptions?.limitsUntilMs;
  }

  /** Whether it was built by these rules. */
  follows(rules: KeyRules): boolean {
    return this.scopeSet.owner === rules.scopeSets;
  }

  /** When the database last confirmed the record, ms; not later than it did, and less than a second earlier. */
  get checkedAtMs(): number {
    return this.checkedAtSecond * 1_000;
  }

  /** When its use was last noted for `last_used_at`, ms; as exact. */
  get useNotedAtMs(): number {
    return this.useNotedAtSecond * 1_000;
  }

  set useNotedAtMs(ms: number) {
    this.useNotedAtSecond = Math.floor(ms / 1_000);
  }
}

/** What the running configuration says of keys; another object after each change of it. */
export interface KeyRules {
  readonly plans: GatewayFile['plans'];
  readonly scopeSets: ScopeSets;
}

/** Builds known keys from records, by the plans of the running configuration. */
export class CachedKeyFactory {
  private inForce: KeyRules;
  private readonly terms = new TermsTable();
  private readonly networks: AllowedNetworks;

  constructor(plans: GatewayFile['plans'], scopeSets: ScopeSets, log?: Logger) {
    this.inForce = { plans, scopeSets };
    this.networks = new AllowedNetworks(log);
  }

  /** Known keys that were built by other rules have to be built anew. */
  get rules(): KeyRules {
    return this.inForce;
  }

  /** Builds by these plans from now on. */
  use(plans: GatewayFile['plans']): void {
    // What an operation asks for may have changed as well.
    this.inForce = { plans, scopeSets: new ScopeSets() };
  }

  /**
   * @param checkedAtMs when the record was read.
   * @param previous what this key was known as before; its quota subject lives on where nothing about it changed.
   * @param nowMs the instant that the limits are for.
   */
  build(
    record: ApiKeyRecord,
    checkedAtMs: number,
    previous: CachedKey | undefined,
    nowMs: number = checkedAtMs,
  ): CachedKey {
    const { label, endMs } = calendarOf(record.timeZone, record.billingDay).at(nowMs);
    return new CachedKey(
      KeptRecord.of(record),
      this.inForce.scopeSets.of(record.scopes),
      this.subject(record, label, previous),
      checkedAtMs,
      {
        allowedAddresses: this.networks.read(record.allowedIps, record.keyId),
        limitsUntilMs: hasGrantIn(record.limitChanges, label) ? endMs : undefined,
      },
    );
  }

  private subject(record: ApiKeyRecord, label: number, previous: CachedKey | undefined): QuotaSubject | undefined {
    // A plan of this name may have been configured once; what every object has is none.
    const plan = Object.hasOwn(this.inForce.plans, record.plan) ? this.inForce.plans[record.plan] : undefined;
    if (plan === undefined) return undefined;
    const calendar = calendarOf(record.timeZone, record.billingDay);
    const { onRedisLoss, charge, shadow } = plan;
    const limits = effectiveLimits(plan, record.limitChanges, label);
    const terms = this.terms.of(limits, onRedisLoss, calendar, charge);
    const shadowTerms =
      shadow === undefined
        ? undefined
        : this.terms.of(effectiveLimits(shadow, record.limitChanges, label), 'local', calendar, charge);
    const before = previous?.subject;
    if (
      before !== undefined &&
      previous?.record.plan === record.plan &&
      areSameTerms(before.terms, terms) &&
      isSameShadow(before.shadow, shadowTerms)
    ) {
      return before;
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
