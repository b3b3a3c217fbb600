/** The sweep deletes expired idempotency records in batches, and no record that was claimed again meanwhile. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { clockAheadMs, DatabaseRecords, bigintLiteral, recordTime } from '../../src/idempotency/database-records.js';
import { RecordSweep } from '../../src/idempotency/record-sweep.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { TestClock } from '../support/stores.js';

const KEPT_MS = 86_400_000;
/** Number of records: several batches of the sweep, and a remainder. */
const RECORDS = 137;

describeOnDatabases('the sweep of idempotency records', (kind) => {
  let database: DatabaseHandle;
  let clock: TestClock;
  let records: DatabaseRecords;
  let sweep: RecordSweep;
  beforeEach(async () => {
    database = await testDatabase(kind);
    clock = new TestClock();
    const now = () => bigintLiteral(clock.now());
    records = new DatabaseRecords(database.db, now);
    sweep = new RecordSweep(database.db, now);
  });
  afterEach(() => database.close());

  const terms = (at: number, retentionMs = KEPT_MS) => ({
    name: { caller: `key_${at % 3}`, keyHash: `${at}` },
    accountId: 'acc_1',
    fingerprint: 'same',
    owner: `owner ${at}`,
    leaseMs: 15_000,
    retentionMs,
  });
  const left = async () => (await database.db.selectFrom('idempotent_request').select('owner').execute()).length;

  it('deletes expired records, and none that is current or was claimed again', async () => {
    for (let at = 0; at < RECORDS; at++) {
      await records.claim(terms(at));
      const response = { status: 201, code: '', lines: '', body: Buffer.alloc(1_000) };
      await records.end(terms(at), { kind: 'done', status: 201, bodyHash: '', response });
    }
    await records.claim(terms(RECORDS, 2 * KEPT_MS));
    clock.advance(KEPT_MS - 1);
    expect(await sweep.run()).toBe(0);
    clock.advance(1);
    const again = await records.claim({ ...terms(0), owner: 'anew' });
    expect(again.state).toBe('claimed');
    expect(await sweep.run()).toBe(RECORDS - 1);
    expect(await left()).toBe(2);
    expect(await records.claim({ ...terms(0), owner: 'other' })).toEqual({ state: 'under_way' });
  });

  it('can run three times at once, and does not block claims meanwhile', async () => {
    for (let at = 0; at < RECORDS; at++) await records.claim(terms(at));
    clock.advance(KEPT_MS);
    const sweeps = [sweep.run(), sweep.run(), sweep.run()];
    const claimed = await records.claim({ ...terms(1_000), owner: 'meanwhile' });
    expect(claimed.state).toBe('claimed');
    const deleted = await Promise.all(sweeps);
    expect(deleted.reduce((sum, each) => sum + each)).toBe(RECORDS);
    expect(await left()).toBe(1);
  });

  it('keeps a fresh record when records and sweep use the real clock of the database or process', async () => {
    const own = recordTime(kind, clockAheadMs({ now: () => Date.now() }));
    const real = new DatabaseRecords(database.db, own);
    await real.claim(terms(1));
    expect(await new RecordSweep(database.db, own).run()).toBe(0);
    const { expires_at: expiresAt } = await database.db
      .selectFrom('idempotent_request')
      .select('expires_at')
      .executeTakeFirstOrThrow();
    expect(Math.abs(expiresAt - KEPT_MS - Date.now())).toBeLessThan(5_000);
  });

  it('goes by the clock of the database on PostgreSQL, and by that of the process on SQLite', async () => {
    const aheadMs = clockAheadMs({ now: () => Date.now() + 2 * KEPT_MS });
    await new DatabaseRecords(database.db, recordTime(kind, clockAheadMs({ now: () => Date.now() }))).claim(terms(1));
    const ahead = new RecordSweep(database.db, recordTime(kind, aheadMs));
    expect(await ahead.run()).toBe(kind === 'postgres' ? 0 : 1);
    expect(await left()).toBe(kind === 'postgres' ? 1 : 0);
  });
});
