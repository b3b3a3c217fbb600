/** What is used and what is left, for `/usage` and the admin API. Reading counts nothing. */
import type { GatewayFile } from '../config/schema.js';
import { formatWithOffset } from '../rfc3339.js';
import { limitedWindows, remaining } from './headers.js';
import { effectiveLimits, type LimitChanges } from './effective-limits.js';
import { calendarOf } from './month-period.js';
import type { QuotaStorage } from './quota-storage.js';

/** One window of a usage report; `resets_at` is RFC 3339 with the account's offset. */
export interface UsageWindow {
  readonly policy: string;
  readonly limit: number;
  readonly used: number;
  readonly remaining: number;
  readonly resets_at: string;
}

export interface UsageReport {
  readonly account_id: string;
  readonly api_key_id: string | null;
  readonly plan: string;
  readonly windows: readonly UsageWindow[];
}

/** Whose usage is asked for. */
export interface UsageSubject {
  readonly accountId: string;
  /** Undefined: the account's own windows only. */
  readonly keyId: string | undefined;
  readonly plan: string;
  readonly timeZone: string;
  readonly billingDay: number;
  /** What makes its limits differ from the plan's. */
  readonly limitChanges: LimitChanges;
}

export class UsageReader {
  constructor(
    private readonly plans: GatewayFile['plans'],
    private readonly storage: QuotaStorage,
  ) {}

  /** Limits and counts of an account, and of one of its keys. Rejects while the counters are away. */
  async read(subject: UsageSubject): Promise<UsageReport> {
    const plan = this.plans[subject.plan];
    const reading = await this.storage.read(
      subject.accountId,
      subject.keyId,
      calendarOf(subject.timeZone, subject.billingDay),
    );
    const { used, period } = reading;
    const windows =
      plan === undefined ? [] : limitedWindows(effectiveLimits(plan, subject.limitChanges, period.label), used);
    return {
      account_id: subject.accountId,
      api_key_id: subject.keyId ?? null,
      plan: subject.plan,
      windows: windows
        .filter(({ of }) => of === 'account' || subject.keyId !== undefined)
        .map(({ policy, window, of, limit, used }) => {
          const minuteResetMs = of === 'key' ? reading.keyMinuteResetMs : reading.accountMinuteResetMs;
          const resetMs = window === 'month' ? reading.period.endMs : Math.max(minuteResetMs, reading.nowMs);
          return {
            policy,
            limit,
            used,
            remaining: remaining(limit, used),
            resets_at: formatWithOffset(resetMs, subject.timeZone),
          };
        }),
    };
  }
}
