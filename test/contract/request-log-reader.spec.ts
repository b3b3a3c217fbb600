/**
 * The request log is read by its indexes and in pages. It can be followed while processes write. Runs on SQLite and
 * PostgreSQL.
 */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { RequestLogReader } from '../../src/request-logs/request-log-reader.js';
import type { RequestLogQuery } from '../../src/request-logs/request-log-query.js';
import type { RequestLogRow } from '../../src/request-logs/request-log-row.js';
import { RequestLogWriter } from '../../src/request-logs/request-log-writer.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { requestLogRow } from '../support/request-logs.js';

const NOW_MS = Date.parse('2026-11-22T10:00:00Z');
const DAY_MS = 86_400_000;

describeOnDatabases('the request log reader', (kind) => {
  let database: DatabaseHandle;
  let writer: RequestLogWriter;
  let reader: RequestLogReader;
  let seq: number;
  beforeEach(async () => {
    database = await testDatabase(kind);
    writer = new RequestLogWriter(database.db, database.kind);
    reader = new RequestLogReader(database.db, () => NOW_MS);
    seq = 0;
  });
  afterEach(() => database.close());

  const row = (change: Partial<RequestLogRow> = {}): RequestLogRow =>
    requestLogRow({ at: NOW_MS, seq: ++seq, ...change });
  const write = async (rows: readonly RequestLogRow[]): Promise<void> => {
    for (let from = 0; from < rows.length; from += 2_000) await writer.write(rows.slice(from, from + 2_000));
  };
  const query = (change: Partial<RequestLogQuery> = {}): RequestLogQuery => ({
    from: 0,
    to: Number.MAX_SAFE_INTEGER,
    limit: 100,
    order: 'desc',
    ...change,
  });
  /** Returns the request IDs of all pages in order, and the number of pages. */
  const all = async (change: Partial<RequestLogQuery>): Promise<{ ids: string[]; pages: number }> => {
    const ids: string[] = [];
    let cursor: string | undefined;
    for (let pages = 1; ; pages++) {
      const page = await reader.readPage('acc_1', query({ ...change, cursor }));
      ids.push(...page.data.map(({ request_id: id }) => id));
      if (!page.hasMore) return { ids, pages };
      cursor = page.nextCursor ?? undefined;
    }
  };

  it('returns every row once across pages, newest first, even within one millisecond', async () => {
    const rows = Array.from({ length: 250 }, (_, index) => row({ at: NOW_MS - (index % 5) * DAY_MS }));
    await write(rows);
    const { ids, pages } = await all({ limit: 20 });
    expect(pages).toBe(13);
    const sorted = rows.toSorted((a, b) => b.at - a.at || b.seq - a.seq).map(({ requestId }) => requestId);
    expect(ids).toEqual(sorted);
  });

  it('finds all rare rows among 25,000, in pages of bounded work', async () => {
    const rows = Array.from({ length: 25_000 }, (_, index) =>
      row({
        at: NOW_MS - (25_000 - index) * 1_000,
        ...(index % 9_000 === 8_999 ? { status: 403, code: 'key_paused' } : {}),
      }),
    );
    await write(rows);
    const rare = rows.filter(({ status }) => status === 403).map(({ requestId }) => requestId);
    for (const change of [{ status: [400, 499] as const }, { code: 'key_paused' }, { code: 'key_paused', limit: 1 }]) {
      expect((await all(change)).ids).toEqual(rare.toReversed());
      expect((await all({ ...change, order: 'asc' })).ids).toEqual(rare);
    }
    const first = await reader.readPage('acc_1', query({ code: 'no_such_code' }));
    expect(first).toMatchObject({ data: [], hasMore: true });
    expect((await all({ code: 'no_such_code' })).pages).toBe(3);
  });

  it('follows several processes that write at different times: each row once, none missing', async () => {
    const seen: string[] = [];
    let cursor: string | undefined;
    const follow = async (): Promise<void> => {
      const page = await reader.readPage('acc_1', query({ order: 'asc', from: NOW_MS - 5_000, limit: 7, cursor }));
      seen.push(...page.data.map(({ request_id: id }) => id));
      expect(page.nextCursor).not.toBeNull();
      cursor = page.nextCursor ?? undefined;
    };
    const written: string[] = [];
    // Node b writes four seconds later than node a, for requests that ended at the same time.
    for (let round = 0; round < 20; round++) {
      for (const [node, delay] of [
        ['node_a', 0],
        ['node_b', 4_000],
      ] as const) {
        const rows = Array.from({ length: 3 }, (_, index) => row({ node, at: NOW_MS + round * 2_000 + index - delay }));
        await write(rows);
        written.push(...rows.map(({ requestId }) => requestId));
        await follow();
      }
    }
    for (let rest = 0; rest < 20; rest++) await follow();
    expect(seen.toSorted()).toEqual(written.toSorted());
  });

  it('returns no row twice when rows of another process arrive late and after a pause', async () => {
    let now = NOW_MS;
    reader = new RequestLogReader(database.db, () => now);
    const seen: string[] = [];
    let cursor: string | undefined;
    const follow = async (): Promise<number> => {
      const page = await reader.readPage('acc_1', query({ order: 'asc', from: NOW_MS - 5_000, limit: 7, cursor }));
      seen.push(...page.data.map(({ request_id: id }) => id));
      cursor = page.nextCursor ?? undefined;
      return page.data.length;
    };
    const early = [0, 1, 2].map((at) => row({ node: 'node_a', at: NOW_MS + at }));
    await write(early);
    await follow();
    const late = Array.from({ length: 10 }, (_, index) => row({ node: 'node_b', at: NOW_MS - 1_000 + index }));
    await write(late);
    now += 70_000;
    while ((await follow()) > 0);
    // Later rows are still found.
    const next = ['node_a', 'node_b'].map((node) => row({ node, at: now }));
    await write(next);
    while ((await follow()) > 0);
    expect(seen).toEqual([...early, ...late, ...next].map(({ requestId }) => requestId));
  });

  it('lists forward rows that were written while the clock was set back', async () => {
    const rows = Array.from({ length: 200 }, (_, index) => row({ at: NOW_MS - 3_600_000 - index * 1_000 }));
    await write(rows);
    const { ids } = await all({ order: 'asc', limit: 7 });
    expect(ids).toEqual(rows.map(({ requestId }) => requestId).toReversed());
  });

  it('continues to follow after a row of a process whose clock is ahead', async () => {
    await write([row({ node: 'ahead', at: NOW_MS + 600_000 })]);
    const first = await reader.readPage('acc_1', query({ order: 'asc', from: NOW_MS - 5_000 }));
    await write([row({ requestId: 'late' })]);
    const second = await reader.readPage(
      'acc_1',
      query({ order: 'asc', from: NOW_MS - 5_000, cursor: first.nextCursor ?? '' }),
    );
    expect(second.data.map(({ request_id: id }) => id)).toEqual(['late']);
  });

  it.each([
    ['of another list', { status: [400, 499] as const }],
    ['of the other direction', { order: 'asc' as const }],
  ])('rejects a cursor %s', async (_what, change) => {
    await write(Array.from({ length: 3 }, () => row()));
    const { nextCursor } = await reader.readPage('acc_1', query({ limit: 1 }));
    const next = reader.readPage('acc_1', query({ limit: 1, cursor: nextCursor ?? '', ...change }));
    await expect(next).rejects.toMatchObject({ code: 'invalid_cursor' });
  });

  it('reads every list by an index among 20,000 rows', async () => {
    const rows = Array.from({ length: 20_000 }, (_, number) =>
      row({ accountId: `acc_${number % 20}`, keyId: `key_${number % 2_000}`, at: NOW_MS - (number % 3) * DAY_MS }),
    );
    await write(rows);
    await sql`analyze`.execute(database.db);
    for (const [change, index] of [
      [{}, /account_id/],
      [{ order: 'asc' }, /account_id/],
      [{ keyId: 'key_21' }, /api_key_id/],
      [{ requestId: 'req_77' }, /request_id/],
    ] as const) {
      for (const plan of await plansOf(database, () => reader.readPage('acc_1', query({ limit: 10, ...change })))) {
        // PostgreSQL prints the index condition on the next line.
        const reads = plan.matchAll(/^.*(?:SCAN|SEARCH|Scan).*request_log.*(?:\n +Index Cond.*)?$/gm);
        const ofLog = Array.from(reads, ([read]) => read).filter((read) => !read.includes('Bitmap Heap'));
        expect(ofLog.length).toBeGreaterThan(0);
        for (const read of ofLog) {
          expect(read).toMatch(/index/i);
          expect(read).toMatch(index);
        }
      }
    }
  });
});

/** Returns the query plans of the statements that a call runs. */
async function plansOf(database: DatabaseHandle, call: () => Promise<unknown>): Promise<string[]> {
  const statements: { sql: string; parameters: readonly unknown[] }[] = [];
  const executor = database.db.getExecutor();
  const original = executor.executeQuery.bind(executor);
  Object.assign(executor, {
    executeQuery: (compiled: { sql: string; parameters: readonly unknown[] }, ...rest: []) => {
      statements.push(compiled);
      return original(compiled as never, ...rest);
    },
  });
  await call();
  Object.assign(executor, { executeQuery: original });
  const plans = statements.map(async ({ sql: text, parameters }) => {
    const explain = database.kind === 'sqlite' ? 'explain query plan ' : 'explain ';
    const { rows } = await executor.executeQuery<Record<string, unknown>>({
      sql: explain + text,
      parameters,
      query: { kind: 'RawNode' },
      queryId: { queryId: 'plan' },
    } as never);
    return rows.map((row) => String(row['detail'] ?? row['QUERY PLAN'])).join('\n');
  });
  return Promise.all(plans);
}
