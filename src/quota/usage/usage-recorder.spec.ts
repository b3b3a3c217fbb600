/**
 * Every request ends in exactly one outcome, and costs add up to what the counters hold, whatever happens on the way.
 */
import { beforeEach, describe, expect, it } from '@jest/globals';
import { bitsOf, countsWith, subjectWith } from '../../../test/support/quotas.js';
import { TestClock } from '../../../test/support/stores.js';
import type { Operation } from '../../config/model/schema.js';
import type { QuotaDecision } from '../model/policies.js';
import type { QuotaSubject } from '../model/subject.js';
import { ABORTED, CLIENT_ERROR, IN_FLIGHT, SERVER_ERROR, SUCCESS, type CountedRequest } from '../model/usage-cell.js';
import { UsageRecorder, type UsageChange } from './usage-recorder.js';

const NOW_MS = Date.parse('2026-11-20T10:00:00Z');

function operation(index: number, id: string): Operation {
  return { index, id, method: 'GET', template: `/${id}`, service: 's', scopes: [], cost: 1 };
}

const LIST = operation(0, 'list');
const READ = operation(7, 'read');

function request(): CountedRequest {
  return { usage: undefined, usageCost: 0, completion: IN_FLIGHT, usageRefunded: false };
}

describe('the usage recorder', () => {
  let clock: TestClock;
  let recorder: UsageRecorder;
  let subject: QuotaSubject;
  beforeEach(() => {
    clock = new TestClock(NOW_MS);
    recorder = new UsageRecorder(clock);
    subject = subjectWith({}, { timeZone: 'Pacific/Auckland' });
  });

  const decision = (change: Partial<QuotaDecision> = {}): QuotaDecision => ({
    admitted: true,
    source: 'store',
    cost: 1,
    nowMs: clock.now(),
    period: subject.calendar.at(clock.now()),
    used: countsWith({}),
    keyMinuteResetMs: 0,
    accountMinuteResetMs: 0,
    violated: 0,
    retryAtMs: 0,
    ...change,
  });
  const begin = (change: Partial<QuotaDecision> = {}, of = LIST): CountedRequest => {
    const begun = request();
    recorder.recordDecision(begun, subject, of, decision(change));
    return begun;
  };
  const taken = (): UsageChange[] => {
    const changes: UsageChange[] = [];
    for (const account of recorder.waitingAccounts()) recorder.takeChanges(account, changes);
    return changes;
  };
  /** `{ outcome: [requests, cost] }` of all changes since the last time. */
  const totals = (): Record<string, number[]> =>
    Object.fromEntries(taken().map(({ outcome, requests, cost }) => [outcome, [requests, cost]]));

  it('counts admitted requests as in flight until they end, then moves them to their outcome', () => {
    const requests = [begin({ cost: 2 }), begin(), begin(), begin()];
    expect(totals()).toEqual({ in_flight: [4, 5] });
    [SUCCESS, CLIENT_ERROR, SERVER_ERROR, ABORTED].forEach((outcome, index) =>
      recorder.recordEnd(requests[index]!, outcome),
    );
    expect(totals()).toEqual({
      success: [1, 2],
      client_error: [1, 1],
      server_error: [1, 1],
      aborted: [1, 1],
      in_flight: [-4, -5],
    });
    expect(totals()).toEqual({});
  });

  it('writes one row for requests that began and ended between two flushes', () => {
    for (let index = 0; index < 3; index++) recorder.recordEnd(begin(), SUCCESS);
    expect(taken()).toEqual([
      {
        accountId: 'acc_1',
        keyId: 'key_1',
        operation: 'list',
        month: 20_261_101,
        day: 20_261_120,
        outcome: 'success',
        requests: 3,
        cost: 3,
      },
    ]);
  });

  it('counts refusals with no cost, by the window that refused', () => {
    begin({ admitted: false, violated: bitsOf('key-minute'), cost: 5 });
    begin({ admitted: false, violated: bitsOf('key-minute', 'account-month') });
    recorder.recordDenied(subject, LIST);
    expect(totals()).toEqual({ rate_limited: [1, 0], quota_exceeded: [1, 0], denied: [1, 0] });
  });

  it('ends a refused request once, although its connection ends later', () => {
    const refused = begin({ admitted: false, violated: bitsOf('key-minute') });
    recorder.recordEnd(refused, CLIENT_ERROR);
    expect(totals()).toEqual({ rate_limited: [1, 0] });
  });

  it.each(['before', 'after'])('records a refund %s the request has ended as given_back', (when) => {
    const failed = begin({ cost: 3 });
    if (when === 'before') recorder.recordRefund(failed, 3);
    recorder.recordEnd(failed, SERVER_ERROR);
    if (when === 'after') recorder.recordRefund(failed, 3);
    expect(totals()).toEqual({ given_back: [1, 0] });
  });

  it('refunds a cost that has been written already', () => {
    const failed = begin({ cost: 3 });
    recorder.recordEnd(failed, SERVER_ERROR);
    expect(totals()).toEqual({ server_error: [1, 3] });
    recorder.reapIdle();
    recorder.reapIdle();
    recorder.recordRefund(failed, 3);
    expect(totals()).toEqual({ server_error: [-1, -3], given_back: [1, 0] });
  });

  it('keeps the cost of a failure that the counters did not refund', () => {
    const failed = begin({ cost: 3 });
    recorder.recordRefund(failed, 0);
    recorder.recordEnd(failed, SERVER_ERROR);
    expect(totals()).toEqual({ server_error: [1, 3] });
  });

  it('keeps the outcome of a response that the plan does not charge, without a cost', () => {
    const missing = begin();
    recorder.recordRefund(missing, 1);
    recorder.recordEnd(missing, CLIENT_ERROR);
    expect(totals()).toEqual({ client_error: [1, 0] });
  });

  it('ends a request whose client left before the decision was made', () => {
    const left = request();
    recorder.recordEnd(left, ABORTED);
    recorder.recordDecision(left, subject, LIST, decision());
    expect(totals()).toEqual({ aborted: [1, 1] });
    recorder.recordRefund(left, 1);
    expect(totals()).toEqual({ aborted: [0, -1] });
  });

  it('records no cost if nothing was counted', () => {
    recorder.recordEnd(begin({ source: 'open', cost: 4 }), SUCCESS);
    expect(totals()).toEqual({ success: [1, 0] });
  });

  it("keeps the day on which a request was counted, in the account's zone", () => {
    clock.advance(Date.parse('2026-11-30T10:59:59Z') - clock.now());
    const late = begin();
    clock.advance(2_000);
    recorder.recordEnd(begin(), SUCCESS);
    recorder.recordEnd(late, SUCCESS);
    expect(taken().map(({ month, day, cost }) => [month, day, cost])).toEqual([
      [20_261_101, 20_261_130, 1],
      [20_261_201, 20_261_201, 1],
    ]);
  });

  it('keeps a request in the month in which it was counted, even if clocks differ', () => {
    const period = subject.calendar.at(Date.parse('2026-11-30T10:59:59Z'));
    recorder.recordEnd(begin({ period, nowMs: period.endMs + 40 }), SUCCESS);
    expect(taken()).toMatchObject([{ month: 20_261_101, day: 20_261_130 }]);
  });

  it('separates operations, keys and accounts, and returns one account at a time', () => {
    const other = subjectWith({}, { accountId: 'acc_2', keyId: 'key_9' });
    recorder.recordEnd(begin({}, LIST), SUCCESS);
    recorder.recordEnd(begin({}, READ), SUCCESS);
    recorder.recordDenied(other, READ);
    expect(recorder.waitingAccounts()).toEqual(['acc_1', 'acc_2']);
    const first: UsageChange[] = [];
    recorder.takeChanges('acc_1', first);
    expect(first.map(({ operation: id }) => id)).toEqual(['list', 'read']);
    expect(taken()).toMatchObject([{ accountId: 'acc_2', keyId: 'key_9', operation: 'read', outcome: 'denied' }]);
  });

  it('separates operations after the list of operations has changed', () => {
    recorder.recordEnd(begin({}, LIST), SUCCESS);
    recorder.recordEnd(begin({}, operation(0, 'new')), SUCCESS);
    expect(taken().map(({ operation: id }) => id)).toEqual(['list', 'new']);
  });

  /** Runs two flushes on cells without changes between them. */
  const rest = (): void => {
    recorder.reapIdle();
    recorder.reapIdle();
  };

  it('drops idle cells and keeps cells with requests in flight', () => {
    const first = begin({}, LIST);
    const running = begin({}, READ);
    const last = begin({}, operation(3, 'last'));
    for (const request of [first, last]) recorder.recordEnd(request, SUCCESS);
    taken();
    rest();
    expect(subject.usage).toBe(running.usage);
    expect(subject.usage?.next).toBeUndefined();
    recorder.recordEnd(running, SUCCESS);
    expect(totals()).toEqual({ success: [1, 1], in_flight: [-1, -1] });
    rest();
    expect(subject.usage).toBeUndefined();
  });

  it('keeps a cell that is idle at only one flush, and can check cells in parts', () => {
    const one = begin({}, LIST);
    const other = begin({}, READ);
    for (const request of [one, other]) recorder.recordEnd(request, SUCCESS);
    for (let round = 0; round < 3; round++) {
      taken();
      const looks = [recorder.reapIdle(1)];
      while (looks.at(-1)) looks.push(recorder.reapIdle(1));
      // The other cell is dropped at its second check.
      expect(looks).toEqual(round < 2 ? [true, false] : [false]);
      const again = begin({}, LIST);
      recorder.recordEnd(again, SUCCESS);
      expect(again.usage).toBe(one.usage);
    }
    expect(subject.usage).toBe(one.usage);
    expect(subject.usage?.next).toBeUndefined();
  });

  it('reuses the same cell while a key stays in use', () => {
    const { usage: cell } = begin({}, READ);
    begin({}, LIST);
    expect(begin({}, READ).usage).toBe(cell);
    expect(taken().map(({ operation: id, requests }) => [id, requests])).toEqual([
      ['read', 2],
      ['list', 1],
    ]);
  });

  it('reports since when the oldest change waits', () => {
    expect(recorder.oldestMs).toBe(0);
    begin();
    clock.advance(3_000);
    begin({}, READ);
    expect(recorder.oldestMs).toBe(NOW_MS);
    taken();
    expect(recorder.oldestMs).toBe(0);
  });

  it('records a day within the counted month, even if the clock that chose the month was ahead', () => {
    const period = subject.calendar.at(NOW_MS + 20 * 86_400_000);
    recorder.recordEnd(begin({ nowMs: period.startMs - 3_000, period }), SUCCESS);
    begin({ nowMs: period.endMs + 3_000, period });
    const days = taken().map(({ month, day }) => [month, day]);
    expect(days).toEqual([
      [20_261_201, 20_261_201],
      [20_261_201, 20_261_231],
    ]);
  });
});
