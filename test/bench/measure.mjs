/** One round of one gateway: verified load first, then a measured interval, and what the kernel and Redis say of it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { coreBusySeconds, cpuSeconds, residentMegabytes } from './accounting.mjs';
import { runLoad } from './load.mjs';
import { GATEWAY_CORE, truncateLog } from './processes.mjs';
import { redisCounters, redisDifference } from './redis.mjs';

const VERIFY_SECONDS = 1;
/** Requests that were cut off at the end of an interval still reach the backend: its count must stand still this long. */
const SETTLE_MS = 100;
const SETTLE_ATTEMPTS = 50;

/**
 * @param {import('./peers.mjs').Gateway} gateway
 * @param {{ seconds: number, connections: number, backend: object }} settings
 * @returns {Promise<object>} one row of figures; times of answers in ms, CPU time in µs for each request
 */
export async function measureRound(gateway, { seconds, connections, backend }) {
  await interval(gateway, backend, { seconds: VERIFY_SECONDS, connections, verify: true });
  const redisBefore = gateway.redis && (await redisCounters(gateway.redis));
  const { load, before, after } = await interval(gateway, backend, { seconds, connections });
  const redis = redisBefore && redisDifference(redisBefore, await redisCounters(gateway.redis));
  truncateLog(gateway.program);
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
    redisCalls: redis && redis.calls / requests,
    redisReads: redis && redis.reads / requests,
  };
}

/** Load between two readings of the kernel's accounting; what was answered is held against what others counted. */
async function interval(gateway, backend, settings) {
  const countersBefore = await counters(gateway, backend);
  const before = accounting(gateway);
  const load = await runLoad(gateway, settings);
  const after = accounting(gateway);
  const countersAfter = await counters(gateway, backend);
  for (const [name, count] of Object.entries(countersAfter)) {
    const difference = count - countersBefore[name];
    const cutOff = difference - load.requests;
    if (cutOff < 0 || cutOff > settings.connections) {
      throw new Error(`${load.requests} requests were answered, but ${name} counted ${difference}`);
    }
  }
  return { load, before, after };
}

function accounting({ program: { pid } }) {
  return { cpu: cpuSeconds(pid), core: coreBusySeconds(GATEWAY_CORE), residentMegabytes: residentMegabytes(pid) };
}

async function counters(gateway, backend) {
  const reached = await settledRequests(backend);
  return { 'the backend': reached, ...(gateway.monthTotal && { 'the month windows': await gateway.monthTotal() }) };
}

async function settledRequests(backend) {
  let last = await backend.requests();
  for (let attempt = 0; attempt < SETTLE_ATTEMPTS; attempt++) {
    await sleep(SETTLE_MS);
    const now = await backend.requests();
    if (now === last) return now;
    last = now;
  }
  throw new Error('requests still reach the backend although the load has ended');
}
