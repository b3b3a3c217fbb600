/** Opens every store of idempotency records, with a clock that a test advances. */
import { describe } from '@jest/globals';
import { pino } from 'pino';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { DatabaseRecords, bigintLiteral } from '../../src/idempotency/database-records.js';
import type { RecordStore } from '../../src/idempotency/record.js';
import { RedisRecords } from '../../src/idempotency/redis-records.js';
import { testDatabase } from './database.js';
import { describeWithPostgres, describeWithRedis } from './describe-with.js';
import { TestClock } from './stores.js';
import { emptyRedis } from './timed-redis.js';

export interface RecordStoreUnderTest {
  readonly store: RecordStore;
  /** Advances the time by a whole number of seconds. */
  wait(seconds: number): Promise<void>;
  /** Deletes all records. */
  empty(): Promise<void>;
  close(): Promise<void>;
}

async function onDatabase(kind: DatabaseHandle['kind']): Promise<RecordStoreUnderTest> {
  const database = await testDatabase(kind);
  const clock = new TestClock();
  return {
    store: new DatabaseRecords(database.db, () => bigintLiteral(clock.now())),
    wait: async (seconds) => clock.advance(seconds * 1_000),
    empty: async () => void (await database.db.deleteFrom('idempotent_request').execute()),
    close: () => database.close(),
  };
}

/** Makes every record older by `ARGV[1]` ms. Redis uses its own clock, which a test cannot advance. */
const AGE = `
for _, key in ipairs(redis.call('KEYS', '*')) do
  local left = redis.call('PTTL', key) - ARGV[1]
  local due = tonumber(redis.call('HGET', key, 'd') or 0)
  if due > 0 then redis.call('HSET', key, 'd', math.max(1, due - ARGV[1])) end
  if left > 0 then redis.call('PEXPIRE', key, left) else redis.call('DEL', key) end
end
`;

async function onRedis(): Promise<RecordStoreUnderTest> {
  const client = await emptyRedis();
  const store = new RedisRecords(client, pino({ level: 'silent' }));
  return {
    store,
    wait: async (seconds) => void (await client.eval(AGE, 0, seconds * 1_000)),
    empty: async () => void (await client.flushdb()),
    close: async () => store.close(),
  };
}

/** Returns the idempotency records of a database with decoded response bodies, in which tests look for secrets. */
export async function readableRecords({ db }: DatabaseHandle) {
  const rows = await db.selectFrom('idempotent_request').selectAll().execute();
  return rows.map((row) => ({ ...row, body: Buffer.from(row.body ?? '', 'base64').toString() }));
}

/** Defines a suite for each kind of store. */
export function describeRecordStores(title: string, suite: (open: () => Promise<RecordStoreUnderTest>) => void): void {
  describe(`${title} on sqlite`, () => {
    suite(() => onDatabase('sqlite'));
  });
  describeWithPostgres(`${title} on postgres`, () => suite(() => onDatabase('postgres')));
  describeWithRedis(`${title} on redis`, () => suite(onRedis));
}
