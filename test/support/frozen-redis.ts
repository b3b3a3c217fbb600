/** Two gateways under a steady load on every kind of plan, while their Redis stands still (SIGSTOP) for a while and then goes on. */
import { json, startBackend } from './backend.js';
import { eventually, sleep } from './processes.js';
import { startTrailgate, type RunningTrailgate } from './program.js';
import { startRedis } from './redis.js';
import { SteadyLoad, type Origin, type Sample } from './steady-load.js';

/** When the breaker is open for certain, on a busy machine too. */
export const OPEN_AFTER_MS = 500;
/** The stated deadline of a decision (docs/bounds.md). */
export const DEADLINE_MS = 50;
export const FLUSH_MS = 200;

export type FrozenPlan = 'local' | 'tight' | 'open' | 'closed';
const NAMES = ['local', 'tight', 'open', 'closed'] as const;

export interface FrozenSettings {
  /** Requests a second, over all plans, a control and both gateways. */
  readonly perSecond: number;
  readonly beforeMs: number;
  readonly frozenMs: number;
  /** The month of the plan `tight`. */
  readonly tightLimit: number;
}

export interface FrozenRedis {
  readonly gateways: readonly RunningTrailgate[];
  readonly load: SteadyLoad;
  readonly stoppedAtMs: number;
  readonly goesOnAtMs: number;
  /** Ids by plan. */
  readonly accounts: Readonly<Record<FrozenPlan, string>>;
  /** How often a node said so in its log. */
  countOf(gateway: RunningTrailgate, event: string): number;
  /** Samples of the time in which the breaker was open; `control` asks nobody for a key or a limit. */
  whileOpen(name?: FrozenPlan | 'control'): Sample[];
  stop(): Promise<void>;
}

/** Resolves when the load is over and nothing is left to count. */
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
  // What the machine itself makes a request wait: refused before a key or a limit is looked at.
  for (const { gatewayUrl } of gateways)
    origins.push({ name: 'control', gatewayUrl, secret: 'none', path: '/nothing' });
  const countOf = ({ logs }: RunningTrailgate, name: string) => logs().filter(({ event }) => event === name).length;
  // More than once where the machine was too busy for Redis's deadline.
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
  await eventually('nothing is left to count', () => gateways.every(isBack));
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
