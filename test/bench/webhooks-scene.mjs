/** Setup of the webhook benchmark: the program, accounts with endpoints, receivers, and a service that sends events. */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { startBackend } from './backend.mjs';
import { BENCH_LIMITS, SCOPE, writeSecrets } from './keys.mjs';
import { stopProgram } from './processes.mjs';
import { startRedis } from './redis.mjs';
import { configuration, startTrailgate } from './trailgate-program.mjs';
import { Receiver, startHanging } from './webhooks-receiver.mjs';
import '../support/typescript-imports.mjs';

/** Number of accounts. Each has nine endpoints that respond at once, and in some measurements one that hangs. */
const ACCOUNTS = 100;
export const ENDPOINTS_EACH = 9;
/**
 * Number of receiving hosts. Nine endpoints share a host, as with services that receive webhooks for many customers.
 */
const HOSTS = 100;
const AT_ONCE = 8;
/** Padding of an event, which has about 500 bytes in total. */
const FILLING = 'x'.repeat(300);
/** Maximum number of outstanding deliveries at capacity. More than these would only wait. */
const MAX_WAITING = 4_000;
const EVENTS_A_BATCH = 20;

/** Number of scenes so far, which makes names of folders unique. */
let scenes = 0;

/**
 * Starts the program with its backend and stores, and creates accounts, keys and endpoints. The caller must call `stop`
 * of the result.
 * @param {'SQLite' | 'PostgreSQL'} kind
 * @param {string[]} nodeArgs arguments of Node for the program
 */
export async function openWebhookScene(kind, nodeArgs = []) {
  const name = `webhooks-${kind.toLowerCase()}-${++scenes}`;
  const postgres = kind === 'PostgreSQL' ? await (await import('../support/postgres.ts')).startPostgres() : undefined;
  const databaseUrl = await postgres?.createDatabase('bench');
  const [backend, redis] = [await startBackend(name), await startRedis(name)];
  const eventsToken = randomBytes(24).toString('hex');
  const started = await startTrailgate({
    name,
    nodeArgs,
    redisUrl: redis.url,
    config: configuration({
      services: { customers: { targets: [backend.url], eventsToken } },
      operations: [{ match: 'GET /customers', service: 'customers', scopes: [SCOPE] }],
      plans: { bench: BENCH_LIMITS },
      events: { 'customer.created': {} },
      webhooks: { allowHttp: true, allowPrivateNetworks: ['127.0.0.1/32'] },
    }),
    env: {
      TRAILGATE_SECRETS_KEY: randomBytes(32).toString('base64'),
      ...(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl }),
    },
  });
  const scene = new WebhookScene({ ...started, name, postgres, eventsToken });
  await scene.fill();
  return scene;
}

class WebhookScene {
  receiver = new Receiver();
  #accountIds = [];
  #events = 0;

  constructor(parts) {
    Object.assign(this, parts);
  }

  async fill() {
    const hosts = await this.receiver.start(HOSTS);
    this.receiverUrl = `${hosts[0]}/`;
    const secrets = [];
    for (let count = 0; count < ACCOUNTS; count++) {
      const { id } = await this.post('accounts', { name: 'Rafting', plan: 'bench' });
      const { secret } = await this.post(`accounts/${id}/api-keys`, { name: 'bench', scopes: [SCOPE] });
      this.#accountIds.push(id);
      secrets.push(secret);
    }
    this.secretsFile = writeSecrets(`${this.name}-keys.txt`, secrets);
    const url = (account, each) => `${hosts[(account * ENDPOINTS_EACH + each) % HOSTS]}/${account}/${each}`;
    await this.#addEndpoints((account) => Array.from({ length: ENDPOINTS_EACH }, (_, each) => url(account, each)));
  }

  /** Adds an endpoint that never responds to each account. */
  async addHanging() {
    const url = await startHanging();
    await this.#addEndpoints((account) => [`${url}/${account}`]);
  }

  async #addEndpoints(urlsOf) {
    const left = this.#accountIds.flatMap((id, account) => urlsOf(account).map((url) => [id, url]));
    const add = async () => {
      for (let next = left.pop(); next !== undefined; next = left.pop()) {
        await this.post(`accounts/${next[0]}/webhook-endpoints`, { url: next[1] });
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, add));
  }

  async stop() {
    await stopProgram(this.program);
    await this.postgres?.stop();
  }

  /**
   * Sends `count` events to the program in one request, each for the next account. Rejects if they are not accepted.
   * @returns the number of deliveries to endpoints that respond
   */
  async sendEvents(count) {
    const sentMs = performance.now();
    const events = Array.from({ length: count }, () => {
      const number = this.#events++;
      const accountId = this.#accountIds[number % ACCOUNTS];
      return { id: `e${number}`, type: 'customer.created', account_id: accountId, data: { sentMs, filling: FILLING } };
    });
    const response = await fetch(`${this.adminUrl}/internal/v1/events`, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.eventsToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ events }),
    });
    const text = await response.text();
    if (response.status !== 202) throw new Error(`events were refused: ${response.status} ${text}. No table.`);
    return count * ENDPOINTS_EACH;
  }

  /**
   * Sends events for `seconds`, so that the worker always has deliveries to make. Resolves when all have arrived.
   * @returns {Promise<number>} number of deliveries
   */
  async deliverAtCapacity(seconds) {
    const endMs = performance.now() + seconds * 1_000;
    this.receiver.reset();
    let expected = 0;
    while (performance.now() < endMs) {
      if (expected - this.receiver.count > MAX_WAITING) await sleep(1);
      else expected += await this.sendEvents(EVENTS_A_BATCH);
    }
    await this.receiver.waitFor(expected);
    return expected;
  }

  /**
   * Sends single events at a steady rate. Resolves when all deliveries have arrived.
   * @returns {Promise<number>} number of deliveries
   */
  async deliverSteadily(seconds, eventsPerSecond) {
    const startMs = performance.now();
    this.receiver.reset();
    const pending = [];
    for (let event = 0; event < seconds * eventsPerSecond; event++) {
      await sleep(Math.max(0, startMs + (event * 1_000) / eventsPerSecond - performance.now()));
      const one = this.sendEvents(1);
      // `Promise.all` below reports the error. Without this handler, an earlier rejection would end the process.
      one.catch(() => undefined);
      pending.push(one);
    }
    const expected = (await Promise.all(pending)).reduce((sum, each) => sum + each, 0);
    await this.receiver.waitFor(expected);
    return expected;
  }
}
