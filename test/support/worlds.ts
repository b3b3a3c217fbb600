/**
 * The running systems that tests begin with. Take the smallest one that has what the test is about:
 *
 * | starts | has |
 * |---|---|
 * | `acquireTrailgate` (`shared-program.ts`) | the program, kept from file to file where nothing asks for one of its own |
 * | `startProxied` (`proxied.ts`) | that, a backend that answers as told, an account and a key |
 * | `startEdge` (`edge.ts`) | two of those, one with TLS: every way in which a request comes |
 * | `startNodes` (here) | several gateways on the same stores |
 * | `startKeyedWorld` (`keyed.ts`) | gateways on each kind of store, and requests with an `Idempotency-Key` |
 * | `startTrailgate` (`program.ts`) | a program of its own: to kill, freeze, restart or measure |
 * | `OAuthWorld.start` (`oauth-world.ts`) | the program as an authorization server, with the pages that people see |
 * | `startAdmin` (`admin-application.ts`) | the admin application in this process, with a clock that the test turns |
 * | `startPanel` (`panel.ts`) | that, a database and the pages of the panel |
 * | `startDemo` (`demo.ts`) | the program as `npm start` runs it, with the example backend |
 * | `ProviderWorld.start` (`provider-world.ts`) | that, and an identity provider |
 * | `startGateway` (`gateway-application.ts`) | the gateway in this process, without backends |
 * | `startWorld` (`inner-world.ts`), `startMcpWorld` (`mcp-world.ts`) | the gateway in this process with an endpoint of the test's, or with tools |
 */
import { describe } from '@jest/globals';
import { describeWithPostgres, describeWithRedis } from './describe-with.js';
import { freshDatabase } from './postgres.js';
import { startTrailgate, type RunningTrailgate, type TrailgateOptions } from './program.js';
import { sharedRedisUrl } from './redis.js';

/** Kinds of stores for gateways. */
export type StoreKind = 'SQLite' | 'PostgreSQL' | 'Redis';

/** A suite for each kind of store. */
export function describeOnStores(title: string, suite: (kind: StoreKind) => void): void {
  describe(`${title}, on SQLite`, () => {
    suite('SQLite');
  });
  describeWithPostgres(`${title}, on PostgreSQL without Redis`, () => suite('PostgreSQL'));
  describeWithRedis(`${title}, on Redis`, () => suite('Redis'));
}

/** The environment of gateways that share a store, and its end. */
export async function storeOf(kind: StoreKind): Promise<{ env: Record<string, string>; drop: () => Promise<void> }> {
  if (kind === 'Redis') return { env: { REDIS_URL: await sharedRedisUrl() }, drop: async () => undefined };
  if (kind === 'SQLite') return { env: {}, drop: async () => undefined };
  const { url, drop } = await freshDatabase();
  return { env: { DATABASE_URL: url }, drop };
}

/** Starts gateways on the same stores. The first has every role, the others have that of the gateway alone. */
export async function startNodes(count: number, options: TrailgateOptions): Promise<RunningTrailgate[]> {
  const first = await startTrailgate(options);
  const shared = { ...options, roles: ['gateway'], dataDir: first.dataDir } as const;
  return [first, ...(await Promise.all(Array.from({ length: count - 1 }, () => startTrailgate(shared))))];
}
