/** Failures of request logs cost no request and no count. Rows are written afterwards, each once. */
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { readFileSync, writeFileSync } from 'node:fs';
import { parse, stringify } from 'yaml';
import { json, startBackend, type Backend } from '../support/backend.js';
import { migratedDatabase, type TestDatabase } from '../support/database.js';
import { describeUnless, describeWithBoth, describeWithOwnPostgres } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { seriesOf } from '../support/metrics-text.js';
import { startPostgres, type PostgresServer } from '../support/postgres.js';
import { eventually, temporaryFolder } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate, type TrailgateOptions } from '../support/program.js';
import { mergePatch, type Json } from '../support/program-config.js';
import { sharedRedisUrl } from '../support/redis.js';
import { canMountDisk, mountSmallDisk, type SmallDisk } from '../support/small-disk.js';

interface Entry {
  readonly request_id: string;
  readonly weight: number;
}

interface List {
  readonly data: readonly Entry[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
  readonly kept_since: string | null;
}

let backend: Backend;
let gateways: RunningTrailgate[] = [];
beforeAll(async () => {
  backend = await startBackend(json({ data: [] }));
});
afterEach(async () => {
  for (const gateway of gateways) await gateway.stop();
  gateways = [];
});
afterAll(() => backend.stop());

async function start(options: TrailgateOptions & { readonly logs?: string } = {}): Promise<RunningTrailgate> {
  const { logs = '7d', ...rest } = options;
  const usage = { flushInterval: '200ms', requestLogRetention: logs };
  const gateway = await startTrailgate({ backend: backend.url, config: { usage }, ...rest });
  gateways.push(gateway);
  return gateway;
}

/** Sends some, one after the other; what their responses called them. */
async function ask({ gatewayUrl }: RunningTrailgate, secret: string, requests: number): Promise<string[]> {
  const ids: string[] = [];
  for (let sent = 0; sent < requests; sent++) {
    const answer = await send(`${gatewayUrl}/api/v1/customers`, { headers: { Authorization: `Bearer ${secret}` } });
    expect(answer.status).toBe(200);
    ids.push(String(answer.headers['x-request-id']));
  }
  return ids;
}

const list = ({ admin }: RunningTrailgate, account: string, query = '?limit=100') =>
  admin.call<List>('GET', `/accounts/${account}/requests${query}`);

async function hasAll(gateway: RunningTrailgate, account: string, ids: readonly string[]): Promise<void> {
  const inLog = async () => new Set((await list(gateway, account)).data.map(({ request_id: id }) => id));
  await eventually('all are in the log', async () => {
    const there = await inLog();
    return ids.every((id) => there.has(id));
  });
  const { data } = await list(gateway, account);
  expect(data.filter(({ request_id: id }) => ids.includes(id)).length).toBe(ids.length);
}

it('nothing is kept while usage.requestLogRetention is off, and what ends is kept as soon as it is on again', async () => {
  const gateway = await start({ logs: 'off' });
  const { account, key } = await gateway.admin.newKey();
  await ask(gateway, key.secret, 3);
  await eventually('usage is written', async () => {
    const { data } = await gateway.admin.call<{ data: unknown[] }>('GET', `/accounts/${account.id}/usage?group_by=day`);
    return data.length > 0;
  });
  expect(await list(gateway, account.id)).toMatchObject({ data: [], has_more: false, kept_since: null });
  const patch: Json = { usage: { requestLogRetention: '1d' } };
  writeFileSync(gateway.configPath, stringify(mergePatch(parse(readFileSync(gateway.configPath, 'utf8')), patch)));
  gateway.signal('SIGHUP');
  await eventually('it is in force', () => gateway.logs().some(({ event }) => event === 'config_changed'));
  const ids = await ask(gateway, key.secret, 3);
  await hasAll(gateway, account.id, ids);
  expect((await list(gateway, account.id)).data.length).toBe(3);
});

it('what had been written before a kill -9 is there after it, once, and the log goes on', async () => {
  const dataDir = temporaryFolder('killed');
  const first = await start({ dataDir });
  const { account, key } = await first.admin.newKey();
  const before = await ask(first, key.secret, 5);
  await hasAll(first, account.id, before);
  await ask(first, key.secret, 5);
  await first.kill9();
  const second = await start({ dataDir });
  const after = await ask(second, key.secret, 5);
  await hasAll(second, account.id, [...before, ...after]);
});

it('a clean stop writes everything', async () => {
  const dataDir = temporaryFolder('stopped');
  const first = await start({ dataDir, config: { usage: { flushInterval: '60s' } } });
  const { account, key } = await first.admin.newKey();
  const ids = await ask(first, key.secret, 5);
  await first.stop();
  await hasAll(await start({ dataDir }), account.id, ids);
});

describeUnless(canMountDisk() ? null : 'needs root and tmpfs')('on a disk that is full', () => {
  let disk: SmallDisk;
  beforeAll(() => void (disk = mountSmallDisk(24)));
  afterAll(() => disk.unmount());

  it('requests go on, what ended waits, and is in the log and in usage when there is room again', async () => {
    const gateway = await start({ dataDir: `${disk.folder}/data` });
    const { account, key } = await gateway.admin.newKey();
    const before = await ask(gateway, key.secret, 3);
    await hasAll(gateway, account.id, before);
    disk.fill();
    const failed = () => gateway.logs().some(({ event }) => event === 'usage_flush_failed');
    const meanwhile: string[] = [];
    await eventually('nothing can be written', async () => {
      meanwhile.push(...(await ask(gateway, key.secret, 2)));
      return failed() && meanwhile.length > 20;
    });
    disk.clear();
    await hasAll(gateway, account.id, [...before, ...meanwhile].slice(-90));
    const usage = await gateway.admin.call<{ data: { requests: number }[] }>(
      'GET',
      `/accounts/${account.id}/usage?group_by=outcome`,
    );
    expect(usage.data).toMatchObject([{ requests: before.length + meanwhile.length }]);
  });
});

describeWithOwnPostgres('with a PostgreSQL that is killed', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  it('requests go on, and are in the log when it is back: each once', async () => {
    const gateway = await start({ env: { DATABASE_URL: server.url } });
    const { account, key } = await gateway.admin.newKey();
    const before = await ask(gateway, key.secret, 3);
    await hasAll(gateway, account.id, before);
    await server.kill9();
    const meanwhile = await ask(gateway, key.secret, 20);
    await eventually('it is noticed', () => gateway.logs().some(({ event }) => event === 'usage_flush_failed'));
    await server.restart();
    const after = await ask(gateway, key.secret, 3);
    await hasAll(gateway, account.id, [...before, ...meanwhile, ...after]);
    const { text } = await send(`${gateway.adminUrl}/metrics`);
    expect(seriesOf(text).get('trailgate_request_log_left_out_total') ?? 0).toBe(0);
  });
});

describeWithBoth('with several processes that write', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await migratedDatabase('postgres');
  });
  afterAll(() => database.drop());

  it('every request is in the log once, and whoever follows it sees each of them once', async () => {
    const env = { DATABASE_URL: database.options.databaseUrl ?? '', REDIS_URL: await sharedRedisUrl() };
    const gateway = await start({ env, args: ['--workers', '2'] });
    const other = await start({ env, roles: ['gateway'] });
    const { account, key } = await gateway.admin.newKey();
    const sent: string[] = [];
    const seen: string[] = [];
    let cursor = '';
    const follow = async (): Promise<void> => {
      const page = await list(gateway, account.id, `?order=asc&limit=7${cursor}`);
      seen.push(...page.data.map(({ request_id: id }) => id));
      cursor = `&cursor=${page.next_cursor}`;
    };
    for (let round = 0; round < 10; round++) {
      for (const each of [gateway, other]) sent.push(...(await ask(each, key.secret, 4)));
      await follow();
    }
    await eventually('all have been seen', async () => {
      await follow();
      return seen.length >= sent.length;
    });
    expect(seen.toSorted()).toEqual(sent.toSorted());
  });
});
