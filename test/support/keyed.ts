/**
 * Gateways on each kind of store, and a backend that creates customers, for tests of requests with an
 * `Idempotency-Key`.
 */
import { randomUUID } from 'node:crypto';
import type { ApiKeyWithSecret } from './admin.js';
import { startBackend, type Backend, type BackendHandler } from './backend.js';
import { send, type Answer, type SendOptions } from './http.js';
import { sleep } from './processes.js';
import { mergePatch, type Json } from './program-config.js';
import type { RunningTrailgate } from './program.js';
import { acquireTrailgate, type AcquireOptions, type SharedTrailgate } from './shared-program.js';
import { startNodes, storeOf, type StoreKind } from './worlds.js';

/** Wait in ms until usage is in the database. */
const WRITTEN_MS = 400;

/** Gateways in front of one backend, and an API key. The test must stop them. */
export interface KeyedWorld<Program extends SharedTrailgate = SharedTrailgate> {
  readonly backend: Backend;
  /** One gateway on SQLite; two gateways on other stores. */
  readonly gateways: Program[];
  /** Options that the gateways were started with. */
  readonly options: AcquireOptions;
  /** Handler of the backend. By default, it creates a customer for each request. */
  says: BackendHandler;
  readonly key: ApiKeyWithSecret;
  readonly accountId: string;
  /**
   * Sends a POST with this idempotency key to the gateway with the index `options.at` (default 0). Undefined sends no
   * idempotency key.
   */
  post(idempotencyKey: string | undefined, options?: PostOptions): Promise<Answer>;
  /** Number of requests with an idempotency key that reached the backend. */
  carriedOut(idempotencyKey: string): number;
  /** Returns the charged cost of an account, by default of this one. */
  charged(accountId?: string): Promise<number>;
  stop(): Promise<void>;
}

export interface PostOptions extends SendOptions {
  readonly at?: number;
  readonly secret?: string;
  readonly to?: string;
  readonly type?: string;
  readonly fields?: readonly string[];
}

/** Responds with a new customer to each request. */
export const makesCustomer: BackendHandler = (_request, response, { body }) => {
  const id = `cus_${randomUUID()}`;
  const text = JSON.stringify({ id, said: body.toString().slice(0, 100) });
  response.writeHead(201, { 'content-type': 'application/json', location: `/customers/${id}`, etag: `"${id}"` });
  response.end(text);
};

/**
 * Starts the gateways and the backend. The gateway on SQLite is shared with other tests, unless the options prevent it.
 */
export function startKeyedWorld(
  kind: StoreKind,
  options: AcquireOptions & { readonly own: true },
): Promise<KeyedWorld<RunningTrailgate>>;
export function startKeyedWorld(kind: StoreKind, options?: AcquireOptions): Promise<KeyedWorld>;
export async function startKeyedWorld(kind: StoreKind, options: AcquireOptions = {}): Promise<KeyedWorld> {
  const { env, drop } = await storeOf(kind);
  const backend = await startBackend((request, response, recorded) => world.says(request, response, recorded));
  const config = mergePatch({ usage: { flushInterval: '100ms' } }, options.config ?? {}) as Json;
  const started = { backend: backend.url, ...options, config };
  const shared = kind === 'SQLite' ? started : { ...started, env: { ...env, ...options.env } };
  const gateways: SharedTrailgate[] =
    kind === 'SQLite' ? [await acquireTrailgate(shared)] : await startNodes(2, shared);
  const { key, account } = await gateways[0]!.admin.newKey('pro');
  const world: KeyedWorld = {
    backend,
    gateways,
    options: shared,
    says: makesCustomer,
    key,
    accountId: account.id,
    post: (
      idempotencyKey,
      { at = 0, secret = key.secret, to = '/customers', type = 'application/json', fields = [], ...rest } = {},
    ) =>
      send(`${gateways[at % gateways.length]!.gatewayUrl}/api/v1${to}`, {
        method: 'POST',
        headers: [
          'Authorization',
          `Bearer ${secret}`,
          'Content-Type',
          type,
          ...(idempotencyKey === undefined ? [] : ['Idempotency-Key', idempotencyKey]),
          ...fields,
        ],
        body: '{"name":"Ana"}',
        ...rest,
      }),
    carriedOut: (idempotencyKey) =>
      backend.requests.filter(({ headers }) => headers['idempotency-key'] === idempotencyKey).length,
    charged: async (accountId = account.id) => {
      // Wait until all nodes have written their usage.
      await sleep(WRITTEN_MS);
      const path = `/accounts/${accountId}/usage?group_by=month`;
      const { data } = await gateways[0]!.admin.call<{ data: { cost: number }[] }>('GET', path);
      return data.reduce((sum, { cost }) => sum + cost, 0);
    },
    stop: async () => {
      await Promise.all(gateways.map((gateway) => gateway.stop()));
      await backend.stop();
      await drop();
    },
  };
  return world;
}
