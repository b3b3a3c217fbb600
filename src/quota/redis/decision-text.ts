/** The one text each way in which a batch of decisions travels to Redis and back; see `DECIDE_LUA`. */
import {
  accountCounterKey,
  apiKeyCounterKey,
  COUNTER_GRACE_MS,
  shadowAccountCounterKey,
  shadowApiKeyCounterKey,
} from '../../stores/redis/keys.js';
import type { GroupVerdict } from '../model/decision.js';
import type { DecisionGroup } from './decision-group.js';
import { labelsOf, NO_PERIOD, type MonthPeriod } from '../model/month-period.js';
import { ACCOUNT_DAY, ACCOUNT_MONTH, KEY_DAY, KEY_MONTH, WINDOWS } from '../../platform/quotas/windows.js';
import { NOTHING_USED, type QuotaCounts } from '../model/policies.js';
import { unboxed, type QuotaSubject, type QuotaTerms } from '../model/subject.js';

const SPACE = 0x20;
const MINUS = 0x2d;
const ZERO = 0x30;
const END = '\r\n';
/** Cost and size. */
const SINGLE = '1 1';

/**
 * What stands around the ids in the names of a subject's counters, as a call names them: a text of two bulk strings.
 * The ids are our own and ASCII, so a length is a count of bytes.
 */
class NamesText {
  private accountLength = -1;
  private keyLength = -1;
  private before = '';
  private between = '';
  private readonly after: string;
  private readonly accountName: readonly string[];
  private readonly keyName: readonly string[];

  constructor(accountName: (accountId: string) => string, keyName: (accountId: string, keyId: string) => string) {
    this.accountName = accountName('\n').split('\n');
    this.keyName = keyName('\n', '\n').split('\n');
    this.after = this.keyName[2]! + END;
  }

  /** Written for every request anew: kept, it would be one of the larger parts of what a used key holds. */
  of(accountId: string, keyId: string): string {
    if (accountId.length !== this.accountLength || keyId.length !== this.keyLength) this.measure(accountId, keyId);
    return this.before + accountId + this.between + accountId + this.keyName[1]! + keyId + this.after;
  }

  private measure({ length: account }: string, { length: key }: string): void {
    const [first = '', last = ''] = this.accountName;
    this.before = `$${lengthOf(this.accountName) + account}${END}${first}`;
    this.between = `${last}${END}$${lengthOf(this.keyName) + account + key}${END}${this.keyName[0]}`;
    this.accountLength = account;
    this.keyLength = key;
  }
}

function lengthOf(parts: readonly string[]): number {
  return parts.join('').length;
}

const LIVE_NAMES = new NamesText(accountCounterKey, apiKeyCounterKey);
const SHADOW_NAMES = new NamesText(shadowAccountCounterKey, shadowApiKeyCounterKey);

/** The counters of a subject as a call names them. */
export function keysText({ isShadow, accountId, keyId }: QuotaSubject): string {
  return (isShadow ? SHADOW_NAMES : LIVE_NAMES).of(accountId, keyId);
}

/** What a call asks about groups: a line for each. */
export function groupsText(batch: readonly DecisionGroup[]): string {
  let text = '';
  for (const { subject, cost, size, period } of batch) {
    const limits = limitsText(subject.terms, period);
    // Nearly every group is one request that costs 1, and a text takes bytes for each of its pieces.
    text += cost === 1 && size === 1 ? limits : `${cost} ${size}${limits.slice(SINGLE.length)}`;
  }
  return text;
}

/**
 * The line of a group of one request that costs 1, which changes with the plan and the day only; kept on the terms.
 */
function limitsText(terms: QuotaTerms, period: MonthPeriod): string {
  if (terms.limitsTextPeriod !== period) {
    const limits = terms.limits.map((limit) => (limit === Infinity ? -1 : limit));
    const month = `${labelsOf(period).join(' ')} ${period.endMs + COUNTER_GRACE_MS}`;
    terms.limitsText = `${SINGLE} ${limits.join(' ')} ${month}\n`;
    terms.limitsTextPeriod = period;
  }
  return terms.limitsText;
}

/**
 * Reads whole numbers with single spaces between them. From the bytes: a text of them would only be made to be read
 * once.
 * @param into takes them, from its beginning
 * @returns how many they are
 */
export function readNumbers(bytes: Uint8Array, into: Float64Array): number {
  let count = 0;
  let value = 0;
  let sign = 1;
  for (let index = 0; index < bytes.length; index++) {
    const code = bytes[index]!;
    if (code >= ZERO) {
      value = value * 10 + (code - ZERO);
    } else if (code === SPACE) {
      into[count++] = sign * value;
      value = 0;
      sign = 1;
    } else if (code === MINUS) {
      sign = -1;
    }
  }
  into[count++] = sign * value;
  return count;
}

/** The verdict that is being read: one for all, because each is read before the next. */
const verdict: { -readonly [Name in keyof GroupVerdict]: GroupVerdict[Name] } & { before: QuotaCounts } = {
  source: 'store',
  nowMs: 0,
  period: NO_PERIOD,
  admitted: 0,
  before: [...NOTHING_USED],
  accountOldest: 0,
  keyOldest: 0,
  accountFreedAt: 0,
  keyFreedAt: 0,
};

/** The verdict on the group whose numbers begin at `at`; valid until the next call. */
export function verdictAt(response: Float64Array, at: number, nowMs: number, period: MonthPeriod): GroupVerdict {
  const { before } = verdict;
  verdict.nowMs = nowMs;
  verdict.period = period;
  verdict.admitted = unboxed(response[at]!);
  for (let index = 0; index < WINDOWS.length; index++) before[index] = unboxed(response[at + 1 + index]!);
  // Of a day it says what the month had used before it.
  before[ACCOUNT_DAY] = before[ACCOUNT_MONTH] - before[ACCOUNT_DAY];
  before[KEY_DAY] = before[KEY_MONTH] - before[KEY_DAY];
  const next = at + 1 + WINDOWS.length;
  verdict.accountOldest = unboxed(response[next]!);
  verdict.keyOldest = unboxed(response[next + 1]!);
  verdict.accountFreedAt = unboxed(response[next + 2]!);
  verdict.keyFreedAt = unboxed(response[next + 3]!);
  return verdict;
}
