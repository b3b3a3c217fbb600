/** The one text each way in which a batch of decisions travels to Redis and back; see `DECIDE_LUA`. */
import { COUNTER_GRACE_MS } from '../redis/keys.js';
import type { GroupVerdict } from './decision.js';
import type { MonthPeriod } from './month-period.js';
import type { QuotaSubject } from './policies.js';

const SPACE = 0x20;
const MINUS = 0x2d;
const ZERO = 0x30;

/** The part of a group's text that changes with the plan and the month only; kept on the subject. */
export function limitsText(subject: QuotaSubject, period: MonthPeriod): string {
  if (subject.limitsTextPeriod !== period.label) {
    const { accountMinute, keyMinute, accountMonth, keyMonth } = subject.limits;
    const limits = [accountMinute, keyMinute, accountMonth, keyMonth].map((limit) => (limit === Infinity ? -1 : limit));
    subject.limitsText = `${limits.join(' ')} ${period.label} ${period.endMs + COUNTER_GRACE_MS}`;
    subject.limitsTextPeriod = period.label;
  }
  return subject.limitsText;
}

/** Whole numbers with single spaces between them. */
export function numbersOf(text: string): number[] {
  const numbers: number[] = [];
  let value = 0;
  let sign = 1;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === SPACE) {
      numbers.push(sign * value);
      value = 0;
      sign = 1;
    } else if (code === MINUS) {
      sign = -1;
    } else {
      value = value * 10 + (code - ZERO);
    }
  }
  numbers.push(sign * value);
  return numbers;
}

/** The verdict on the group whose numbers begin at `at`. */
export function verdictAt(answer: readonly number[], at: number, nowMs: number, period: MonthPeriod): GroupVerdict {
  return {
    source: 'store',
    nowMs,
    period,
    admitted: answer[at] ?? 0,
    before: {
      accountMinute: answer[at + 1] ?? 0,
      keyMinute: answer[at + 2] ?? 0,
      accountMonth: answer[at + 3] ?? 0,
      keyMonth: answer[at + 4] ?? 0,
    },
    accountOldest: answer[at + 5] ?? 0,
    keyOldest: answer[at + 6] ?? 0,
    accountFreedAt: answer[at + 7] ?? 0,
    keyFreedAt: answer[at + 8] ?? 0,
  };
}
