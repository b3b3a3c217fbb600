/** The recorder is limited, fair to all accounts, prefers errors, and its weights add up. */
import { beforeEach, describe, expect, it } from '@jest/globals';
import { SeededRandom } from '../../test/support/seeded-random.js';
import { TestClock } from '../../test/support/stores.js';
import { RequestLogRecorder } from './recorder.js';
import type { EndedRequest, RequestLogRow } from './request-log-row.js';

const NOW_MS = Date.parse('2026-11-22T10:00:00Z');
const MAX_ROWS = 5_000;
const ALL = (): number => Infinity;

const REQUEST: EndedRequest = {
  requestId: 'req_1',
  method: 'GET',
  operation: { id: 'list', template: '/customers' },
  problemCode: '',
  clientAddress: '203.0.113.7',
  bytesIn: 0,
  bytesOut: 12,
};

describe('the recorder of request logs', () => {
  let clock: TestClock;
  let recorder: RequestLogRecorder;
  beforeEach(() => {
    clock = new TestClock(NOW_MS);
    const random = new SeededRandom(7);
    recorder = new RequestLogRecorder(
      ({ template }) => `/api/v1${template}`,
      true,
      () => random.next(),
    );
  });

  const note = (account: string, requests: number, status = 200, change: Partial<EndedRequest> = {}): void => {
    for (let sent = 0; sent < requests; sent++) {
      recorder.record({ ...REQUEST, ...change }, account, `key_of_${account}`, status, 1.5, clock.now());
    }
  };
  const drained = (mostOf = ALL): RequestLogRow[] => {
    const rows: RequestLogRow[] = [];
    while (recorder.accountsWaiting > 0) recorder.takeFirst(mostOf, rows);
    recorder.endWrite();
    return rows;
  };
  const weightOf = (rows: readonly RequestLogRow[], status?: number): number =>
    rows.reduce((sum, row) => sum + (status === undefined || row.status === status ? row.weight : 0), 0);
  const countOf = (rows: readonly RequestLogRow[], account: string, status: number): number =>
    rows.filter((row) => row.accountId === account && row.status === status).length;

  it('keeps each request with all its fields until it is taken', () => {
    note('acc_1', 1, 403, { requestId: 'order-1', problemCode: 'insufficient_scope', bytesIn: 7 });
    expect(drained()).toEqual([
      {
        accountId: 'acc_1',
        at: NOW_MS,
        node: recorder.node,
        seq: 1,
        requestId: 'order-1',
        keyId: 'key_of_acc_1',
        operation: 'list',
        method: 'GET',
        route: '/api/v1/customers',
        status: 403,
        code: 'insufficient_scope',
        durationUs: 1_500,
        bytesIn: 7,
        bytesOut: 12,
        ip: '203.0.113.7',
        weight: 1,
        source: 'rest',
        tool: '',
      },
    ]);
    expect(drained()).toEqual([]);
    expect(recorder.length).toBe(0);
  });

  it('keeps the tool of an MCP call, but not for the next request in its slot', () => {
    note('acc_1', 1, 200, { source: { tool: 'list_customers' } });
    note('acc_1', 1, 200, { source: { tool: '' } });
    expect(
      drained()
        .map(({ source, tool }) => [source, tool])
        .toSorted(),
    ).toEqual([
      ['mcp', ''],
      ['mcp', 'list_customers'],
    ]);
    note('acc_1', 2);
    expect(drained().map(({ source, tool }) => [source, tool])).toEqual([
      ['rest', ''],
      ['rest', ''],
    ]);
  });

  it('keeps nothing while it is disabled', () => {
    recorder.isOn = false;
    note('acc_1', 10);
    expect(drained()).toEqual([]);
  });

  it('numbers requests in the order in which they end', () => {
    for (let round = 0; round < 3; round++) {
      note('acc_1', 4);
      note('acc_2', 4);
      const rows = drained();
      expect(rows.map(({ seq }) => seq).toSorted((a, b) => a - b)).toEqual(
        Array.from({ length: 8 }, (_, index) => round * 8 + index + 1),
      );
    }
  });

  it('keeps a uniform sample of too many requests, whose weights add up', () => {
    note('acc_1', 25_000);
    const rows = drained();
    expect(rows.length).toBe(500);
    expect(weightOf(rows)).toBe(25_000);
    // About the same number from each fifth of the time.
    const fifths = [0, 1, 2, 3, 4].map((fifth) => rows.filter(({ seq }) => Math.floor((seq - 1) / 5_000) === fifth));
    for (const some of fifths) expect(Math.abs(some.length - 100)).toBeLessThan(45);
  });

  it('keeps errors first and by kind: many 429s displace no 403 and no 500', () => {
    note('acc_1', 20_000);
    note('acc_1', 3, 500);
    note('acc_1', 20_000, 429);
    note('acc_1', 5, 403);
    note('acc_1', 20_000);
    const rows = drained();
    expect(countOf(rows, 'acc_1', 500)).toBe(3);
    expect(countOf(rows, 'acc_1', 403)).toBe(5);
    expect(countOf(rows, 'acc_1', 429)).toBe(250);
    expect(weightOf(rows, 429)).toBe(20_000);
    expect(weightOf(rows, 200)).toBe(40_000);
  });

  it('keeps every request of other accounts next to one with 5,000 requests per second', () => {
    for (let second = 0; second < 5; second++) {
      note('acc_loud', 2_500);
      note('acc_loud', 2_500, 500);
      for (let other = 0; other < 100; other++) note(`acc_${other}`, 2);
    }
    const rows = drained();
    for (let other = 0; other < 100; other++) expect(countOf(rows, `acc_${other}`, 200)).toBe(10);
    expect(weightOf(rows)).toBe(25_000 + 1_000);
  });

  it('has a total limit, divides it among accounts, and drops errors last', () => {
    for (let account = 0; account < 400; account++) note(`acc_${account}`, 100);
    expect(recorder.length).toBeLessThanOrEqual(MAX_ROWS);
    for (let account = 0; account < 400; account++) note(`acc_${account}`, 2, 403);
    expect(recorder.length).toBeLessThanOrEqual(MAX_ROWS);
    const rows = drained();
    for (let account = 0; account < 400; account++) {
      expect(countOf(rows, `acc_${account}`, 403)).toBe(2);
      expect(countOf(rows, `acc_${account}`, 200)).toBeGreaterThan(0);
    }
    expect(weightOf(rows, 200)).toBe(40_000);
  });

  it('drops successful requests for errors of many accounts', () => {
    for (let account = 0; account < MAX_ROWS; account++) note(`acc_${account}`, 1);
    note('acc_late', 1, 500);
    const rows = drained();
    expect(countOf(rows, 'acc_late', 500)).toBe(1);
    expect(rows.length).toBeGreaterThan(MAX_ROWS / 3);
  });

  it('keeps no more requests when every slot has an error of another account', () => {
    for (let account = 0; account < 1.2 * MAX_ROWS; account++) note(`acc_${account}`, 1, 500);
    expect(recorder.length).toBe(MAX_ROWS);
    expect(drained().length).toBe(MAX_ROWS);
    note('acc_1', 1);
    expect(drained().length).toBe(1);
  });

  it('restores its limits after a write', () => {
    for (let account = 0; account < 1_000; account++) note(`acc_${account}`, 100);
    drained();
    note('acc_1', 100);
    expect(drained().length).toBe(100);
  });

  it('drops rows evenly if fewer may be written, errors last', () => {
    for (let account = 0; account < 10; account++) note(`acc_${account}`, 100);
    note('acc_3', 20, 500);
    recorder.dropRowsAbove(200);
    expect(recorder.length).toBeLessThanOrEqual(200);
    const rows = drained();
    expect(countOf(rows, 'acc_3', 500)).toBe(20);
    for (let account = 0; account < 10; account++) expect(countOf(rows, `acc_${account}`, 200)).toBeGreaterThan(5);
    expect(weightOf(rows)).toBe(1_020);
  });

  it('divides the rows of an account among its kinds of requests', () => {
    note('acc_1', 400);
    note('acc_1', 100, 429);
    note('acc_1', 100, 404);
    note('acc_1', 2, 502);
    const rows = drained(() => 20);
    expect(rows.length).toBe(20);
    expect(countOf(rows, 'acc_1', 502)).toBe(2);
    for (const status of [200, 404, 429]) expect(countOf(rows, 'acc_1', status)).toBeGreaterThan(3);
    expect(weightOf(rows)).toBe(602);
  });

  it('accepts request IDs and addresses of any length', () => {
    const requestId = 'x'.repeat(128);
    const clientAddress = '0000:0000:0000:0000:0000:ffff:192.168.100.228';
    note('acc_1', 1, 200, { requestId, clientAddress, method: undefined, operation: undefined });
    expect(drained()).toMatchObject([{ requestId, ip: clientAddress, method: '', operation: '', route: '' }]);
  });
});
