/** The counting process deletes expired data, even if no request uses it again. */
import { beforeEach, describe, expect, it } from '@jest/globals';
import { monthPeriodAt } from '../../src/quota/model/month-period.js';
import { CountingTables } from '../../src/quota/counting/counting-tables.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const START_MS = Date.parse('2100-12-31T23:58:00Z');

describe('the tables of the counting process', () => {
  let nowMs: number;
  let tables: CountingTables;
  beforeEach(() => {
    nowMs = START_MS;
    tables = new CountingTables(() => nowMs);
  });

  it('delete the node reports of a counter once it is no longer young', () => {
    const second = START_MS / 1_000;
    const counter = tables.create(
      'tg:q:{acc_1}',
      second,
      monthPeriodAt(nowMs),
      { used: 5, usedToday: 5 },
      nowMs + DAY_MS,
    );
    counter.youth = { born: second, baseSeenUs: 0, base: 0, reports: new Map([['one', [1, 1]]]) };
    nowMs += 9_999;
    tables.sweep();
    expect(counter.youth).toBeDefined();
    nowMs += 1;
    for (const _ of [1, 2]) tables.sweep();
    expect(counter.youth).toBeUndefined();
    expect(counter.used).toBe(5);
  });

  it('forget a replayed outage after an hour', () => {
    expect(tables.wasReplayed('tg:r:{acc_1}:x', DAY_MS)).toBe(false);
    nowMs += HOUR_MS - 1;
    expect(tables.wasReplayed('tg:r:{acc_1}:x', DAY_MS)).toBe(true);
    nowMs += 1;
    for (const _ of [1, 2]) tables.sweep();
    expect(tables.size.replays).toBe(0);
  });
});
