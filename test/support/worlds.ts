/**
 * Lists the systems that tests can start. Use the smallest one that has what the test needs.
 *
 * | function | provides |
 * |---|---|
 * | `acquireTrailgate` (`shared-program.ts`) | the program, shared with other test files unless the options need a new one |
 * | `startProxied` (`proxied.ts`) | the program, a backend with a response that tests change, an account and a key |
 * | `startEdge` (`edge.ts`) | two of `startProxied`, one with TLS, for every way in which requests arrive |
 * | `startNodes` (this file) | several gateways on the same stores |
 * | `startKeyedWorld` (`keyed.ts`) | gateways on a kind of store, a backend, and requests with an `Idempotency-Key` |
 * | `startTrailgate` (`program.ts`) | a program of the test's own, to kill, freeze, restart or measure |
 * | `OAuthWorld.start` (`oauth-world.ts`) | the program as an authorization server, with its panel |
 * | `startAdmin` (`admin-application.ts`) | the admin application in this process, with a clock that the test advances |
 * | `startPanel` (`panel.ts`) | the same, with a database and the pages of the panel |
 * | `startDemo` (`demo.ts`) | the program as `npm start` runs it, with the example backend |
 * | `ProviderWorld.start` (`provider-world.ts`) | the admin application in this process, with two identity providers |
 * | `startGateway` (`gateway-application.ts`) | the gateway in this process, with a fixed response instead of backends |
 * | `startWorld` (`inner-world.ts`), `startMcpWorld` (`mcp-world.ts`) | the gateway in this process, with an endpoint of the test or with tools |
 */
import { describe } from '@jest/globals';
import { describeWithPostgres, describeWithRedis } from './describe-with.js';
import { freshDatabase } from './postgres.js';
import { startTrailgate, type RunningTrailgate, type TrailgateOptions } from './program.js';
import { sharedRedisUrl } from './redis.js';

/** Kinds of stores for counters and other gateway data. */
export type StoreKind = 'SQLite' | 'PostgreSQL' | 'Redis';

/** Defines a suite for each kind of store. */
export function describeOnStores(title: string, suite: (kind: StoreKind) => void): void {
  describe(`${title}, on SQLite`, () => {
    suite('SQLite');
  });
  describeWithPostgres(`${title}, on PostgreSQL without Redis`, () => suite('PostgreSQL'));
  describeWithRedis(`${title}, on Redis`, () => suite('Redis'));
}

/** Returns environment variables for gateways that share a store, and a function that releases the store. */
export async function storeOf(kind: StoreKind): Promise<{ env: Record<string, string>; drop: () => Promise<void> }> {
  if (kind === 'Redis') return { env: { REDIS_URL: await sharedRedisUrl() }, drop: async () => undefined };
  if (kind === 'SQLite') return { env: {}, drop: async () => undefined };
  const { url, drop } = await freshDatabase();
  return { env: { DATABASE_URL: url }, drop };
}

/**
 * Starts gateways on the same stores. The first one has every role, the others have only the gateway role. The caller
 * must stop them.
 */
export async function startNodes(count: number, options: TrailgateOptions): Promise<RunningTrailgate[]> {
  const first = await startTrailgate(options);
  const shared = { ...options, roles: ['gateway'], dataDir: first.dataDir } as const;
  return [first, ...(await Promise.all(Array.from({ length: count - 1 }, () => startTrailgate(shared))))];
}
