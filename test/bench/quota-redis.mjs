/** Measures decisions in Redis: time of the script, calls per decision, and memory, with few and many accounts. */
import { startRedis } from './redis.mjs';
import { temporaryFolder } from './processes.mjs';
import {
  accountCounterKey,
  admit,
  admitAll,
  apiKeyCounterKey,
  median,
  openParts,
  openRedisQuotas,
  shuffled,
  subjectOf,
  subjectsOf,
} from './quota-parts.mjs';

const BATCHES = [16, 64, 256];
const ROUNDS = 9;
const CONCURRENT_MS = 2_000;
const MEMORY_ACCOUNTS = 10_000;
const KEYS_EACH = 2;
const FEW_ACCOUNTS = 1_000;
const SAMPLE = 4_000;
const PIPELINE = 2_000;
const RING = Array.from({ length: 61 }, (_, slot) => slot);

/**
 * Measures decisions in a new Redis.
 * @param manyAccounts number of accounts in the rows with many accounts
 * @returns rows of the table
 */
export async function measureRedis(manyAccounts) {
  const redis = await startRedis('quotas');
  const { database, parts } = await openParts(temporaryFolder());
  const quotas = await openRedisQuotas(parts, redis.url);
  const { limiter } = quotas;
  const { client } = redis;
  const rows = [];
  console.error('in Redis: time and calls');
  const few = subjectsOf(FEW_ACCOUNTS);
  await admitAll(limiter, few);
  rows.push(...(await scriptTimes(client, limiter, few)), ...(await callsPerDecision(client, limiter, few)));
  const alone = await oneByOne(client, limiter, few);
  console.error('in Redis: memory');
  rows.push(...(await memory(client, limiter)));
  console.error(`in Redis: ${manyAccounts} accounts`);
  const crowd = await fill(client, manyAccounts);
  // One unmeasured decision per account, so that its counters have the size of counters in use.
  const sample = shuffled(sampleOf(manyAccounts));
  await admitAll(limiter, sample);
  const among = await oneByOne(client, limiter, sample);
  for (const [count, figures] of [
    [FEW_ACCOUNTS, alone],
    [manyAccounts, among],
  ]) {
    const what = `decision among ${count.toLocaleString('en')} accounts, one at a time`;
    rows.push({ what: `${what}: script`, figure: `${figures.scriptMicroseconds.toFixed(1)} µs` });
    rows.push({ what: `${what}: round trip, median`, figure: `${figures.roundTripMicroseconds.toFixed(0)} µs` });
  }
  rows.push({
    what: `Redis memory with ${manyAccounts.toLocaleString('en')} accounts`,
    figure: `${Math.round(crowd / 1e6)} MB`,
  });
  await quotas.stop();
  await database.close();
  client.disconnect();
  return rows;
}

/** Measures the script time per decision, for different numbers of decisions per call, each of a different account. */
async function scriptTimes(client, limiter, subjects) {
  const single = median(await rounds(() => scriptTimeDuring(client, () => inTurn(limiter, subjects))));
  const rows = [{ what: 'script time of a decision, alone', figure: `${single.toFixed(1)} µs` }];
  for (const size of BATCHES) {
    const batches = Math.floor(subjects.length / (size + 1));
    const total = await rounds(async () => {
      const perCall = await scriptTimeDuring(client, () => inBatches(limiter, subjects, size));
      // Half of the calls contain a single decision, during which the batch gathers.
      return (perCall * 2 * batches - single * batches) / (batches * size);
    });
    rows.push({ what: `script time of a decision, ${size} in one call`, figure: `${median(total).toFixed(1)} µs` });
  }
  return rows;
}

async function rounds(measure) {
  const figures = [];
  for (let round = 0; round < ROUNDS; round++) figures.push(await measure());
  return figures;
}

async function inTurn(limiter, subjects) {
  for (const subject of subjects) await admit(limiter, subject);
}

/** Makes decisions in batches. The first decision is sent at once, and the others gather for the next call. */
async function inBatches(limiter, subjects, size) {
  for (let at = 0; at + size < subjects.length; at += size + 1) {
    await Promise.all(subjects.slice(at, at + size + 1).map((subject) => admit(limiter, subject)));
  }
}

/** Returns the mean time of a script call during `work`, in µs. */
async function scriptTimeDuring(client, work) {
  const { microseconds, calls } = await scriptsDuring(client, work);
  return microseconds / calls;
}

async function scriptsDuring(client, work) {
  const before = await scriptStatistics(client);
  await work();
  const after = await scriptStatistics(client);
  return { calls: after.calls - before.calls, microseconds: after.microseconds - before.microseconds };
}

async function scriptStatistics(client) {
  const text = await client.info('commandstats');
  const [, calls = 0, microseconds = 0] = /cmdstat_evalsha:calls=(\d+),usec=(\d+)/.exec(text) ?? [];
  return { calls: Number(calls), microseconds: Number(microseconds) };
}

async function callsPerDecision(client, limiter, subjects) {
  const idle = await scriptsDuring(client, () => inTurn(limiter, subjects));
  let decisions = 0;
  const until = performance.now() + CONCURRENT_MS;
  const caller = async (subject) => {
    for (; performance.now() < until; decisions++) await admit(limiter, subject);
  };
  const busy = await scriptsDuring(client, () => Promise.all(subjects.slice(0, 64).map(caller)));
  return [
    {
      what: 'calls to Redis for a decision, one at a time',
      figure: (idle.calls / subjects.length).toFixed(2),
      aim: '1',
    },
    { what: 'calls to Redis for a decision, 64 at a time', figure: (busy.calls / decisions).toFixed(3) },
    {
      what: 'decisions a second, 64 at a time, one connection',
      figure: Math.round((decisions * 1_000) / CONCURRENT_MS).toLocaleString('en'),
    },
  ];
}

/**
 * Measures the memory of the counters of an account and one key: after the first use, and after use in every second of
 * a minute. Deletes everything in Redis first.
 */
async function memory(client, limiter) {
  await client.flushall();
  const before = await usedMemory(client);
  await admitAll(limiter, subjectsOf(MEMORY_ACCOUNTS, KEYS_EACH));
  const counters = MEMORY_ACCOUNTS * (1 + KEYS_EACH);
  const fresh = await usedMemory(client);
  // Counts only counters, because nodes have other keys in Redis, too.
  const names = await client.keys(`${accountCounterKey('*')}*`);
  if (names.length !== counters) throw new Error('Redis does not hold one key for each counter');
  for (let at = 0; at < names.length; at += PIPELINE) {
    const pipeline = client.pipeline();
    for (const name of names.slice(at, at + PIPELINE)) pipeline.hset(name, ...RING.flatMap((slot) => [slot, 12]));
    await pipeline.exec();
  }
  const full = await usedMemory(client);
  const encoding = await client.object('ENCODING', names[0]);
  const each = (used) => `${Math.round(((used - before) / counters) * 2).toLocaleString('en')} B`;
  const what = 'Redis memory of an account and its key';
  return [
    { what: `${what}, just used`, figure: each(fresh), aim: '< 1,500 B' },
    { what: `${what}, used in every second of the minute (${encoding})`, figure: each(full), aim: '< 1,500 B' },
  ];
}

async function usedMemory(client) {
  return Number(/used_memory:(\d+)/.exec(await client.info('memory'))?.[1]);
}

/**
 * Creates counters for many accounts by copying those that the program has written for the first account.
 * @returns the memory that Redis uses, in bytes
 */
async function fill(client, accounts) {
  const [model] = subjectsOf(1);
  const [account, key] = await Promise.all(
    [accountCounterKey(model.accountId), apiKeyCounterKey(model.accountId, model.keyId)].map((name) =>
      client.dumpBuffer(name),
    ),
  );
  const livesMs = await client.pttl(accountCounterKey(model.accountId));
  for (let at = 0; at < accounts; at += PIPELINE) {
    const pipeline = client.pipeline();
    for (let index = at; index < Math.min(accounts, at + PIPELINE); index++) {
      const { accountId, keyId } = subjectOf(index);
      pipeline.restore(accountCounterKey(accountId), livesMs, account, 'REPLACE');
      pipeline.restore(apiKeyCounterKey(accountId, keyId), livesMs, key, 'REPLACE');
    }
    await pipeline.exec();
  }
  return usedMemory(client);
}

/** Returns subjects that are spread evenly over all accounts. */
function sampleOf(accounts) {
  const step = Math.floor(accounts / SAMPLE);
  return Array.from({ length: SAMPLE }, (_, index) => subjectOf(index * step));
}

/** Measures decisions made one after the other: median script time per call, and median round trip, in µs. */
async function oneByOne(client, limiter, subjects) {
  const roundTrips = [];
  const scripts = await rounds(() =>
    scriptTimeDuring(client, async () => {
      for (const subject of subjects) {
        const startedMs = performance.now();
        await admit(limiter, subject);
        roundTrips.push((performance.now() - startedMs) * 1_000);
      }
    }),
  );
  return { scriptMicroseconds: median(scripts), roundTripMicroseconds: median(roundTrips) };
}
