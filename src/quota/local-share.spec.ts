/** Nodes that have lost the store divide what was left, instead of each granting all of it. */
import { describe, expect, it } from '@jest/globals';
import {
  countsWith,
  FixedMonths,
  countsByWindow,
  type NamedCounts,
  type SubjectOptions,
  subjectWith,
  UTC_MONTHS,
} from '../../test/support/quotas.js';
import { TestClock } from '../../test/support/stores.js';
import { LocalShare } from './local-share.js';
import { shareOf } from './share-base.js';
import { NOTHING_USED, type QuotaDecision } from './model/policies.js';
import type { QuotaSubject } from './model/subject.js';
import { ProcessCounters } from './process/process-counters.js';
import { ACCOUNT_MONTH, KEY_MINUTE } from '../platform/quotas/windows.js';

const START_MS = Date.parse('2026-11-20T10:00:00Z');
const NONE = countsByWindow(NOTHING_USED);

describe('the share of a node', () => {
  const clock = new TestClock(START_MS);
  const months = new FixedMonths();

  function nodes(count: number, last?: QuotaSubject): LocalShare[] {
    return Array.from({ length: count }, (_, rank) => {
      const counters = new ProcessCounters(clock, months, 'local');
      return new LocalShare(
        counters,
        months,
        () => ({ count, rank }),
        clock,
        () => last,
      );
    });
  }
  function seen(limits: Partial<NamedCounts>, counts: Partial<NamedCounts>, of: SubjectOptions = {}): QuotaSubject {
    const subject = subjectWith(limits, of);
    subject.recordSeen(countsWith(counts), clock.now(), UTC_MONTHS.at(clock.now()));
    return subject;
  }
  const decide = async (node: LocalShare, subject: QuotaSubject, cost = 1): Promise<QuotaDecision> =>
    node.decide(subject, cost, subject.calendar.at(clock.now()));
  async function admittedBy(node: LocalShare, subject: QuotaSubject): Promise<number> {
    let admitted = 0;
    for (;;) {
      if (!(await decide(node, subject)).admitted) return admitted;
      admitted += 1;
    }
  }

  it.each([1, 2, 3, 7])('of the remaining quota adds up over %d nodes', (count) => {
    for (let left = 0; left < 30; left++) {
      const parts = Array.from({ length: count }, (_, rank) => shareOf(left, { count, rank }));
      expect(parts.reduce((sum, part) => sum + part, 0)).toBe(left);
      expect(Math.max(...parts) - Math.min(...parts)).toBeLessThanOrEqual(1);
    }
  });

  it('of a month is the divided rest from when the store was last seen', async () => {
    const admitted = await Promise.all(
      nodes(3).map((node) => admittedBy(node, seen({ accountMonth: 100 }, { accountMonth: 60 }))),
    );
    expect(admitted).toEqual([14, 13, 13]);
  });

  it('of a minute deducts earlier counts, and is the divided limit once they have left the window', async () => {
    const all = nodes(2);
    const subjects = all.map(() => seen({ keyMinute: 10 }, { keyMinute: 6 }));
    const burst = () => Promise.all(all.map((node, index) => admittedBy(node, subjects[index]!)));
    expect(await burst()).toEqual([2, 2]);
    clock.advance(30_000);
    expect(await burst()).toEqual([0, 0]);
    clock.advance(32_000);
    expect(await burst()).toEqual([5, 5]);
    clock.advance(59_000);
    expect(await burst()).toEqual([0, 0]);
    clock.advance(2_000);
    expect(await burst()).toEqual([5, 5]);
  });

  it('determines the reported usage, relative to the limit of the plan', async () => {
    const [node] = nodes(2);
    const subject = seen({ accountMonth: 100 }, { accountMonth: 60 });
    expect((await decide(node!, subject)).used[ACCOUNT_MONTH]).toBe(100 - 19);
    await admittedBy(node!, subject);
    const refused = await decide(node!, subject);
    expect([refused.used[ACCOUNT_MONTH], refused.ofShare]).toEqual([100, true]);
    expect(refused.retryAtMs).toBe(clock.now() + 2_000);
  });

  it('is zero if nothing is left, and the refusal lasts until the month ends', async () => {
    const [node] = nodes(2);
    const refused = await decide(node!, seen({ accountMonth: 100 }, { accountMonth: 120 }));
    expect([refused.admitted, refused.ofShare, refused.retryAtMs]).toEqual([false, undefined, refused.period.endMs]);
    expect(refused.used[ACCOUNT_MONTH]).toBeGreaterThanOrEqual(100);
  });

  it('of an account that was last seen long ago shrinks to what the database knows', async () => {
    const [node] = nodes(2);
    const subject = seen({ accountMonth: 100 }, { accountMonth: 10 });
    subject.lastSeenAtMs -= 60_000;
    months.used = { account: 80, key: 80 };
    expect((await decide(node!, subject)).admitted).toBe(true);
    await new Promise(setImmediate);
    expect(await admittedBy(node!, subject)).toBe(9);
    months.used = { account: 0, key: 0 };
  });

  it('of an account that was never seen starts from the usage in the database', async () => {
    const [node] = nodes(2);
    months.used = { account: 80, key: 0 };
    expect(await admittedBy(node!, subjectWith({ accountMonth: 100 }))).toBe(10);
    months.used = { account: 0, key: 0 };
  });

  it('starts anew with a new month', async () => {
    const [node] = nodes(2);
    const subject = seen({ accountMonth: 100 }, { accountMonth: 90 });
    expect(await admittedBy(node!, subject)).toBe(5);
    clock.advance(UTC_MONTHS.at(clock.now()).endMs - clock.now());
    expect(await admittedBy(node!, subject)).toBe(50);
  });

  it('is everything on a single node', async () => {
    const [node] = nodes(1);
    const subject = seen({ accountMonth: 100 }, { accountMonth: 60 });
    expect(await admittedBy(node!, subject)).toBe(40);
    expect((await decide(node!, subject)).ofShare).toBeUndefined();
  });

  it.each([1, 2])('of an account continues from its most recently used key, on one of %d nodes', async (count) => {
    const limits = { accountMonth: 100 };
    const quiet = seen(limits, { accountMonth: 10 });
    clock.advance(600_000);
    const busy = seen(limits, { accountMonth: 90 }, { keyId: 'key_2' });
    const [node] = nodes(count);
    expect((await decide(node!, quiet)).admitted).toBe(true);
    expect(1 + (await admittedBy(node!, busy)) + (await admittedBy(node!, quiet))).toBe(10 / count);
    // Also if that key is no longer used, but its counts have not been written yet.
    const [other] = nodes(count, busy);
    expect((await admittedBy(other!, quiet)) + (await admittedBy(other!, busy))).toBe(10 / count);
    const [third] = nodes(count, busy);
    expect(await admittedBy(third!, subjectWith(limits, { keyId: 'key_3' }))).toBe(10 / count);
  });

  it('of an account that another key used meanwhile shrinks to the database value, even on one node', async () => {
    const [node] = nodes(1);
    const subject = seen({ accountMonth: 100 }, { accountMonth: 10 });
    clock.advance(60_000);
    months.used = { account: 80, key: 10 };
    expect((await decide(node!, subject)).admitted).toBe(true);
    await new Promise(setImmediate);
    expect(await admittedBy(node!, subject)).toBe(19);
    const refused = await decide(node!, subject);
    expect([refused.used[ACCOUNT_MONTH], refused.ofShare, refused.retryAtMs]).toEqual([
      100,
      undefined,
      refused.period.endMs,
    ]);
    months.used = { account: 0, key: 0 };
  });

  it('shrinks in this way for each of 200 accounts that return at once', async () => {
    const [node] = nodes(1);
    const all = Array.from({ length: 200 }, (_, index) =>
      seen({ accountMonth: 100 }, { accountMonth: 10 }, { accountId: `acc_${index}`, keyId: `key_${index}` }),
    );
    clock.advance(60_000);
    months.used = { account: 80, key: 10 };
    await Promise.all(all.map((subject) => decide(node!, subject)));
    const admitted = await Promise.all(all.map((subject) => admittedBy(node!, subject)));
    expect(new Set(admitted)).toEqual(new Set([19]));
    months.used = { account: 0, key: 0 };
  });

  it.each(['before', 'after'])(
    'of a month survives a clock that runs a month ahead and back (outage began %s that)',
    async (began) => {
      const [node] = nodes(2);
      const subject = seen({ accountMonth: 100 }, { accountMonth: 60 });
      const { endMs } = UTC_MONTHS.at(clock.now());
      const aheadMs = endMs + 1_000 - clock.now();
      if (began === 'before') for (let request = 0; request < 5; request++) await decide(node!, subject);
      clock.advance(aheadMs);
      for (let request = 0; request < 3; request++) expect((await decide(node!, subject)).admitted).toBe(true);
      clock.advance(-aheadMs);
      expect(await admittedBy(node!, subject)).toBe(began === 'before' ? 15 : 20);
      clock.advance(aheadMs);
      expect(await admittedBy(node!, subject)).toBe(47);
      clock.advance(-aheadMs);
    },
  );

  describe('reads', () => {
    const read = (node: LocalShare, subject?: QuotaSubject) => node.read('acc_1', 'key_1', UTC_MONTHS, subject);

    it('its own counts on top of those last seen, without its share', async () => {
      const [node] = nodes(2);
      const subject = seen({ accountMonth: 100, keyMinute: 50 }, { accountMonth: 60, keyMonth: 20, keyMinute: 5 });
      expect(countsByWindow((await read(node!, subject)).used)).toEqual({
        ...NONE,
        accountMonth: 60,
        keyMonth: 20,
        keyMinute: 5,
      });
      for (let request = 0; request < 3; request++) await decide(node!, subject);
      expect(countsByWindow((await read(node!, subject)).used)).toEqual({
        accountMonth: 63,
        keyMonth: 23,
        accountDay: 3,
        keyDay: 3,
        accountMinute: 3,
        keyMinute: 8,
      });
      expect(countsByWindow((await node!.read('acc_1', undefined, UTC_MONTHS)).used)).toMatchObject({
        accountMonth: 63,
      });
    });

    it('the database value of a key that was not seen lately, if that is more', async () => {
      months.used = { account: 70, key: 30 };
      const subject = seen({}, { accountMonth: 60, keyMonth: 40, keyMinute: 7 });
      const freeAtMs = (Math.floor(clock.now() / 1_000) + 61) * 1_000;
      expect(countsByWindow((await read(nodes(1)[0]!)).used)).toEqual({ ...NONE, accountMonth: 70, keyMonth: 30 });
      clock.advance(6_000);
      const reading = await read(nodes(1)[0]!, subject);
      expect(countsByWindow(reading.used)).toEqual({ ...NONE, accountMonth: 70, keyMonth: 40, keyMinute: 7 });
      expect(reading.keyMinuteResetMs).toBe(freeAtMs);
      clock.advance(60_000);
      expect((await read(nodes(1)[0]!, subject)).used[KEY_MINUTE]).toBe(0);
      months.used = { account: 0, key: 0 };
    });

    it('the last seen counts without database, and rejects if there are none', async () => {
      months.failure = new Error('no database');
      await expect(read(nodes(1)[0]!)).rejects.toThrow('no database');
      const subject = seen({}, { accountMonth: 60, keyMonth: 40 });
      clock.advance(60_000);
      expect(countsByWindow((await read(nodes(1)[0]!, subject)).used)).toMatchObject({
        accountMonth: 60,
        keyMonth: 40,
      });
      months.failure = undefined;
    });
  });
});
