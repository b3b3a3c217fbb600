/**
 * The secret of a key appears only in the response that created it. It is in no database, Redis, log, metric, backend
 * request or error, however carelessly its owner uses it.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import pg from 'pg';
import { createSecret, hashSecret } from '../../src/keys/api-key-format.js';
import type { ApiKeyWithSecret } from '../support/admin.js';
import { startBackend, type Backend } from '../support/backend.js';
import { describeWithOwnRedisAndPostgres } from '../support/describe-with.js';
import { send, sendRaw, type Answer, type SendOptions } from '../support/http.js';
import { freshDatabase, type FreshDatabase } from '../support/postgres.js';
import { temporaryFolder } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { startRedis, type RedisServer } from '../support/redis.js';
import { filesOf, findSecrets, type Place } from '../support/secret-search.js';

const DUMP_COMMAND = `select table_name from information_schema.tables where table_schema = 'public'`;

/** Sends a secret in every way in which people and programs leak it by mistake. Returns all responses as text. */
async function leakSecret(running: RunningTrailgate, key: ApiKeyWithSecret, secret: string): Promise<string[]> {
  const answers: string[] = [];
  const keep = ({ status, rawHeaders, text }: Answer) => answers.push([status, ...rawHeaders, text].join('\n'));
  const good = { Authorization: `Bearer ${key.secret}` };
  const call = async (path: string, options: SendOptions = {}) =>
    keep(await send(`${running.gatewayUrl}${path}`, { headers: good, ...options }));
  const base = '/api/v1/customers';

  await call(base, { headers: { Authorization: `Bearer ${secret}` } });
  for (const path of [
    `${base}?api_key=${secret}`,
    `${base}/${secret}`,
    `/api/v1/${secret}`,
    `/${secret}`,
    `${base}/a/${secret}`,
  ]) {
    await call(path);
    await call(path, { headers: {} });
    await call(path, { method: 'PROPFIND' });
    await call(path, { method: 'DELETE' });
  }
  await call(`/api/v1/${'a'.repeat(970)}${secret}`); // where the log truncates a path
  await call(`/api/v1/${'a'.repeat(175)}${secret}`); // where the 404 truncates the path
  await call(`${base}/..%2f${secret}`);
  await call(`${base}?q=${'a'.repeat(8_200)}${secret}`);
  for (const name of [
    'X-Api-Key',
    'Cookie',
    'Referer',
    'X-Request-Id',
    'traceparent',
    'tracestate',
    'User-Agent',
    'Origin',
    'Via',
    'X-Account-Id',
    'X-Forwarded-For',
    'Forwarded',
    'Proxy-Authorization',
    'If-None-Match',
    'X-Custom',
  ]) {
    await call(base, { headers: { ...good, [name]: `a ${secret}` } });
    await call(base, { headers: { ...good, [name]: secret } });
  }
  await call(base, { headers: { ...good, [secret]: 'x' } });
  await call(base, { headers: { ...good, [`X_${secret}`]: 'x', Connection: secret } });
  await call(base, { headers: { Authorization: `Basic ${Buffer.from(`${secret}:`).toString('base64')}` } });
  await call(base, { headers: { Authorization: `Bearer ${secret.slice(0, -1)}` } });
  await call(base, { headers: ['Authorization', `Bearer ${secret}`, 'Authorization', `Bearer ${secret}`] });
  await call('/api/v1/customers/broken');
  await call('/api/v1/usage');
  const { port } = new URL(running.gatewayUrl);
  answers.push(await sendRaw(Number(port), `GET /${secret} HTTP/1.1\r\nbroken ${secret}\r\n\r\n`, 200));
  answers.push(await sendRaw(Number(port), `${secret} / HTTP/1.1\r\n\r\n`, 200));
  const admin = { headers: { Authorization: `Bearer ${secret}` } };
  keep(await send(`${running.adminUrl}/admin/v1/accounts?cursor=${secret}`, admin));
  keep(await send(`${running.adminUrl}/admin/v1/api-keys/${secret}`, admin));
  keep(await running.admin.request('GET', `/api-keys/${secret}`));
  keep(await running.admin.request('GET', `/accounts?cursor=${secret}`));
  return answers;
}

/** Creates, uses, rotates and revokes keys. Returns their secrets, all responses, and the metrics. */
async function useKeys(running: RunningTrailgate) {
  const { account, key } = await running.admin.newKey('pro');
  const rotated = await running.admin.rotateKey(key.id, 3_600);
  const testKey = await running.admin.createKey(account.id, { environment: 'test' });
  const unknown = createSecret('live');
  const answers: string[] = [];
  for (const secret of [key.secret, rotated.secret, testKey.secret, unknown]) {
    answers.push(...(await leakSecret(running, rotated, secret)));
  }
  await running.admin.updateKey(key.id, { name: 'renamed' });
  await running.admin.revokeKey(testKey.id);
  answers.push(...(await leakSecret(running, rotated, testKey.secret)));
  for (const path of [
    `/accounts/${account.id}/api-keys`,
    `/api-keys/${key.id}`,
    '/audit-log',
    `/accounts/${account.id}/usage`,
  ]) {
    answers.push((await running.admin.request('GET', path)).text);
  }
  const metrics = (await send(`${running.adminUrl}/metrics`)).text;
  return { account, key, secrets: [key.secret, rotated.secret, testKey.secret, unknown], answers, metrics };
}

function backendPlace(backend: Backend, keyId: string): Place {
  const seen = backend.requests.map(({ url, rawHeaders, body }) => [url, ...rawHeaders, String(body)].join('\n'));
  return { name: 'backend', text: seen.join('\n'), mustHold: keyId };
}

describe('a secret', () => {
  let backend: Backend;
  beforeAll(async () => {
    backend = await startBackend((request, response) => {
      const status = request.url === '/customers/broken' ? 500 : 200;
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ url: 'x' }));
    });
  });
  afterAll(() => backend.stop());

  it('appears in no file, log, metric, response or backend request of the embedded deployment', async () => {
    const options = { backend: backend.url, dataDir: temporaryFolder('data'), env: { LOG_LEVEL: 'trace' } };
    const running = await startTrailgate(options);
    const { key, secrets, answers, metrics } = await useKeys(running);
    const whileItRuns = filesOf(options.dataDir);
    await running.stop();
    const places = [
      { name: 'files while it runs', text: whileItRuns, mustHold: hashSecret(key.secret) },
      { name: 'files', text: filesOf(options.dataDir), mustHold: hashSecret(key.secret) },
      { name: 'stdout', text: running.stdout.join('\n'), mustHold: key.id },
      { name: 'stderr', text: running.stderr.join('\n'), mustHold: '' },
      { name: 'metrics', text: metrics, mustHold: 'http_response_status_code="401"' },
      { name: 'answers', text: answers.join('\n'), mustHold: '"code":"malformed_authorization"' },
      backendPlace(backend, key.id),
    ];
    expect(findSecrets(places, secrets)).toEqual([]);
  });

  describeWithOwnRedisAndPostgres('of a deployment on Redis and PostgreSQL', () => {
    let redis: RedisServer;
    let database: FreshDatabase;
    beforeAll(async () => {
      [redis, database] = await Promise.all([startRedis(), freshDatabase()]);
    });
    afterAll(() => Promise.all([redis.stop(), database.drop()]));

    it('appears in no table, Redis key or message, log, metric, response or backend request', async () => {
      const heard: string[] = [];
      const subscriber = new Redis(redis.url);
      subscriber.on('pmessage', (_pattern, channel: string, text: string) => heard.push(channel, text));
      await subscriber.psubscribe('*');
      const env = { LOG_LEVEL: 'trace', REDIS_URL: redis.url, DATABASE_URL: database.url };
      const running = await startTrailgate({ backend: backend.url, env });
      const { account, key, secrets, answers, metrics } = await useKeys(running);
      const inRedis = await dumpRedis(redis.url);
      await running.stop();
      const places = [
        { name: 'PostgreSQL', text: await dumpPostgres(database.url), mustHold: hashSecret(key.secret) },
        { name: 'Redis', text: inRedis, mustHold: account.id },
        { name: 'messages', text: heard.join('\n'), mustHold: key.id },
        { name: 'stdout', text: running.stdout.join('\n'), mustHold: key.id },
        { name: 'metrics', text: metrics, mustHold: 'http_response_status_code="401"' },
        { name: 'answers', text: answers.join('\n'), mustHold: '"code":"malformed_authorization"' },
        backendPlace(backend, key.id),
      ];
      subscriber.disconnect();
      expect(findSecrets(places, secrets)).toEqual([]);
      const output = [...running.stdout, ...running.stderr].join('\n');
      expect(output).not.toContain(new URL(database.url).password);
      expect(output).not.toContain(running.adminToken);
    });
  });
});

async function dumpRedis(url: string): Promise<string> {
  const client = new Redis(url);
  const found: string[] = [];
  for (const name of await client.keys('*')) {
    const read = {
      string: () => client.get(name),
      hash: () => client.hgetall(name),
      zset: () => client.zrange(name, '0', '-1'),
    }[await client.type(name)];
    if (read === undefined) throw new Error(`this test cannot read Redis keys of this type: ${name}`);
    found.push(name, JSON.stringify(await read()));
  }
  client.disconnect();
  return found.join('\n');
}

async function dumpPostgres(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const tables = await client.query<{ table_name: string }>(DUMP_COMMAND);
  const rows: string[] = [];
  for (const { table_name: table } of tables.rows) {
    const { rows: found } = await client.query<{ text: string }>(`select t::text as text from "${table}" t`);
    rows.push(...found.map(({ text }) => text));
  }
  await client.end();
  return rows.join('\n');
}
