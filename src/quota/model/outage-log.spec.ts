/** The log of an outage holds what was admitted, until it is counted elsewhere. */
import { describe, expect, it } from '@jest/globals';
import { subjectWith } from '../../../test/support/quotas.js';
import { monthPeriodAt } from './month-period.js';
import { OutageLog } from './outage-log.js';

const NOW_MS = Date.parse('2026-11-20T10:00:00Z');
const subject = subjectWith({});
const note = (log: OutageLog, cost: number, nowMs = NOW_MS): void =>
  log.recordCost(subject, cost, nowMs, monthPeriodAt(nowMs));

describe('the log of an outage', () => {
  it('sums by key, month and second, and keeps only the 61 seconds that a window needs', () => {
    const log = new OutageLog();
    for (let second = 0; second < 200; second++) note(log, 2, NOW_MS + second * 1_000);
    const [entry, ...others] = log.takeAll();
    expect(others).toEqual([]);
    expect(entry?.used).toBe(400);
    expect(entry?.seconds.size).toBe(61);
  });

  it('keeps months apart', () => {
    const log = new OutageLog();
    const { endMs } = monthPeriodAt(NOW_MS);
    note(log, 1, endMs - 1);
    note(log, 1, endMs);
    expect(log.takeAll().map(({ period, used }) => [period.label, used])).toEqual([
      [20_261_101, 1],
      [20_261_201, 1],
    ]);
  });

  it('subtracts refunds, even of requests that the store had admitted', () => {
    const log = new OutageLog();
    note(log, 3);
    note(log, -3);
    note(log, -2, NOW_MS - 5_000);
    const [entry] = log.takeAll();
    expect(entry?.used).toBe(-2);
    expect([...entry!.seconds.values()]).toEqual([0, -2]);
  });

  it('forgets entries that it returned', () => {
    const log = new OutageLog();
    note(log, 3);
    expect(log.hasEntry(subject, monthPeriodAt(NOW_MS))).toBe(true);
    log.takeAll();
    expect(log.hasEntry(subject, monthPeriodAt(NOW_MS))).toBe(false);
    expect([log.isEmpty, log.takeAll()]).toEqual([true, []]);
  });

  it('returns an entry that was put back unchanged, next to a new one for later costs', () => {
    const log = new OutageLog();
    note(log, 3);
    const [failed] = log.takeAll();
    log.putBack(failed!);
    expect([log.isEmpty, log.hasEntry(subject, monthPeriodAt(NOW_MS))]).toEqual([false, false]);
    note(log, 4);
    const again = log.takeAll();
    expect(again.map(({ used }) => used)).toEqual([3, 4]);
    expect(again[0]).toBe(failed);
    expect(again[1]!.id).not.toBe(failed!.id);
  });

  it('ignores requests without cost', () => {
    const log = new OutageLog();
    note(log, 0);
    expect(log.takeAll()).toEqual([]);
  });
});
