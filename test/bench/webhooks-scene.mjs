/** What webhooks are measured on: the program, accounts with endpoints, receivers, and a service that hands events in. */
import { randomBytes } from 'node:crypto';
import { registerHooks } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { startBackend } from './backend.mjs';
import { BENCH_LIMITS, SCOPE, writeSecrets } from './keys.mjs';
import { stopProgram } from './processes.mjs';
import { startRedis } from './redis.mjs';
import { configuration, startTrailgate } from './trailgate-program.mjs';
import { Receiver, startHanging } from './webhooks-receiver.mjs';

/** 1,000 endpoints: of each account nine that respond at once, and later one that hangs. */
const ACCOUNTS = 100;
export const ENDPOINTS_EACH = 9;
/** Nine endpoints are at the same host, as with those who receive for many. */
const HOSTS = 100;
const AT_ONCE = 8;
/** With the rest of the payload an event has some 500 bytes. */
const FILLING = 'x'.repeat(300);
/** Deliveries that are under way or wait while the worker is to have enough to do. */
const MAX_WAITING = 4_000;
const EVENTS_A_BATCH = 20;

/** PostgreSQL comes from the support of the tests, which is TypeScript with imports of `.js`. */
registerHooks({
  resolve(specifier, context, next) {
    const fromSupport = specifier.startsWith('.') && context.parentURL?.includes('/test/support/');
    return next(fromSupport ? specifier.replace(/\.js$/, '.ts') : specifier, context);
  },
});

/** Each has folders of its own. */
let scenes = 0;

/** Starts all of it. @param {'SQLite' | 'PostgreSQL'} kind @param {string[]} nodeArgs of the program */
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

  /** Gives each account an endpoint more, which takes what it gets and never responds. */
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

  /** Hands so many events in, each of the next account. @returns how many deliveries to receivers that respond come of it. */
  async handIn(count) {
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

  /** Keeps the worker busy for so long; resolves when all has arrived. @returns {Promise<number>} deliveries. */
  async keepBusy(seconds) {
    const endMs = performance.now() + seconds * 1_000;
    this.receiver.reset();
    let expected = 0;
    while (performance.now() < endMs) {
      if (expected - this.receiver.count > MAX_WAITING) await sleep(1);
      else expected += await this.handIn(EVENTS_A_BATCH);
    }
    await this.receiver.until(expected);
    return expected;
  }

  /** One event after the other at a steady rate; resolves when all has arrived. @returns {Promise<number>} deliveries. */
  async keepSteady(seconds, eventsPerSecond) {
    const startMs = performance.now();
    this.receiver.reset();
    const pending = [];
    for (let event = 0; event < seconds * eventsPerSecond; event++) {
      await sleep(Math.max(0, startMs + (event * 1_000) / eventsPerSecond - performance.now()));
      const one = this.handIn(1);
      // Looked at below; until then it would end the process.
      one.catch(() => undefined);
      pending.push(one);
    }
    const expected = (await Promise.all(pending)).reduce((sum, each) => sum + each, 0);
    await this.receiver.until(expected);
    return expected;
  }
}
