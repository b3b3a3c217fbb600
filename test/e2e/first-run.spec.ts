/** `npm start` on a new machine. What it prints works, and the next start finds its data. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { copyFileSync, globSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { Agent } from 'node:http';
import { createInterface } from 'node:readline';
import { basename, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { parse, stringify } from 'yaml';
import { describeWithCurl, describeWithOwnRedisAndPostgres } from '../support/describe-with.js';
import { send, type Answer } from '../support/http.js';
import { newDatabase, type FreshDatabase } from '../support/postgres.js';
import { eventually, freePort, sleep, spawnOwned, temporaryFolder, type Exit } from '../support/processes.js';
import { startRedis, type RedisServer } from '../support/redis.js';

const MAIN = resolve('dist/main.js');
const SEEDED_CUSTOMERS = 10_000;
/** Environment for `curl`, without a proxy or a configuration file of the user. */
const CURL_ENV = { PATH: process.env['PATH'] ?? '' };

interface CustomerPage {
  readonly data: readonly { readonly id: string }[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

interface Demo {
  readonly curl: string;
  readonly url: string;
  readonly key: string;
  readonly output: string;
  readonly adminUrl: string;
  stop(): Promise<Exit>;
  /** Interrupts all processes of the group, like Ctrl-C in a terminal. Returns the output from then on. */
  interrupt(): Promise<{ exit: Exit; output: string }>;
}

/**
 * Copies the reference configuration to a new folder. With `roomy`, its limits allow reading every page within a
 * minute.
 */
function referenceConfig(roomy: boolean): string {
  const folder = temporaryFolder('first-run');
  copyFileSync('customers.openapi.yaml', join(folder, 'customers.openapi.yaml'));
  const text = readFileSync('gateway.yaml', 'utf8');
  const config = parse(text) as { plans: object };
  const plans = { ...config.plans, starter: { account: { minute: 5_000, month: 1_000_000 } } };
  writeFileSync(join(folder, 'gateway.yaml'), roomy ? stringify({ ...config, plans }) : text);
  return join(folder, 'gateway.yaml');
}

async function ports(): Promise<Record<string, string>> {
  return {
    TRAILGATE_GATEWAY_PORT: String(await freePort()),
    TRAILGATE_ADMIN_PORT: String(await freePort()),
    TRAILGATE_CUSTOMERS_PORT: String(await freePort()),
  };
}

/** Runs a command of the program, and waits until `until` accepts its output. */
async function run(args: readonly string[], env: Record<string, string>, until: (output: string) => boolean) {
  const program = spawnOwned(process.execPath, [MAIN, ...args], {
    detached: true,
    env: { PATH: process.env['PATH'] ?? '', LOG_LEVEL: 'warn', ...env },
  });
  const lines: string[] = [];
  for (const stream of [program.child.stdout, program.child.stderr]) {
    if (stream !== null) createInterface({ input: stream }).on('line', (line) => lines.push(line));
  }
  const output = () => lines.join('\n');
  await eventually(
    'the program is ready',
    () => {
      if (!program.isRunning()) throw new Error(`the program ended:\n${output()}`);
      return until(output());
    },
    60_000,
  );
  const interrupt = async () => {
    program.child.ref();
    const closed = once(program.child, 'close');
    const printed = lines.length;
    process.kill(-program.pid, 'SIGINT');
    await closed;
    return { exit: await program.exited, output: lines.slice(printed).join('\n') };
  };
  return { output, stop: () => program.end('SIGTERM'), interrupt };
}

/** Runs the command of `npm start`, and parses the curl command that it prints. */
async function startDemo(config: string, env: Record<string, string>): Promise<Demo> {
  const { output, stop, interrupt } = await run(['demo', '--config', config], env, (text) => text.includes('curl '));
  const curl = /curl .*/.exec(output())?.[0] ?? '';
  const [, url = '', key = ''] = /'(http[^']+)' -H 'Authorization: Bearer ([^']+)'/.exec(curl) ?? [];
  const adminUrl = `http://127.0.0.1:${env['TRAILGATE_ADMIN_PORT']}`;
  return { curl, url, key, output: output(), adminUrl, stop, interrupt };
}

const get = (url: string, key: string, agent?: Agent): Promise<Answer> =>
  send(url, { headers: { Authorization: `Bearer ${key}` }, ...(agent === undefined ? {} : { agent }) });

/** Checks the response to the first request of a new user. Returns the page of customers. */
function expectFirstAnswer({ status, headers, ...answer }: Answer): CustomerPage {
  expect(status).toBe(200);
  expect(headers['content-type']).toMatch(/^application\/json/);
  expect(headers['ratelimit-policy']).toMatch(
    /^"key-minute";q=60;w=60, "account-minute";q=120;w=60, "account-month";q=10000/,
  );
  expect(headers['ratelimit']).toMatch(
    /^"key-minute";r=\d+;t=\d+, "account-minute";r=\d+;t=\d+, "account-month";r=\d+;t=\d+$/,
  );
  for (const name of ['limit', 'remaining', 'reset']) expect(headers[`x-ratelimit-${name}`]).toMatch(/^\d+$/);
  expect(headers['x-request-id']).toMatch(/^req_/);
  const page = answer.json<CustomerPage>();
  expect(page.data.length).toBeGreaterThanOrEqual(10);
  expect(page).toMatchObject({ has_more: true, next_cursor: expect.stringMatching(/./) });
  return page;
}

/** Follows `next_cursor` to the end, alternating between the gateways. Returns all IDs. */
async function allIds(gateways: readonly string[], key: string): Promise<string[]> {
  const agent = new Agent({ keepAlive: true });
  const ids: string[] = [];
  let cursor: string | null = '';
  for (let count = 0; cursor !== null; count++) {
    const query: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const gateway = gateways[count % gateways.length] ?? '';
    const answer: Answer = await get(`${gateway}/api/v1/customers?limit=100${query}`, key, agent);
    expect(answer.status).toBe(200);
    const page: CustomerPage = answer.json<CustomerPage>();
    expect(page.has_more).toBe(page.next_cursor !== null);
    ids.push(...page.data.map(({ id }) => id));
    cursor = page.next_cursor;
  }
  agent.destroy();
  return ids;
}

describe('on a machine with nothing but Node', () => {
  const config = referenceConfig(false);
  const dataDir = join(temporaryFolder('data'), 'not', 'there', 'yet');
  let env: Record<string, string>;
  let first: Demo;
  let page: CustomerPage;

  beforeAll(async () => {
    env = { ...(await ports()), TRAILGATE_DATA_DIR: dataDir };
    first = await startDemo(config, env);
  });
  afterAll(() => first.stop());

  it('the printed curl line has the URL and the key, which return customers and rate limit headers', async () => {
    expect(first.curl).toMatch(
      /^curl -i 'http:\/\/\S+\/api\/v1\/customers\?limit=10' -H 'Authorization: Bearer tg_live_\w{36}'$/,
    );
    page = expectFirstAnswer(await get(first.url, first.key));
  });

  describeWithCurl('in a shell', () => {
    it('the printed curl line returns the customers with 200', async () => {
      const { stdout } = await promisify(execFile)('sh', ['-c', first.curl], { env: CURL_ENV });
      const [head = '', body = ''] = stdout.split('\r\n\r\n');
      expect(head).toMatch(/^HTTP\/1\.1 200 /);
      expect(JSON.parse(body)).toMatchObject({ data: page.data });
    });
  });

  it('the printed URLs and the admin token work', async () => {
    const urls = [...first.output.matchAll(/(https?:\/\/[^\s']+)/g)].map(([url]) => url);
    expect(urls.some((url) => url.endsWith('/docs'))).toBe(true);
    expect((await send(urls.find((url) => url.endsWith('/docs')) ?? '')).status).toBe(200);
    expect((await send(urls.find((url) => url.endsWith('/metrics')) ?? '')).status).toBe(200);
    const [, tokenFile = ''] = /token: (\S+)\)/.exec(first.output) ?? [];
    const accounts = await get(`${first.adminUrl}/admin/v1/accounts`, readFileSync(tokenFile, 'utf8').trim());
    expect([accounts.status, accounts.json<{ data: unknown[] }>().data.length]).toEqual([200, 1]);
  });

  it('the operations of the example are listed as MCP tools, and can be called', async () => {
    const call = async (method: string, params: object) => {
      const headers = {
        authorization: `Bearer ${first.key}`,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        'mcp-protocol-version': '2025-06-18',
      };
      const body = { jsonrpc: '2.0', id: 1, method, params };
      const answer = await send(new URL('/mcp', first.url).href, { method: 'POST', headers, body });
      return answer.json<{ result: { tools: { name: string }[]; structuredContent: CustomerPage } }>().result;
    };
    const names = (await call('tools/list', {})).tools.map(({ name }) => name);
    const tools = ['create_customer', 'delete_customer', 'get_customer', 'list_customers', 'update_customer'];
    expect(names.toSorted()).toEqual([...tools, 'get_usage'].toSorted());
    const { structuredContent } = await call('tools/call', { name: 'list_customers', arguments: { limit: 1 } });
    expect(structuredContent.data).toHaveLength(1);
  });

  it('the key is printed once, and stored in no file', () => {
    expect(first.output.split(first.key)).toHaveLength(2);
    const files = globSync(`${dataDir}/**/*`).filter((file) => statSync(file).isFile());
    expect(files.map((file) => basename(file))).toEqual(expect.arrayContaining(['trailgate.db', 'admin-token']));
    expect(files.filter((file) => readFileSync(file, 'latin1').includes(first.key.slice(8)))).toEqual([]);
  });

  it('the next start keeps the account and its customers, and prints a new key', async () => {
    expect((await first.stop()).code).toBe(0);
    const second = await startDemo(config, env);
    try {
      expect(second.key).not.toBe(first.key);
      expect(expectFirstAnswer(await get(second.url, second.key)).data).toEqual(page.data);
      // The first key is valid for seven days.
      expect((await get(second.url, first.key)).status).toBe(200);
      const token = readFileSync(join(dataDir, 'admin-token'), 'utf8').trim();
      const accounts = await get(`${second.adminUrl}/admin/v1/accounts`, token);
      expect(accounts.json<{ data: unknown[] }>().data).toHaveLength(1);
    } finally {
      await second.stop();
    }
  });

  it('the first request after /readyz is ready is served, and Ctrl-C ends the program without an error', async () => {
    const starting = startDemo(config, env);
    const readyz = `${first.adminUrl}/readyz`;
    const isReady = (): Promise<boolean> =>
      send(readyz).then(
        ({ status }) => status === 200,
        () => false,
      );
    while (!(await isReady())) await sleep(5);
    const { status } = await get(first.url, first.key);
    const demo = await starting;
    const { exit, output } = await demo.interrupt();
    expect(status).toBe(200);
    expect(exit).toEqual({ code: 0, signal: null });
    expect(output).not.toContain('"level":"error"');
  });
});

describe('following next_cursor to the end', () => {
  it('yields every customer exactly once', async () => {
    const env: Record<string, string> = { ...(await ports()), TRAILGATE_DATA_DIR: temporaryFolder('data') };
    const demo = await startDemo(referenceConfig(true), env);
    try {
      const ids = await allIds([new URL(demo.url).origin], demo.key);
      expect(ids).toHaveLength(SEEDED_CUSTOMERS);
      expect(new Set(ids).size).toBe(SEEDED_CUSTOMERS);
    } finally {
      await demo.stop();
    }
  });
});

describeWithOwnRedisAndPostgres('with REDIS_URL and DATABASE_URL', () => {
  let redis: RedisServer;
  let database: FreshDatabase;
  beforeAll(async () => {
    [redis, database] = await Promise.all([startRedis(), newDatabase()]);
  });
  afterAll(() => Promise.all([redis.stop(), database.drop()]));

  it('two gateways serve all customers of the same account, and count its requests together', async () => {
    const config = referenceConfig(true);
    const stores = { REDIS_URL: redis.url, DATABASE_URL: database.url };
    const env: Record<string, string> = { ...(await ports()), ...stores, TRAILGATE_DATA_DIR: temporaryFolder('data') };
    const demo = await startDemo(config, env);
    const others: Record<string, string> = {
      ...env,
      ...(await ports()),
      TRAILGATE_CUSTOMERS_PORT: env['TRAILGATE_CUSTOMERS_PORT'] ?? '',
    };
    const second = await run(['start', '--roles', 'gateway', '--config', config], others, (text) =>
      text.includes('"role":"gateway"'),
    );
    try {
      const gateways = [new URL(demo.url).origin, `http://127.0.0.1:${others['TRAILGATE_GATEWAY_PORT']}`];
      const ids = await allIds(gateways, demo.key);
      expect([ids.length, new Set(ids).size]).toEqual([SEEDED_CUSTOMERS, SEEDED_CUSTOMERS]);
      const usage = (await get(`${gateways[1]}/api/v1/usage`, demo.key)).json<{
        windows: { policy: string; used: number }[];
      }>();
      expect(usage.windows.find(({ policy }) => policy === 'account-month')?.used).toBe(SEEDED_CUSTOMERS / 100);
    } finally {
      await Promise.all([demo.stop(), second.stop()]);
    }
  });
});
