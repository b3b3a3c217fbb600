/** Formats batches of decisions for Redis, and parses the responses. `DECIDE_LUA` describes the format. */
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
import { toSmallInteger, type QuotaSubject, type QuotaTerms } from '../model/subject.js';

const SPACE = 0x20;
const MINUS = 0x2d;
const ZERO = 0x30;
const END = '\r\n';
/** Start of a cached line: cost 1 and group size 1. */
const SINGLE = '1 1';

/**
 * NamesText formats the Redis keys of a subject's counters as two RESP bulk strings. It caches the parts around the
 * IDs. IDs are ASCII, so their length in characters is their length in bytes.
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

  /** Returns both keys. The result is not cached, because a cached text for each key in use would take much memory. */
  format(accountId: string, keyId: string): string {
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

/** Returns the Redis keys of a subject's counters, formatted for a call. */
export function keysText({ isShadow, accountId, keyId }: QuotaSubject): string {
  return (isShadow ? SHADOW_NAMES : LIVE_NAMES).format(accountId, keyId);
}

/** Returns the groups of a batch, formatted for a call: one line per group. */
export function groupsText(batch: readonly DecisionGroup[]): string {
  let text = '';
  for (const { subject, cost, size, period } of batch) {
    const limits = limitsText(subject.terms, period);
    // Nearly every group is one request that costs 1. Concatenating fewer pieces saves memory.
    text += cost === 1 && size === 1 ? limits : `${cost} ${size}${limits.slice(SINGLE.length)}`;
  }
  return text;
}

/** Returns the line for one request that costs 1. The terms cache the line, which changes only once a day. */
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
 * Parses whole numbers that are separated by single spaces. Reads the bytes directly, to avoid creating a string.
 * @param into receives the numbers, from index 0.
 * @returns the count of numbers.
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

/**
 * The verdict that `verdictAt` returns. One shared object, because each verdict is used before the next one is read.
 */
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

/**
 * Returns the verdict on the group whose numbers begin at `at`. The verdict is valid until the next call of this
 * function.
 */
export function verdictAt(response: Float64Array, at: number, nowMs: number, period: MonthPeriod): GroupVerdict {
  const { before } = verdict;
  verdict.nowMs = nowMs;
  verdict.period = period;
  verdict.admitted = toSmallInteger(response[at]!);
  for (let index = 0; index < WINDOWS.length; index++) before[index] = toSmallInteger(response[at + 1 + index]!);
  // For a day window, the response contains the usage of the month before that day.
  before[ACCOUNT_DAY] = before[ACCOUNT_MONTH] - before[ACCOUNT_DAY];
  before[KEY_DAY] = before[KEY_MONTH] - before[KEY_DAY];
  const next = at + 1 + WINDOWS.length;
  verdict.accountOldest = toSmallInteger(response[next]!);
  verdict.keyOldest = toSmallInteger(response[next + 1]!);
  verdict.accountFreedAt = toSmallInteger(response[next + 2]!);
  verdict.keyFreedAt = toSmallInteger(response[next + 3]!);
  return verdict;
}
