/**
 * Measures one round of one gateway. First runs an interval in which all responses are checked. Then runs the measured
 * interval, and reads the accounting of the kernel and Redis before and after it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { coreBusySeconds, cpuSeconds, ownCpuSeconds, residentMegabytes } from './accounting.mjs';
import { countInstructions } from './instructions.mjs';
import { runLoad } from './load.mjs';
import { GATEWAY_CORE, truncateLog } from './processes.mjs';
import { redisCounters, redisDifference } from './redis.mjs';

const VERIFY_SECONDS = 1;
/** Connections per second of the checked interval. It is longer with many connections, so that each has requests. */
const CONNECTIONS_PER_SECOND = 1_000;
const ROUND_ATTEMPTS = 5;
/**
 * Time for which the backend's count must not change after an interval, because interrupted requests may still arrive.
 * Trailgate writes its log lines after at most 100 ms, so the log is complete, too.
 */
const SETTLE_MS = 150;
const SETTLE_ATTEMPTS = 50;
const MONTH_WINDOWS = 'the month windows';

/**
 * Measures a round. Repeats it if the gateway has continued without Redis, because counting locally is cheaper. Rejects
 * after five such rounds, or if a response was wrong.
 * @param {import('./peers.mjs').Gateway} gateway
 * @param {{ seconds: number, connections: number, request?: import('./load.mjs').LoadRequest, core?: string,
 *   keepLost?: boolean }} settings `keepLost`: keeps a round without Redis
 * @param {string} name name of the round in progress messages
 * @returns {Promise<object>} the figures of {@link measureRound}; `lostRedis` is 0 or 1
 */
export async function measureRoundWithRetries(gateway, { keepLost = false, ...settings }, name) {
  for (let attempt = 0; attempt < ROUND_ATTEMPTS; attempt++) {
    const { lostRedis, ...figures } = await measureRound(gateway, settings);
    const summary = `${name}: ${figures.cpuMicroseconds.toFixed(1)} µs of CPU per request`;
    const consequence = keepLost ? 'it counted without Redis' : 'repeating the round';
    console.error(lostRedis ? `${summary}, but Redis was too slow: ${consequence}` : summary);
    if (!lostRedis || keepLost) return { ...figures, lostRedis: Number(lostRedis) };
  }
  throw new Error('Redis was too slow in every attempt. Check whether other work uses the machine.');
}

/**
 * Measures a round. Rejects if a response was wrong, or if the counts do not match the responses.
 * @returns {Promise<object>} the figures of the round: latencies in ms, CPU time in µs per request, memory in MB
 */
export async function measureRound(gateway, settings) {
  await measureVerifiedInterval(gateway, settings);
  const { load, before, after, instructions } = await measureInterval(gateway, settings);
  const redis = before.redis && redisDifference(before.redis, after.redis);
  const { requests, p50, p99, max } = load;
  const cpu = after.cpu - before.cpu;
  const everything = after.everything - before.everything;
  // CPU time of other work. If the load may use the gateway's core, the programs of the run do not count.
  const foreign =
    settings.core === undefined ? after.core - before.core - cpu : after.machine - before.machine - everything;
  return {
    requests,
    cpuMicroseconds: (cpu / requests) * 1e6,
    instructions: instructions && instructions / requests,
    requestsPerSecond: requests / load.seconds,
    p50,
    p99,
    max,
    residentMegabytes: after.residentMegabytes,
    gatewayCoreUse: cpu / load.seconds,
    foreignCoreUse: Math.max(0, foreign) / load.seconds,
    everythingMicroseconds: (everything / requests) * 1e6,
    lostRedis: gateway.lostRedis?.() ?? false,
    redisCalls: redis && redis.calls / requests,
    redisReads: redis && redis.reads / requests,
  };
}

/** Runs an interval of a few seconds in which every response is checked. Waits first until Redis is in use again. */
export async function measureVerifiedInterval(gateway, settings) {
  await gateway.redisIsBack?.();
  truncateLog(gateway.program);
  const seconds = Math.max(VERIFY_SECONDS, Math.ceil(settings.connections / CONNECTIONS_PER_SECOND));
  return measureInterval(gateway, { ...settings, seconds, verify: true });
}

/**
 * Runs load, and reads the accounting before and after it. Rejects if the counts of the backend or of the month windows
 * do not match the number of responses.
 */
export async function measureInterval(gateway, settings) {
  const countersBefore = await readCounts(gateway);
  const counted = await countInstructions(gateway.program.pid);
  const before = await readAccounting(gateway);
  const load = await runLoad(gateway, settings);
  const after = await readAccounting(gateway);
  const instructions = await counted();
  const { status = 200, streams = 1 } = settings.request ?? {};
  const forwarded = status < 400 ? load.requests : load.requests - load.refused;
  await checkCounts(gateway, countersBefore, forwarded, 2 * settings.connections * streams);
  return { load, before, after, instructions };
}

/**
 * Checks that every count has grown by at least the number of forwarded requests. It may exceed them by
 * `maxInterrupted` requests, which were interrupted at the end of this interval or the previous one. Does not check the
 * month windows if the gateway has continued without Redis, because it counts these requests in Redis later.
 */
async function checkCounts(gateway, countersBefore, forwarded, maxInterrupted) {
  for (const [name, count] of Object.entries(await readCounts(gateway))) {
    const difference = count - countersBefore[name];
    if (name === MONTH_WINDOWS && gateway.lostRedis?.()) continue;
    if (difference < forwarded || difference > forwarded + maxInterrupted) {
      throw new Error(`the backend answered ${forwarded} requests, but ${name} counted ${difference}`);
    }
  }
}

async function readAccounting({ redis, backend, program: { pid } }) {
  const cpu = cpuSeconds(pid);
  return {
    redis: redis && (await redisCounters(redis)),
    cpu,
    everything: cpu + cpuSeconds(backend.program.pid) + (redis ? cpuSeconds(redis.program.pid) : 0) + ownCpuSeconds(),
    core: coreBusySeconds(GATEWAY_CORE),
    machine: coreBusySeconds(''),
    residentMegabytes: residentMegabytes(pid),
  };
}

/**
 * Returns the count of the backend, when it no longer changes, and the total of the gateway's month windows, if any.
 */
async function readCounts(gateway) {
  let last = await gateway.backend.requests();
  for (let attempt = 0; attempt < SETTLE_ATTEMPTS; attempt++) {
    await sleep(SETTLE_MS);
    const now = await gateway.backend.requests();
    if (now === last) {
      return { 'the backend': now, ...(gateway.monthTotal && { [MONTH_WINDOWS]: await gateway.monthTotal() }) };
    }
    last = now;
  }
  throw new Error('the backend still receives requests after the end of the load');
}
