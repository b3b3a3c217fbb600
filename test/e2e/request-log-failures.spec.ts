/**
 * While the request log cannot be written, requests are served and counted. Their entries are written once afterward.
 */
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

/** Sends requests one after the other. Returns their request IDs. */
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

async function expectLogged(gateway: RunningTrailgate, account: string, ids: readonly string[]): Promise<void> {
  const inLog = async () => new Set((await list(gateway, account)).data.map(({ request_id: id }) => id));
  await eventually('all requests are in the log', async () => {
    const stored = await inLog();
    return ids.every((id) => stored.has(id));
  });
  const { data } = await list(gateway, account);
  expect(data.filter(({ request_id: id }) => ids.includes(id)).length).toBe(ids.length);
}

it('no request is logged while usage.requestLogRetention is off, and logging starts once it is on', async () => {
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
  await eventually('the configuration is applied', () =>
    gateway.logs().some(({ event }) => event === 'config_changed'),
  );
  const ids = await ask(gateway, key.secret, 3);
  await expectLogged(gateway, account.id, ids);
  expect((await list(gateway, account.id)).data.length).toBe(3);
});

it('entries written before a kill -9 are present once after it, and new requests are logged', async () => {
  const dataDir = temporaryFolder('killed');
  const first = await start({ dataDir });
  const { account, key } = await first.admin.newKey();
  const before = await ask(first, key.secret, 5);
  await expectLogged(first, account.id, before);
  await ask(first, key.secret, 5);
  await first.kill9();
  const second = await start({ dataDir });
  const after = await ask(second, key.secret, 5);
  await expectLogged(second, account.id, [...before, ...after]);
});

it('a clean stop writes all pending entries', async () => {
  const dataDir = temporaryFolder('stopped');
  const first = await start({ dataDir, config: { usage: { flushInterval: '60s' } } });
  const { account, key } = await first.admin.newKey();
  const ids = await ask(first, key.secret, 5);
  await first.stop();
  await expectLogged(await start({ dataDir }), account.id, ids);
});

describeUnless(canMountDisk() ? null : 'needs root and tmpfs')('while the disk is full', () => {
  let disk: SmallDisk;
  beforeAll(() => void (disk = mountSmallDisk(24)));
  afterAll(() => disk.unmount());

  it('requests are served, and are in the log and in the usage once there is space again', async () => {
    const gateway = await start({ dataDir: `${disk.folder}/data` });
    const { account, key } = await gateway.admin.newKey();
    const before = await ask(gateway, key.secret, 3);
    await expectLogged(gateway, account.id, before);
    disk.fill();
    const failed = () => gateway.logs().some(({ event }) => event === 'usage_flush_failed');
    const meanwhile: string[] = [];
    await eventually('writes fail', async () => {
      meanwhile.push(...(await ask(gateway, key.secret, 2)));
      return failed() && meanwhile.length > 20;
    });
    disk.clear();
    await expectLogged(gateway, account.id, [...before, ...meanwhile].slice(-90));
    const usage = await gateway.admin.call<{ data: { requests: number }[] }>(
      'GET',
      `/accounts/${account.id}/usage?group_by=outcome`,
    );
    expect(usage.data).toMatchObject([{ requests: before.length + meanwhile.length }]);
  });
});

describeWithOwnPostgres('while PostgreSQL is killed', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  it('requests are served, and each is in the log once after the restart', async () => {
    const gateway = await start({ env: { DATABASE_URL: server.url } });
    const { account, key } = await gateway.admin.newKey();
    const before = await ask(gateway, key.secret, 3);
    await expectLogged(gateway, account.id, before);
    await server.kill9();
    const meanwhile = await ask(gateway, key.secret, 20);
    await eventually('usage_flush_failed is logged', () =>
      gateway.logs().some(({ event }) => event === 'usage_flush_failed'),
    );
    await server.restart();
    const after = await ask(gateway, key.secret, 3);
    await expectLogged(gateway, account.id, [...before, ...meanwhile, ...after]);
    const { text } = await send(`${gateway.adminUrl}/metrics`);
    expect(seriesOf(text).get('trailgate_request_log_left_out_total') ?? 0).toBe(0);
  });
});

describeWithBoth('with several processes that write the log', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await migratedDatabase('postgres');
  });
  afterAll(() => database.drop());

  it('a client that follows the log with a cursor sees every request exactly once', async () => {
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
    await eventually('all requests have been read', async () => {
      await follow();
      return seen.length >= sent.length;
    });
    expect(seen.toSorted()).toEqual(sent.toSorted());
  });
});
