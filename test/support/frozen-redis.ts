/** Runs two gateways under steady load on every kind of plan, while their Redis is frozen (SIGSTOP) for a while. */
import { json, startBackend } from './backend.js';
import { eventually, sleep } from './processes.js';
import { startTrailgate, type RunningTrailgate } from './program.js';
import { startRedis } from './redis.js';
import { SteadyLoad, type Origin, type Sample } from './steady-load.js';

/** Time in ms after the freeze by which the circuit breaker is open, even on a busy machine. */
export const OPEN_AFTER_MS = 500;
/** Documented deadline of a decision in Redis (docs/bounds.md). */
export const DEADLINE_MS = 50;
export const FLUSH_MS = 200;

export type FrozenPlan = 'local' | 'tight' | 'open' | 'closed';
const NAMES = ['local', 'tight', 'open', 'closed'] as const;

export interface FrozenSettings {
  /** Requests per second in total, over all plans, the control and both gateways. */
  readonly perSecond: number;
  readonly beforeMs: number;
  readonly frozenMs: number;
  /** Monthly limit of the plan `tight`. */
  readonly tightLimit: number;
}

export interface FrozenRedis {
  readonly gateways: readonly RunningTrailgate[];
  readonly load: SteadyLoad;
  readonly stoppedAtMs: number;
  readonly goesOnAtMs: number;
  /** Account IDs by plan. */
  readonly accounts: Readonly<Record<FrozenPlan, string>>;
  /** Returns how often a gateway logged an event. */
  countOf(gateway: RunningTrailgate, event: string): number;
  /** Returns the samples from the time when the circuit breaker was open. `control` requests need no key or limit. */
  whileOpen(name?: FrozenPlan | 'control'): Sample[];
  stop(): Promise<void>;
}

/**
 * Runs the whole scenario. Resolves when the load has ended and both gateways count in Redis again. The caller must
 * stop the result.
 */
export async function freezeRedis(settings: FrozenSettings): Promise<FrozenRedis> {
  const { perSecond, beforeMs, frozenMs, tightLimit } = settings;
  const [backend, redis] = await Promise.all([startBackend(json({ ok: true })), startRedis()]);
  const plans = {
    local: { account: { minute: 50_000, month: 100_000 }, onRedisLoss: 'local' },
    tight: { account: { month: tightLimit }, onRedisLoss: 'local' },
    open: { account: { month: 100_000 }, onRedisLoss: 'open' },
    closed: { account: { month: 100_000 }, onRedisLoss: 'closed' },
  };
  const config = { plans, usage: { flushInterval: `${FLUSH_MS}ms` } };
  const shared = { backend: backend.url, config, env: { REDIS_URL: redis.url } };
  const first = await startTrailgate(shared);
  const gateways = [first, await startTrailgate({ ...shared, roles: ['gateway'], dataDir: first.dataDir })];
  const origins: Origin[] = [];
  const accounts = {} as Record<FrozenPlan, string>;
  for (const name of NAMES) {
    const { account, key } = await first.admin.newKey(name);
    accounts[name] = account.id;
    for (const { gatewayUrl } of gateways) origins.push({ name, gatewayUrl, secret: key.secret });
  }
  // The control measures the delay of the machine itself. The gateway refuses these requests before the key and limit
  // checks.
  for (const { gatewayUrl } of gateways)
    origins.push({ name: 'control', gatewayUrl, secret: 'none', path: '/nothing' });
  const countOf = ({ logs }: RunningTrailgate, name: string) => logs().filter(({ event }) => event === name).length;
  // A busy machine can miss Redis's deadline several times.
  const isBack = (gateway: RunningTrailgate) =>
    countOf(gateway, 'quota_store_back') === countOf(gateway, 'quota_store_lost');

  const load = new SteadyLoad(origins, perSecond);
  await sleep(beforeMs);
  redis.pause();
  const stoppedAtMs = performance.now();
  await sleep(frozenMs);
  redis.resume();
  const goesOnAtMs = performance.now();
  await eventually('Redis decides again on both nodes', () => gateways.every(isBack));
  await sleep(500);
  await load.stop();
  await eventually('Redis decides on both nodes after the load', () => gateways.every(isBack));
  return {
    gateways,
    load,
    stoppedAtMs,
    goesOnAtMs,
    accounts,
    countOf,
    whileOpen: (name) => load.between(stoppedAtMs + OPEN_AFTER_MS, goesOnAtMs - DEADLINE_MS, name),
    async stop() {
      await Promise.all(gateways.map((gateway) => gateway.stop()));
      await Promise.all([backend.stop(), redis.stop()]);
    },
  };
}
