/** Request logs reach the database once, after usage and within limits, on SQLite and PostgreSQL. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { pino } from 'pino';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import type { RequestLogTable } from '../../src/stores/database/schema.js';
import { dayOf, keptSinceMs } from '../../src/request-logs/days.js';
import { partitionDays } from '../../src/request-logs/partitions.js';
import { RequestLogRecorder } from '../../src/request-logs/recorder.js';
import { RequestLogFlush } from '../../src/request-logs/request-log-flush.js';
import { RequestLogRetention } from '../../src/request-logs/request-log-retention.js';
import { RequestLogWriter } from '../../src/request-logs/request-log-writer.js';
import { METRICS } from '../../src/platform/metrics.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { SeededRandom } from '../support/seeded-random.js';
import { TestClock } from '../support/stores.js';

const LOG = pino({ level: 'silent' });
const DAY_MS = 86_400_000;
const OPERATION = { id: 'list', template: '/customers' };

/** Simulates a network: fails a write before it begins, or loses the response after the commit. */
class UnreliableWriter extends RequestLogWriter {
  failBefore = 0;
  failAfter = 0;
  statements = 0;

  override async write(...args: Parameters<RequestLogWriter['write']>): Promise<void> {
    this.statements += 1;
    if (this.failBefore-- > 0) throw new Error('not sent');
    await super.write(...args);
    if (this.failAfter-- > 0) throw new Error('answer lost');
  }
}

describeOnDatabases('request logs', (kind) => {
  let database: DatabaseHandle;
  let clock: TestClock;
  let monotonicMs: number;
  let recorder: RequestLogRecorder;
  let writer: UnreliableWriter;
  let flush: RequestLogFlush;
  beforeEach(async () => {
    database = await testDatabase(kind);
    clock = new TestClock(Date.parse('2026-11-22T10:00:00Z'));
    monotonicMs = 0;
    const random = new SeededRandom(3);
    recorder = new RequestLogRecorder(
      ({ template }) => `/api/v1${template}`,
      true,
      () => random.next(),
    );
    writer = new UnreliableWriter(database.db, database.kind);
    flush = new RequestLogFlush(recorder, writer, LOG, () => monotonicMs);
  });
  afterEach(() => database.close());

  const serve = (account: string, requests: number, status = 200, requestId = 'req_1'): void => {
    for (let sent = 0; sent < requests; sent++) {
      const request = { requestId, method: 'GET', operation: OPERATION, problemCode: '', bytesIn: 0, bytesOut: 9 };
      recorder.record({ ...request, clientAddress: '203.0.113.7' }, account, 'key_1', status, 1.5, clock.now());
    }
  };
  const pass = (seconds: number): void => {
    monotonicMs += seconds * 1_000;
    clock.advance(seconds * 1_000);
  };
  const flushed = async (): Promise<void> => {
    pass(5);
    await flush.flush(0);
  };
  const rows = (): Promise<RequestLogTable[]> =>
    database.db.selectFrom('request_log').selectAll().orderBy('seq').execute();
  const count = async (): Promise<number> => {
    const { rows: counts } = await sql<{ n: number }>`
      select cast(count(*) as bigint) as n from request_log
    `.execute(database.db);
    return counts[0]?.n ?? 0;
  };
  const weight = async (): Promise<number> => (await rows()).reduce((sum, row) => sum + row.weight, 0);

  it('are stored in the database with all fields', async () => {
    serve('acc_1', 1, 404, 'Ünïcode-is-no-request-id'.slice(7));
    await flushed();
    expect(await rows()).toEqual([
      {
        account_id: 'acc_1',
        day: 20_261_122,
        at: Date.parse('2026-11-22T10:00:00Z'),
        node: recorder.node,
        seq: 1,
        request_id: '-is-no-request-id',
        api_key_id: 'key_1',
        operation: 'list',
        method: 'GET',
        route: '/api/v1/customers',
        status: 404,
        code: '',
        duration_us: 1_500,
        bytes_in: 0,
        bytes_out: 9,
        ip: '203.0.113.7',
        weight: 1,
        source: 'rest',
        tool: '',
      },
    ]);
  });

  it('are written once when the response of the database is lost', async () => {
    serve('acc_1', 3);
    writer.failAfter = 1;
    await flushed();
    expect((await rows()).length).toBe(3);
    serve('acc_1', 2);
    await flushed();
    expect((await rows()).length).toBe(5);
    expect(await weight()).toBe(5);
  });

  it('wait in limited memory during a database outage, and are all accounted for afterwards', async () => {
    for (let account = 0; account < 10; account++) serve(`acc_${account}`, 30);
    writer.failBefore = 20;
    for (let round = 0; round < 20; round++) {
      await flushed();
      for (let account = 0; account < 10; account++) serve(`acc_${account}`, 200);
      serve('acc_3', 1, 500);
      expect(recorder.length).toBeLessThanOrEqual(5_000);
    }
    expect(await rows()).toEqual([]);
    await flushed();
    expect((await rows()).filter(({ status }) => status === 500).length).toBe(20);
    expect(await weight()).toBe(10 * (30 + 20 * 200) + 20);
  });

  it('never fail the flush of usage before them', async () => {
    serve('acc_1', 1);
    writer.failBefore = 1;
    const failed = METRICS.requestLogFlushes.series('failed').value;
    await expect(flush.flush(0)).resolves.toBeUndefined();
    expect(METRICS.requestLogFlushes.series('failed').value).toBe(failed + 1);
  });

  it('send no statement when no request has ended, and release idle accounts', async () => {
    for (let round = 0; round < 3; round++) await flushed();
    expect(writer.statements).toBe(0);
    for (let account = 0; account < 50; account++) serve(`acc_${account}`, 2);
    await flushed();
    expect(recorder.accountsHeld).toBe(50);
    for (let round = 0; round < 3; round++) await flushed();
    expect(recorder.accountsHeld).toBe(0);
    expect(writer.statements).toBe(1);
  });

  it('are limited to 250 rows a second for each process, and the others follow later', async () => {
    serve('acc_0', 1);
    await flushed();
    for (let account = 0; account < 2_000; account++) serve(`acc_${account}`, 10);
    pass(1);
    await flush.flush(0);
    expect(await count()).toBeLessThanOrEqual(1 + 250);
    // The other rows follow with the next flushes.
    for (let round = 0; round < 5; round++) await flushed();
    expect(new Set((await rows()).map((row) => row.account_id)).size).toBe(2_000);
  });

  it('of a busy account are sampled at a daily rate after a burst, and their weights add up', async () => {
    const perFlush: number[] = [];
    let before = 0;
    // Each round simulates the rows that the recorder keeps of a busy account.
    for (let round = 0; round < 100; round++) {
      serve('acc_loud', 600);
      await flushed();
      const written = await count();
      perFlush.push(written - before);
      before = written;
    }
    // 20,000 rows at first, then about ten in each flush, which makes 180,000 a day.
    expect(perFlush.slice(0, 40)).toEqual(perFlush.slice(0, 40).map(() => 500));
    expect(perFlush.slice(-20).every((written) => written >= 9 && written <= 12)).toBe(true);
    expect(await weight()).toBe(60_000);
  });

  it('keep the time of the clock, even when the clock is changed', async () => {
    serve('acc_1', 1);
    clock.advance(-3_600_000);
    serve('acc_1', 1);
    clock.advance(40 * DAY_MS);
    serve('acc_1', 1);
    await flushed();
    expect((await rows()).map(({ day, seq }) => [day, seq])).toEqual([
      [20_261_122, 1],
      [20_261_122, 2],
      [20_270_101, 3],
    ]);
  });

  it('of two processes do not collide', async () => {
    const other = new RequestLogRecorder(({ template }) => `/api/v1${template}`);
    const secondFlush = new RequestLogFlush(other, writer, LOG, () => monotonicMs);
    serve('acc_1', 5);
    for (let sent = 0; sent < 5; sent++) {
      const request = { requestId: 'req_1', method: 'GET', operation: OPERATION, problemCode: '' };
      other.record(
        { ...request, clientAddress: '::1', bytesIn: 0, bytesOut: 0 },
        'acc_1',
        'key_1',
        200,
        1,
        clock.now(),
      );
    }
    pass(5);
    await Promise.all([flush.flush(0), secondFlush.flush(0)]);
    expect((await rows()).length).toBe(10);
  });

  it('are deleted at the configured age, and no others', async () => {
    const written: number[] = [];
    for (let day = 0; day < 10; day++) {
      serve('acc_1', 2);
      await flushed();
      written.push(dayOf(clock.now()));
      clock.advance(DAY_MS);
    }
    const retention = new RequestLogRetention(database.db, database.kind, () => 3, clock);
    await retention.run();
    await retention.run();
    // PostgreSQL deletes by its own clock, so the earlier of both clocks decides.
    const nowMs = kind === 'postgres' ? Math.min(Date.now(), clock.now()) : clock.now();
    const kept = written.filter((day) => day >= dayOf(keptSinceMs(nowMs, 3)));
    expect([...new Set((await rows()).map(({ day }) => day))]).toEqual(kept);
    expect(kept).toEqual(kind === 'sqlite' ? [20_261_129, 20_261_130, 20_261_201] : kept);
  });

  it('are all deleted with a retention of zero days', async () => {
    serve('acc_1', 2);
    await flushed();
    await new RequestLogRetention(database.db, database.kind, () => 0, clock).run();
    expect(await rows()).toEqual([]);
    serve('acc_1', 2);
    await flushed();
    expect((await rows()).length).toBe(2);
  });

  it('are deleted at their age, even 1,500 rows of one day (inserted on SQLite only)', async () => {
    await sql`
      insert into request_log (account_id, day, at, node, seq, request_id, api_key_id, operation, method, route,
        status, code, duration_us, bytes_in, bytes_out, ip, weight) values
      ${sql.join(
        (kind === 'sqlite' ? Array.from({ length: 1_500 }) : []).map(
          (_, seq) => sql`('acc_1', 20200101, 1, 'n', ${seq}, '', '', '', '', '', 200, '', 1, 0, 0, '', 1)`,
        ),
      )}
    `
      .execute(database.db)
      .catch((error: unknown) => {
        if (kind === 'sqlite') throw error;
      });
    serve('acc_1', 1);
    await flushed();
    await new RequestLogRetention(database.db, database.kind, () => 7, clock).run();
    expect((await rows()).length).toBe(1);
  });

  if (kind === 'postgres') {
    it('have partitions for today and the following days', async () => {
      clock.advance(Date.now() - clock.now());
      await new RequestLogRetention(database.db, database.kind, () => 7, clock).run();
      expect((await partitionDays(database.db)).length).toBe(4);
    });

    it('create a missing partition of a day, even in three processes at once', async () => {
      const others = [0, 1, 2].map(() => {
        const recorderOfOther = new RequestLogRecorder(({ template }) => `/api/v1${template}`);
        const request = { requestId: 'r', method: 'GET', operation: OPERATION, problemCode: '', clientAddress: '::1' };
        recorderOfOther.record({ ...request, bytesIn: 0, bytesOut: 0 }, 'acc_1', 'key_1', 200, 1, clock.now());
        return new RequestLogFlush(recorderOfOther, new RequestLogWriter(database.db, kind), LOG, () => monotonicMs);
      });
      pass(5);
      await Promise.all(others.map((other) => other.flush(0)));
      expect((await rows()).length).toBe(3);
    });

    it('are deleted with their old partition during concurrent reads and writes', async () => {
      clock.advance(Date.now() - 20 * DAY_MS - clock.now());
      serve('acc_1', 2);
      await flushed();
      clock.advance(20 * DAY_MS);
      serve('acc_1', 1);
      await flushed();
      const retention = new RequestLogRetention(database.db, database.kind, () => 7, clock);
      await Promise.all([retention.run(), flushed(), rows()]);
      expect((await rows()).length).toBe(1);
      expect((await partitionDays(database.db)).length).toBe(4);
    });
  }
});
