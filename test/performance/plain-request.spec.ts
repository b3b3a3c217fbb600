/**
 * Counts per plain request, in the running program with a real Redis: system calls, calls to Redis, bytes, promises and
 * timers. None depends on the speed of the machine. Limits are slightly above the current values. Lower them after an
 * improvement, and raise them only with a reason.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { CountedProgram, countsAreKnown, type Made, type ProgramCounts } from '../support/counts.js';
import { describeUnless, describeWithOwnRedis } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { seriesOf } from '../support/metrics-text.js';
import { PlainBackend, PlainLoad } from '../support/plain-load.js';
import { sleep } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { startRedis, type RedisServer } from '../support/redis.js';

const AT_ONCE = 64;
const ACCOUNTS = 8;
const WARM_UP = { together: 16_000, alone: 1_000 };
const MEASURED = { together: 4_000, alone: 500, collected: 6_000 };
/** Number of rounds. The lowest value counts, because background work and an unfinished compiler can only add. */
const ROUNDS = 4;
/** Maximum number of rounds. A round is repeated if Redis was too slow and requests were decided locally. */
const MAX_ROUNDS = 40;
const PAUSE_MS = 200;
/** Number of requests that are sent to find the functions that create or allocate too much. */
const EXPLAINED = 500;
const MAKERS_SHOWN = 40;

/** Limits that are never reached. They make all four windows count. */
const LIMITS = { key: { minute: 1e9, month: 1e12 }, account: { minute: 1e9, month: 1e12 } };

/** Limits for a single request: one call to Redis, and one read and write each for client, backend and Redis. */
const ALONE = { redisCalls: 1.02, redisReads: 1.05, reads: 3.2, writes: 3.3, turns: 3.2 };
/** Limits per request among 64 concurrent ones, which share calls to Redis. */
const TOGETHER = {
  calls: { redisCalls: 0.2, redisReads: 0.2, reads: 2.35, writes: 2.4 },
  bytes: { bytesBesideRedis: 12_000 },
};
/** Bytes that a call to Redis allocates. Another test checks how many requests share one. */
const CALL_BYTES = 8_000;
/** Maximum bytes per request, among 64 concurrent ones, that a minor collection promotes (decision 0026). */
const PROMOTED_BYTES = 60;
/**
 * Maximum objects per request. A request creates no promise itself. Log, flush and probes create some per second, which
 * are fewer per request on a faster machine.
 */
const MADE: Made = { PROMISE: 0.5, TickObject: 1.3, Timeout: 1.3, Immediate: 1.3 };
/** Maximum of every other kind of object. */
const MAX_OTHERS = 0.3;

type Counts = Readonly<Record<string, number>>;
type Figures = Readonly<Record<keyof ProgramCounts | 'redisCalls' | 'redisReads', number>>;

(countsAreKnown ? describeWithOwnRedis : describeUnless('needs the /proc of Linux'))('a plain request', () => {
  const backend = new PlainBackend();
  const load = new PlainLoad();
  const program = new CountedProgram();
  let redis: RedisServer;
  let client: Redis;
  let gateway: RunningTrailgate;
  let alone: Figures;
  let together: Figures;
  let made: Made;

  beforeAll(async () => {
    redis = await startRedis();
    client = new Redis(redis.url);
    gateway = await startTrailgate({
      backend: await backend.start(),
      config: { gateway: { limits: { requestsPerConnection: 0 } }, plans: { counted: LIMITS } },
      env: { ...program.env, REDIS_URL: redis.url },
    });
    await program.open(gateway.pid);
    const secrets: string[] = [];
    for (let account = 0; account < ACCOUNTS; account++)
      secrets.push((await gateway.admin.newKey('counted')).key.secret);
    await load.open(gateway.gatewayUrl, '/api/v1/customers?limit=8', secrets, AT_ONCE);
    await load.send(WARM_UP.together, AT_ONCE);
    await load.send(WARM_UP.alone, 1);
    alone = await figuresOf(MEASURED.alone, 1);
    made = await madeByOne();
    together = await figuresOf(MEASURED.together, AT_ONCE);
  });
  afterAll(async () => {
    load.close();
    program.close();
    client.disconnect();
    await gateway.stop();
    await Promise.all([redis.stop(), backend.stop()]);
  });

  /** Returns the script calls and socket reads of Redis. Calls that arrive together count as one read. */
  async function redisCounts(): Promise<{ redisCalls: number; redisReads: number }> {
    const statistics = await client.info('commandstats');
    const calls = [...statistics.matchAll(/cmdstat_(?:eval|evalsha|fcall):calls=(\d+)/g)].map(([, count]) =>
      Number(count),
    );
    const [, reads] = /total_reads_processed:(\d+)/.exec(await client.info('stats')) ?? [];
    return { redisCalls: calls.reduce((sum, count) => sum + count, 0), redisReads: Number(reads) };
  }

  async function roundsOf<T>(round: () => Promise<T>): Promise<T[]> {
    const rounds: T[] = [];
    for (let done = 0; rounds.length < ROUNDS; done++) {
      if (done === MAX_ROUNDS) throw new Error(`Redis was too slow in too many of ${MAX_ROUNDS} rounds`);
      const before = await decisionsWithoutRedis();
      const result = await round();
      if ((await decisionsWithoutRedis()) === before) rounds.push(result);
      else await sleep(PAUSE_MS);
    }
    return rounds;
  }

  async function decisionsWithoutRedis(): Promise<number> {
    const series = seriesOf((await send(`${gateway.adminUrl}/metrics`)).text);
    const degraded = [...series].filter(([name]) => name.startsWith('trailgate_quota_degraded_decisions_total'));
    return degraded.reduce((sum, [, count]) => sum + count, 0);
  }

  async function figuresOf(requests: number, atOnce: number): Promise<Figures> {
    const rounds = await roundsOf(async () => {
      const before = await countsNow();
      await load.send(requests, atOnce);
      return perRequest(difference(await countsNow(), before), requests);
    });
    return rounds.reduce((lowest, figures) => combined(lowest, figures, Math.min));
  }

  async function madeByOne(): Promise<Made> {
    const rounds = await roundsOf(async () =>
      perRequest(await program.madeWhile(() => load.send(MEASURED.alone, 1)), MEASURED.alone),
    );
    return rounds.reduce((lowest, sums) => combined(lowest, sums, Math.min));
  }

  const countsNow = async (): Promise<Figures> => ({ ...(await redisCounts()), ...(await program.read()) });

  /** Returns the figures that exceed their limits, with their names. */
  const above = (figures: Counts, limits: Counts): string[] =>
    Object.entries(limits).flatMap(([name, limit]) =>
      (figures[name] ?? 0) <= limit ? [] : [`${name}: ${(figures[name] ?? 0).toFixed(2)}, limit ${limit}`],
    );

  it('alone takes one call to Redis, and a read and a write each for client, backend and Redis', () => {
    expect(above(alone, ALONE)).toEqual([]);
    // Lower values would mean that the counts miss the request.
    expect([alone.redisCalls, alone.reads, alone.writes].map(Math.round)).toEqual([1, 3, 3]);
  });

  it('among 64 concurrent ones shares its Redis call, with a read and write for client and backend', () => {
    expect(above(together, TOGETHER.calls)).toEqual([]);
    expect([together.reads, together.writes].map(Math.round)).toEqual([2, 2]);
  });

  it('is sent to the backend in one piece, and so is its response to the client', async () => {
    const before = { backend: backend.pieces, client: load.pieces };
    await load.send(MEASURED.alone, 1);
    expect([backend.pieces - before.backend, load.pieces - before.client]).toEqual([MEASURED.alone, MEASURED.alone]);
  });

  it('creates no more promises, ticks, timers and immediates than the limits', async () => {
    const others = Object.entries(made).filter(([type]) => MADE[type] === undefined);
    const sum = others.reduce((total, [, count]) => total + count, 0);
    const tooMany = above({ ...made, others: sum }, { ...MADE, others: MAX_OTHERS });
    expect(tooMany.length === 0 ? [] : [...tooMany, ...(await makers(tooMany))]).toEqual([]);
    const always = Object.keys(MADE).filter((type) => type !== 'PROMISE');
    expect(made).toMatchObject(Object.fromEntries(always.map((type) => [type, expect.any(Number)])));
    // Checks that promises are counted at all. A response of the admin application creates some.
    const { PROMISE = 0 } = await program.madeWhile(async () => void (await send(`${gateway.adminUrl}/metrics`)));
    expect(PROMISE).toBeGreaterThan(0);
  });

  it('allocates no more bytes than the limit', async () => {
    const bytesBesideRedis = together.bytes - together.redisCalls * CALL_BYTES;
    const tooMany = above({ bytesBesideRedis }, TOGETHER.bytes);
    expect(tooMany.length === 0 ? [] : [...tooMany, ...(await allocators())]).toEqual([]);
    expect(bytesBesideRedis).toBeGreaterThan(TOGETHER.bytes.bytesBesideRedis / 4);
  });

  it('promotes almost no bytes to the old generation', async () => {
    const rounds = await roundsOf(() => program.promotedWhile(() => load.send(MEASURED.collected, AT_ONCE)));
    const promoted = rounds.map(({ bytes }) => bytes / MEASURED.collected);
    expect(Math.min(...promoted)).toBeLessThan(PROMOTED_BYTES);
    expect(Math.min(...rounds.map(({ scavenges }) => scavenges))).toBeGreaterThan(1);
  });

  /** Returns the functions that create too many of something, with the number per request, most first. */
  async function makers(tooMany: readonly string[]): Promise<string[]> {
    const types = tooMany.map((name) => name.split(':')[0]);
    const found = await program.makersWhile(() => load.send(EXPLAINED, 1));
    const named = Object.entries(found).filter(([maker]) => {
      const type = maker.split(':')[0] ?? '';
      return types.includes(type) || (types.includes('others') && MADE[type] === undefined);
    });
    return largest(perRequest(Object.fromEntries(named), EXPLAINED), 2);
  }

  async function allocators(): Promise<string[]> {
    const sampled = await program.allocatedWhile(() => load.send(MEASURED.together, AT_ONCE));
    return largest(perRequest(sampled, MEASURED.together), 0);
  }
});

/** Combines two sets of figures, figure by figure. */
function combined<T extends Counts>(one: T, other: T, how: (a: number, b: number) => number): T {
  return Object.fromEntries(Object.entries(one).map(([name, figure]) => [name, how(figure, other[name] ?? 0)])) as T;
}

function difference(after: Figures, before: Figures): Figures {
  return combined(after, before, (a, b) => a - b);
}

function perRequest<T extends Counts>(sums: T, requests: number): T {
  return Object.fromEntries(Object.entries(sums).map(([name, sum]) => [name, sum / requests])) as T;
}

function largest(figures: Counts, digits: number): string[] {
  const sorted = Object.entries(figures).toSorted(([, one], [, other]) => other - one);
  return sorted.slice(0, MAKERS_SHOWN).map(([name, count]) => `${count.toFixed(digits)} ${name}`);
}
