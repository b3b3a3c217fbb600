/** One round of one gateway: verified load first, then a measured interval, and what the kernel and Redis say of it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { coreBusySeconds, cpuSeconds, residentMegabytes } from './accounting.mjs';
import { runLoad } from './load.mjs';
import { GATEWAY_CORE, truncateLog } from './processes.mjs';
import { redisCounters, redisDifference } from './redis.mjs';

const VERIFY_SECONDS = 1;
/** Requests that were cut off at the end of an interval still reach the backend: the counts must stand still this long. */
const SETTLE_MS = 100;
const SETTLE_ATTEMPTS = 50;
const MONTH_WINDOWS = 'the month windows';

/**
 * @param {import('./peers.mjs').Gateway} gateway
 * @param {{ seconds: number, connections: number }} settings
 * @returns {Promise<object>} one row of figures; times of answers in ms, CPU time in µs for each request
 */
export async function measureRound(gateway, { seconds, connections }) {
  truncateLog(gateway.program);
  await interval(gateway, { seconds: VERIFY_SECONDS, connections, verify: true });
  const redisBefore = gateway.redis && (await redisCounters(gateway.redis));
  const { load, before, after } = await interval(gateway, { seconds, connections });
  const redis = redisBefore && redisDifference(redisBefore, await redisCounters(gateway.redis));
  const { requests, p50, p99, max } = load;
  const cpu = after.cpu - before.cpu;
  return {
    requests,
    cpuMicroseconds: (cpu / requests) * 1e6,
    requestsPerSecond: requests / load.seconds,
    p50,
    p99,
    max,
    residentMegabytes: after.residentMegabytes,
    gatewayCoreUse: cpu / load.seconds,
    foreignCoreUse: Math.max(0, after.core - before.core - cpu) / load.seconds,
    lostRedis: gateway.lostRedis?.() ?? false,
    redisCalls: redis && redis.calls / requests,
    redisReads: redis && redis.reads / requests,
  };
}

/** Load between two readings of the kernel's accounting; what was answered is held against what others counted. */
async function interval(gateway, settings) {
  const countersBefore = await counters(gateway);
  const before = accounting(gateway);
  const load = await runLoad(gateway, settings);
  const after = accounting(gateway);
  await holdAgainst(gateway, countersBefore, load.requests, 2 * settings.connections);
  return { load, before, after };
}

/**
 * Nothing may have been counted less often than it was answered, and no more than what was cut off more often: one request
 * a connection, and as many of the interval before, because undici keeps requests of clients that have gone for up to a
 * second. What a gateway counted apart while Redis was too slow for it is not asked for: that round is done again.
 */
async function holdAgainst(gateway, countersBefore, requests, mostCutOff) {
  for (const [name, count] of Object.entries(await counters(gateway))) {
    const difference = count - countersBefore[name];
    if (name === MONTH_WINDOWS && gateway.lostRedis?.()) continue;
    if (difference < requests || difference > requests + mostCutOff) {
      throw new Error(`${requests} requests were answered, but ${name} counted ${difference}`);
    }
  }
}

function accounting({ program: { pid } }) {
  return { cpu: cpuSeconds(pid), core: coreBusySeconds(GATEWAY_CORE), residentMegabytes: residentMegabytes(pid) };
}

/** What the backend and, where a gateway has them, its month windows have counted, once both stand still. */
async function counters(gateway) {
  const read = async () => ({
    'the backend': await gateway.backend.requests(),
    ...(gateway.monthTotal && { [MONTH_WINDOWS]: await gateway.monthTotal() }),
  });
  let last = await read();
  for (let attempt = 0; attempt < SETTLE_ATTEMPTS; attempt++) {
    await sleep(SETTLE_MS);
    const now = await read();
    if (isDeepStrictEqual(now, last)) return now;
    last = now;
  }
  throw new Error('requests still reach the backend although the load has ended');
}
