/**
 * Runs a gateway and the admin API's explainer on shared stores. Makes random changes, and sends both the same random
 * requests.
 */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { request as send, type IncomingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { AccountStore, type Account } from '../../src/accounts/accounts.js';
import type { ApiKey } from '../../src/accounts/api-key-rows.js';
import { ApiKeyStore } from '../../src/accounts/api-key-store.js';
import { Catalogue } from '../../src/accounts/catalogue.js';
import { Explainer, type Explanation } from '../../src/admin/explain/explainer.js';
import { loadConfig } from '../../src/config/load.js';
import { readEnvironment } from '../../src/config/model/environment.js';
import type { Config } from '../../src/config/model/schema.js';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { createSecret } from '../../src/keys/api-key-format.js';
import { ProcessBus } from '../../src/keys/process-bus.js';
import { admissionOn } from './admission.js';
import type { FaultyQuotas } from './faulty-quotas.js';
import { startGateway, type RunningGateway } from './gateway-application.js';
import { SeededRandom } from './seeded-random.js';
import { OPERATOR, TestClock } from './stores.js';

const BEGIN = Date.parse('2031-03-31T21:30:00Z');
const ADDRESSES = ['192.0.2.7', '10.1.2.3', '198.51.100.9', '203.0.113.4', '2001:db8::7'];
const SCOPES = ['customers:read', 'customers:write', 'tours:read'];
const HOSTS = [
  'partners.example.com',
  'Partners.Example.com:8443',
  'API.example.com.',
  'other.example.com',
  '192.0.2.1',
];
const METHODS = ['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'PATCH', 'OPTIONS', 'FOO', 'PURGE', 'TRACE'];

const plan = (onRedisLoss: string, limits: object) => ({ ...limits, onRedisLoss, charge: 'all' });
const FILE = {
  gateway: {
    host: '127.0.0.1',
    port: 0,
    hosts: ['api.example.com'],
    trustedProxies: ['127.0.0.1'],
    failedAuthentication: { perMinute: 6 },
  },
  admin: { host: '127.0.0.1', port: 0 },
  apis: [
    { name: 'main', basePath: '/api/v1', title: 'Test' },
    { name: 'partners', basePath: '/api/v1', title: 'Partners', hosts: ['partners.example.com'] },
  ],
  services: {
    backend: { targets: ['http://127.0.0.1:9'] },
    partners: { targets: ['http://127.0.0.1:9'], api: 'partners' },
  },
  operations: [
    { match: 'GET /customers', id: 'list', scopes: ['customers:read'] },
    { match: 'POST /customers', id: 'create', scopes: ['customers:write', 'customers:read'], cost: 3 },
    { match: 'GET /customers/{id}', id: 'get', scopes: ['customers:read'] },
    { match: 'DELETE /customers/{id}', id: 'delete', scopes: ['customers:write'] },
    { match: 'GET /customers/export', id: 'export', scopes: ['customers:read'], cost: 40 },
    { match: 'GET /open', id: 'open', scopes: [] },
    { match: 'GET /open', id: 'open', service: 'partners', scopes: ['tours:read'] },
    { match: 'GET /partners', id: 'list', service: 'partners', scopes: [] },
    { match: 'GET /old', id: 'old', scopes: [], deprecation: '2030-01-01', sunset: '2031-04-01T00:00:00Z' },
    {
      match: 'GET /gone',
      id: 'gone',
      scopes: ['tours:read'],
      deprecation: '2029-01-01',
      sunset: '2031-01-01T00:00:00Z',
    },
    {
      match: 'GET /tours',
      id: 'tours',
      scopes: ['tours:read'],
      deprecation: '2030-01-01',
      sunset: '2041-01-01T00:00:00Z',
      brownouts: [{ from: '2031-03-31T21:40:00Z', to: '2031-03-31T23:00:00Z' }],
    },
  ].map((operation) => ({ service: 'backend', ...operation })),
  plans: {
    tight: plan('closed', { key: { minute: 6 }, account: { minute: 9, month: 70 } }),
    shared: plan('local', { key: { minute: 7, month: 25 }, account: { minute: 30 } }),
    monthly: plan('local', { account: { month: 30 } }),
    wide: plan('open', { key: { minute: 1_000 } }),
    shadowed: plan('closed', { key: { minute: 12 }, shadow: { key: { minute: 2 } } }),
  },
};
const PLANS = [...Object.keys(FILE.plans), 'withdrawn'];

async function configOf(): Promise<Config> {
  const path = join(mkdtempSync(join(tmpdir(), 'trailgate-explain-')), 'gateway.yaml');
  writeFileSync(path, JSON.stringify(FILE));
  const loaded = await loadConfig(path, readEnvironment({}), {});
  if (!('config' in loaded)) throw new Error(JSON.stringify(loaded));
  return loaded.config;
}

interface Caller {
  key: ApiKey;
  account: Account;
  readonly secret: string;
}

/** A random request, and the key that it uses. */
export interface Drawn {
  readonly caller: Caller;
  readonly method: string;
  readonly path: string;
  readonly host: string;
  readonly clientAddress: string;
}

/** The response of the gateway. */
export interface Told {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** ExplainedWorld holds the gateway, the explainer and their stores. Call `open` first, and `close` at the end. */
export class ExplainedWorld {
  readonly clock = new TestClock(BEGIN);
  readonly random: SeededRandom;
  private callers: Caller[] = [];
  private accounts: Account[] = [];
  private accountStore!: AccountStore;
  private keyStore!: ApiKeyStore;
  private gateway!: RunningGateway;
  private explainer!: Explainer;
  private quotas!: FaultyQuotas;

  constructor(
    private readonly database: DatabaseHandle,
    seed: number,
  ) {
    this.random = new SeededRandom(seed);
  }

  async open(openQuotas: (database: DatabaseHandle, clock: TestClock) => Promise<FaultyQuotas>): Promise<void> {
    const { database, clock } = this;
    const config = await configOf();
    const bus = new ProcessBus(true);
    // A plan that accounts still use, although it was removed from the configuration.
    const plans = { ...config.file.plans, withdrawn: config.file.plans['wide'] } as Config['file']['plans'];
    const catalogue = new Catalogue(() => ({ ...config, file: { ...config.file, plans } }));
    const deps = { database, clock, bus, catalogue };
    this.accountStore = new AccountStore(deps);
    this.keyStore = new ApiKeyStore(deps);
    this.quotas = await openQuotas(database, clock);
    const log = pino({ level: 'silent' });
    const admission = admissionOn(config, database, this.quotas.storage, { clock, bus, log });
    this.gateway = await startGateway(config, database, admission, clock);
    this.explainer = new Explainer({ ...admission.parts, steps: admission.steps }, admission.known, () => config);
    for (const name of PLANS) for (let each = 0; each < 4; each++) await this.addAccount(name);
    for (let each = 0; each < 60; each++) await this.addCaller();
  }

  async close(): Promise<void> {
    await this.gateway.close();
    await this.quotas.close();
  }

  /** At random, advances the clock, changes keys and accounts, or makes the quota store unavailable or available. */
  async change(): Promise<void> {
    const { random, clock } = this;
    if (random.oneIn(3)) clock.advance(random.below(random.oneIn(40) ? 400_000 : 2_000));
    if (random.oneIn(300)) await this.quotas.toggle();
    if (random.oneIn(60)) await this.guess(random.of(ADDRESSES));
    if (random.oneIn(20)) await this.renew(random.of(this.callers));
    const { id, status } = random.of(this.accounts);
    if (random.oneIn(status === 'active' ? 80 : 8)) {
      await this.accountStore.update(id, { status: status === 'active' ? 'suspended' : 'active' }, OPERATOR);
      await this.refresh(id);
    }
  }

  draw(): Drawn {
    const { random } = this;
    const id = `cus_${random.below(9)}`;
    const [usual, known] = random.of([
      ['GET', '/customers'],
      ['HEAD', '/customers'],
      ['POST', '/customers'],
      ['GET', `/customers/${id}`],
      ['DELETE', `/customers/${id}`],
      ['GET', '/customers/export'],
      ['GET', '/open'],
      ['GET', '/partners'],
      ['GET', '/old'],
      ['GET', '/gone'],
      ['GET', '/tours'],
    ] as const);
    const odd = [
      '/',
      '/nothing',
      '/customers//x',
      '/customers/%2e%2e/x',
      '/CUSTOMERS',
      '/customers/export.json',
      '/usage/',
      '/customers/;x',
    ];
    const below = random.oneIn(12) ? random.of(odd) : known;
    const queries = ['?limit=2', '?q=a b', '?q=<b>', '?q=#x', '?filter[name]=a', `?key=${createSecret('live')}`];
    const query = random.oneIn(12) ? random.of(queries).replaceAll(' ', '|') : '';
    const path = random.oneIn(25)
      ? random.of(['/', '/api/v1', '/elsewhere', '/api/v2/customers'])
      : `/api/v1${below}${query}`;
    const isUsage = random.oneIn(30) && !this.quotas.isAway;
    return {
      caller: random.of(this.callers),
      method: random.oneIn(5) ? random.of(METHODS) : usual,
      host: random.oneIn(6) ? random.of(HOSTS) : 'api.example.com',
      path: isUsage ? '/api/v1/usage' : path,
      clientAddress: random.of(ADDRESSES),
    };
  }

  explain({ caller: { key, account }, ...asked }: Drawn): Promise<Explanation> {
    return this.explainer.explain(key, account, asked);
  }

  ask({ caller, ...asked }: Drawn): Promise<Told> {
    return this.askWith(caller.secret, asked);
  }

  private askWith(secret: string, { method, path, host, clientAddress }: Omit<Drawn, 'caller'>): Promise<Told> {
    const { url, agent } = this.gateway;
    const headers = { host, authorization: `Bearer ${secret}`, 'x-forwarded-for': clientAddress };
    return new Promise((resolve, reject) => {
      const sent = send(url, { agent, method, path, headers }, (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (piece: string) => (body += piece));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }));
      });
      sent.on('error', reject).end();
    });
  }

  /** Sends invalid keys from an address until its failed attempts exceed the limit. */
  private async guess(clientAddress: string): Promise<void> {
    const guesses = FILE.gateway.failedAuthentication.perMinute + 1;
    for (let count = 0; count < guesses; count++) {
      const request = { method: 'GET', path: '/api/v1/open', host: 'api.example.com', clientAddress };
      await this.askWith(createSecret('live'), request);
    }
  }

  private async addAccount(name: string): Promise<void> {
    const zone = this.random.of(['UTC', 'Europe/Vienna', 'Asia/Kolkata']);
    const input = { name: 'Random', plan: name, time_zone: zone, billing_day: this.random.of([1, 15]) };
    this.accounts.push(await this.accountStore.create(input, OPERATOR));
  }

  private async addCaller(): Promise<void> {
    const { random, clock } = this;
    const account = random.of(this.accounts);
    const expires = random.oneIn(4) ? new Date(clock.now() + 1_000 + random.below(900_000)).toISOString() : null;
    const scopes = random.oneIn(5) ? [random.of(['*', 'customers:*'])] : SCOPES.filter(() => random.oneIn(2));
    const { key, secret } = await this.keyStore.create(
      account.id,
      {
        name: 'random',
        scopes: scopes.length === 0 ? ['customers:read'] : scopes,
        environment: 'live',
        expires_at: expires,
        allowed_ips: random.oneIn(3) ? ['10.0.0.0/8', '192.0.2.7', '2001:db8::/32'] : [],
        limits: random.oneIn(6) ? { minute: random.below(8) } : null,
      },
      OPERATOR,
    );
    this.callers.push({ key, account, secret });
  }

  /** Randomly pauses, resumes or revokes a key. Replaces a revoked or expired key with a new one. */
  private async renew(caller: Caller): Promise<void> {
    if (caller.key.status === 'paused') {
      caller.key = await this.keyStore.resume(caller.key.id, OPERATOR);
    } else if (caller.key.status === 'active' && this.random.oneIn(5)) {
      caller.key = await this.keyStore.pause(caller.key.id, OPERATOR);
      return;
    }
    const isOver = caller.key.expiresAt !== null && caller.key.expiresAt < this.clock.now();
    if (caller.key.status !== 'revoked' && !isOver && !this.random.oneIn(5)) return;
    if (caller.key.status !== 'revoked' && !isOver) {
      caller.key = await this.keyStore.revoke(caller.key.id, OPERATOR);
      return;
    }
    this.callers = this.callers.filter((each) => each !== caller);
    await this.addCaller();
  }

  private async refresh(accountId: string): Promise<void> {
    const account = await this.accountStore.get(accountId);
    this.accounts = this.accounts.map((each) => (each.id === accountId ? account : each));
    for (const caller of this.callers) if (caller.account.id === accountId) caller.account = account;
  }
}
