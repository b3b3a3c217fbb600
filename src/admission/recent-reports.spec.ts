/** Refused requests reuse a recent report, but never one with less usage than this process has counted. */
import { beforeEach, describe, expect, it } from '@jest/globals';
import { countsWith, type NamedCounts, subjectWith } from '../../test/support/quotas.js';
import type { QuotaDecision } from '../quota/model/policies.js';
import type { QuotaSubject } from '../quota/model/subject.js';
import { RecentReports } from './recent-reports.js';

let nowMs: number;
let reports: RecentReports;

beforeEach(() => {
  nowMs = Date.parse('2026-11-20T10:00:00Z');
  reports = new RecentReports({ now: () => nowMs });
});

/** Creates a report, and sets it as the last seen counts of the subject, as the counters do. */
function reportOf(subject: QuotaSubject, used: Partial<NamedCounts> = {}): QuotaDecision {
  const decision = {
    admitted: true,
    source: 'store',
    cost: 0,
    nowMs,
    period: subject.calendar.at(nowMs),
    used: countsWith(used),
    keyMinuteResetMs: 0,
    accountMinuteResetMs: 0,
    violated: 0,
    retryAtMs: 0,
  } as const;
  subject.recordSeen(decision.used, nowMs, decision.period);
  return decision;
}

describe('a report', () => {
  it('is reused for 100 ms', () => {
    const subject = subjectWith({ keyMinute: 60 });
    expect(reports.find(subject)).toBeUndefined();
    const decision = reportOf(subject, { keyMinute: 3 });
    reports.recordDecision(subject, decision);
    nowMs += 99;
    expect(reports.find(subject)).toBe(decision);
    nowMs += 1;
    expect(reports.find(subject)).toBeUndefined();
  });

  it.each(['keyMinute', 'accountMinute', 'accountMonth', 'keyMonth'] as const)(
    'is not reused after a higher %s count was seen in the same millisecond',
    (window) => {
      const subject = subjectWith({ [window]: 60 });
      reports.recordDecision(subject, reportOf(subject));
      reportOf(subject, { [window]: 1 });
      expect(reports.find(subject)).toBeUndefined();
    },
  );

  it('is not reused after the clock was set back', () => {
    const subject = subjectWith({ keyMinute: 60 });
    reports.recordDecision(subject, reportOf(subject));
    nowMs -= 1;
    expect(reports.find(subject)).toBeUndefined();
  });

  it('is not reused for another key', () => {
    const [one, other] = [subjectWith({}), subjectWith({}, { keyId: 'key_2' })];
    reports.recordDecision(one, reportOf(one));
    reportOf(other);
    expect(reports.find(other)).toBeUndefined();
  });
});

it('drops all earlier reports when it would hold more than a thousand', () => {
  const subjects = Array.from({ length: 1_001 }, (_, index) => subjectWith({}, { keyId: `key_${index}` }));
  for (const subject of subjects) reports.recordDecision(subject, reportOf(subject));
  const kept = subjects.filter((subject) => reports.find(subject) !== undefined);
  expect(kept).toEqual([subjects.at(-1)]);
});
