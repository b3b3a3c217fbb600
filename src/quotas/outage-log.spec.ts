/** The log of an outage holds what was admitted, until it is counted elsewhere. */
import { describe, expect, it } from '@jest/globals';
import { subjectWith } from '../../test/support/quotas.js';
import { monthPeriodAt } from './month-period.js';
import { OutageLog } from './outage-log.js';
import type { QuotaDecision } from './policies.js';

const NOW_MS = Date.parse('2026-11-20T10:00:00Z');
const subject = subjectWith({});
const admitted = (cost: number, nowMs = NOW_MS): QuotaDecision =>
  ({ cost, nowMs, period: monthPeriodAt(nowMs) }) as QuotaDecision;

describe('the log of an outage', () => {
  it('adds up by key, month and second, and keeps no second that no window needs', () => {
    const log = new OutageLog();
    for (let second = 0; second < 200; second++) log.note(subject, admitted(2, NOW_MS + second * 1_000));
    const [entry, ...others] = log.take();
    expect(others).toEqual([]);
    expect(entry?.used).toBe(400);
    expect(entry?.seconds.size).toBe(61);
  });

  it('keeps months apart', () => {
    const log = new OutageLog();
    const { endMs } = monthPeriodAt(NOW_MS);
    log.note(subject, admitted(1, endMs - 1));
    log.note(subject, admitted(1, endMs));
    expect(log.take().map(({ period, used }) => [period.label, used])).toEqual([
      [20_261_101, 1],
      [20_261_201, 1],
    ]);
  });

  it('forgets what it hands out, and says so when it is to take something of it back', () => {
    const log = new OutageLog();
    log.note(subject, admitted(3));
    expect(log.takeBack(subject, admitted(3))).toBe(true);
    expect(log.take()[0]?.used).toBe(0);
    expect(log.take()).toEqual([]);
    expect(log.takeBack(subject, admitted(3))).toBe(false);
  });

  it('keeps the name of what could not be counted, beside what came in meanwhile', () => {
    const log = new OutageLog();
    log.note(subject, admitted(3));
    const [failed] = log.take();
    log.note(subject, admitted(4));
    log.restore(failed!);
    const again = log.take();
    expect(again.map(({ used }) => used).toSorted()).toEqual([3, 4]);
    expect(again.map(({ id }) => id)).toContain(failed!.id);
    expect(new Set(again.map(({ id }) => id)).size).toBe(2);
  });

  it('ignores what costs nothing', () => {
    const log = new OutageLog();
    log.note(subject, admitted(0));
    expect(log.take()).toEqual([]);
  });
});
