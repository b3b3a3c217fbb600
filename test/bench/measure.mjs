/** One round of one gateway: verified load first, then a measured interval, and what the kernel and Redis say of it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { coreBusySeconds, cpuSeconds, ownCpuSeconds, residentMegabytes } from './accounting.mjs';
import { countInstructions } from './instructions.mjs';
import { runLoad } from './load.mjs';
import { GATEWAY_CORE, truncateLog } from './processes.mjs';
import { redisCounters, redisDifference } from './redis.mjs';

const VERIFY_SECONDS = 1;
/** Very many connections take longer to be opened and to have had their turn. */
const CONNECTIONS_PER_SECOND = 1_000;
const ROUND_ATTEMPTS = 5;
/**
 * Requests that were cut off at the end of an interval still reach the backend: the counts must stand still this long. The gateway writes its
 * log within 100 ms.
 */
const SETTLE_MS = 150;
const SETTLE_ATTEMPTS = 50;
const MONTH_WINDOWS = 'the month windows';

/**
 * A round in which the gateway went on without Redis shows another, cheaper job: it is done again.
 * @param {import('./peers.mjs').Gateway} gateway
 * @param {{ seconds: number, connections: number, request?: import('./load.mjs').LoadRequest, core?: string, keepLost?: boolean }} settings
 *   `keepLost`: such a round will do
 * @param {string} name what a person reads about it meanwhile
 * @returns {Promise<object>} the figures of {@link measureRound}
 */
export async function countedRound(gateway, { keepLost = false, ...settings }, name) {
  for (let attempt = 0; attempt < ROUND_ATTEMPTS; attempt++) {
    const { lostRedis, ...figures } = await measureRound(gateway, settings);
    const said = `${name}: ${figures.cpuMicroseconds.toFixed(1)} µs of CPU per request`;
    const next = keepLost ? 'counted by itself' : 'again';
    console.error(lostRedis ? `${said}, but Redis was too slow for it meanwhile: ${next}` : said);
    if (!lostRedis || keepLost) return { ...figures, lostRedis: Number(lostRedis) };
  }
  throw new Error('Redis was too slow every time; is the machine busy with something else?');
}

/**
 * @returns {Promise<object>} one row of figures; times of answers in ms, CPU time in µs for each request
 */
export async function measureRound(gateway, settings) {
  await verifiedInterval(gateway, settings);
  const { load, before, after, instructions } = await interval(gateway, settings);
  const redis = before.redis && redisDifference(before.redis, after.redis);
  const { requests, p50, p99, max } = load;
  const cpu = after.cpu - before.cpu;
  const everything = after.everything - before.everything;
  // Where the load may use the gateway's core, foreign is what none of the programs of the run has used.
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

/** A second, or few, in which every answer is looked at. */
export async function verifiedInterval(gateway, settings) {
  await gateway.redisIsBack?.();
  truncateLog(gateway.program);
  const seconds = Math.max(VERIFY_SECONDS, Math.ceil(settings.connections / CONNECTIONS_PER_SECOND));
  return interval(gateway, { ...settings, seconds, verify: true });
}

/** Load between two readings of the kernel's accounting; what was answered is held against what others counted. */
export async function interval(gateway, settings) {
  const countersBefore = await counters(gateway);
  const counted = await countInstructions(gateway.program.pid);
  const before = await accounting(gateway);
  const load = await runLoad(gateway, settings);
  const after = await accounting(gateway);
  const instructions = await counted();
  const { status = 200, streams = 1 } = settings.request ?? {};
  const forwarded = status < 400 ? load.requests : load.requests - load.refused;
  await holdAgainst(gateway, countersBefore, forwarded, 2 * settings.connections * streams);
  return { load, before, after, instructions };
}

/**
 * Nothing may have been counted less often than it was answered, and no more than what was cut off more often: one request
 * a connection, and as many of the interval before, because undici keeps requests of clients that have gone for up to a
 * second. What a gateway counted apart while Redis was too slow for it is not asked for: that round is done again.
 */
async function holdAgainst(gateway, countersBefore, forwarded, mostCutOff) {
  for (const [name, count] of Object.entries(await counters(gateway))) {
    const difference = count - countersBefore[name];
    if (name === MONTH_WINDOWS && gateway.lostRedis?.()) continue;
    if (difference < forwarded || difference > forwarded + mostCutOff) {
      throw new Error(`${forwarded} requests were answered by the backend, but ${name} counted ${difference}`);
    }
  }
}

async function accounting({ redis, backend, program: { pid } }) {
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

/** What the backend has counted, once that stands still, and, where a gateway has them, its month windows. */
async function counters(gateway) {
  let last = await gateway.backend.requests();
  for (let attempt = 0; attempt < SETTLE_ATTEMPTS; attempt++) {
    await sleep(SETTLE_MS);
    const now = await gateway.backend.requests();
    if (now === last) {
      return { 'the backend': now, ...(gateway.monthTotal && { [MONTH_WINDOWS]: await gateway.monthTotal() }) };
    }
    last = now;
  }
  throw new Error('requests still reach the backend although the load has ended');
}
