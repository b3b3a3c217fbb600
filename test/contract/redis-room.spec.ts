/** Checks the free memory of Redis. Idempotency records must give way before counters do. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { pino } from 'pino';
import type { Redis } from 'ioredis';
import { RedisRoom } from '../../src/idempotency/redis-room.js';
import { describeWithOwnRedis } from '../support/describe-with.js';
import { startRedis, type RedisServer } from '../support/redis.js';
import { patientClient } from '../support/timed-redis.js';

describeWithOwnRedis('the free memory in Redis', () => {
  let redis: RedisServer;
  let client: Redis;
  let lines: { event: string; room: string }[];
  let room: RedisRoom;
  beforeEach(async () => {
    redis = await startRedis();
    client = await patientClient(redis.url);
    lines = [];
    const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
    room = new RedisRoom(client, log);
  });
  afterEach(async () => {
    room.stop();
    client.disconnect();
    await redis.stop();
  });

  /** Sets the memory limit so that the given percentage of it is used. */
  async function fillTo(percent: number): Promise<void> {
    const used = Number(/^used_memory:(\d+)/m.exec(await client.info('memory'))?.[1]);
    await client.config('SET', 'maxmemory', Math.round((used * 100) / percent));
  }

  it.each([
    [50, 'plenty'],
    [80, 'tight'],
    [97, 'none'],
  ] as const)('with %d percent used is rated "%s", and each change is logged', async (percent, expected) => {
    await fillTo(percent);
    await room.check();
    expect(room.room).toBe(expected);
    await client.config('SET', 'maxmemory', 0);
    await room.check();
    expect(room.room).toBe('plenty');
    const rooms = expected === 'plenty' ? [] : [expected, 'plenty'];
    expect(lines.map((line) => [line.event, line.room])).toEqual(rooms.map((each) => ['idempotency_store_room', each]));
  });

  it('is rated "plenty" without a memory limit, and when Redis does not answer', async () => {
    await room.check();
    expect(room.room).toBe('plenty');
    await redis.kill9();
    await room.check();
    expect(room.room).toBe('plenty');
  });
});
