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
  await counted(gateway, backend, connections, { seconds: VERIFY_SECONDS, connections, verify: true });
  const redisBefore = gateway.redis && (await redisCounters(gateway.redis));
  const coreBefore = coreBusySeconds(GATEWAY_CORE);
  const cpuBefore = cpuSeconds(gateway.program.pid);
  const load = await counted(gateway, backend, connections, { seconds, connections }, () => ({
    cpu: cpuSeconds(gateway.program.pid) - cpuBefore,
    core: coreBusySeconds(GATEWAY_CORE) - coreBefore,
    residentMegabytes: residentMegabytes(gateway.program.pid),
  }));
  const redis = redisBefore && redisDifference(redisBefore, await redisCounters(gateway.redis));
  truncateLog(gateway.program);
  const { requests, p50, p99, max, atEnd } = load;
  return {
    requests,
    cpuMicroseconds: (atEnd.cpu / requests) * 1e6,
    requestsPerSecond: requests / load.seconds,
    p50,
    p99,
    max,
    residentMegabytes: atEnd.residentMegabytes,
    gatewayCoreUse: atEnd.cpu / load.seconds,
    foreignCoreUse: Math.max(0, atEnd.core - atEnd.cpu) / load.seconds,
    redisCalls: redis && redis.calls / requests,
    redisReads: redis && redis.reads / requests,
  };
}

/** Runs the load and holds what it saw against what the backend saw. `atEnd` is read the moment that the load ends. */
async function counted(gateway, backend, connections, interval, atEnd = () => undefined) {
  const before = await settledRequests(backend);
  const load = await runLoad(gateway, interval);
  const readings = atEnd();
  const reached = (await settledRequests(backend)) - before;
  const surplus = reached - load.requests;
  if (surplus < 0 || surplus > connections) {
    throw new Error(`${load.requests} requests were answered, but ${reached} reached the backend`);
  }
  return { ...load, atEnd: readings };
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
