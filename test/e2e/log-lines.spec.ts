/** `gateway.log` sets which requests are logged and in which format. A change needs no restart. */
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { createSecret } from '../../src/keys/api-key-format.js';
import { LOG_FIELDS } from '../../src/config/model/listener-schema.js';
import { startBackend, type Backend } from '../support/backend.js';
import { send } from '../support/http.js';
import { eventually } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';

let backend: Backend;
let gateway: RunningTrailgate;
let secret: string;
let accountId: string;

beforeAll(async () => {
  backend = await startBackend((request, response) => {
    response.writeHead(request.url === '/customers/broken' ? 500 : 200).end('12345');
  });
  gateway = await startTrailgate({ backend: backend.url, config: { gateway: { log: { successes: 0 } } } });
  const { account, key } = await gateway.admin.newKey('unlimited');
  [secret, accountId] = [key.secret, account.id];
});
afterAll(async () => {
  await gateway?.stop();
  await backend?.stop();
});

const call = (path: string, headers: Record<string, string> = {}) =>
  send(`${gateway.gatewayUrl}/api/v1${path}`, { headers: { authorization: `Bearer ${secret}`, ...headers } });
const requests = () => gateway.logs().filter(({ event }) => event === 'request');

async function configure(log: object): Promise<void> {
  const applied = () => gateway.logs().filter(({ event }) => event === 'config_changed').length;
  const before = applied();
  const config = parse(readFileSync(gateway.configPath, 'utf8')) as { gateway: object };
  writeFileSync(gateway.configPath, stringify({ ...config, gateway: { ...config.gateway, log } }));
  await eventually('the change applies', () => applied() > before, 30_000);
}

it('the request log has every error and the configured share of successes', async () => {
  for (let round = 0; round < 20; round++) await call('/customers');
  await call('/customers/broken');
  await call('/nothing');
  await eventually('the errors are logged', () => requests().length >= 2);
  expect(requests().map(({ status }) => status)).toEqual([500, 404]);
  await configure({ successes: 0.5 });
  for (let round = 0; round < 200; round++) await call('/customers');
  await call('/nothing');
  await eventually('the last request is logged', () => requests().filter(({ status }) => status === 404).length === 2);
  // The bounds are six standard deviations around half of 200 requests.
  const share = requests().filter(({ status }) => status === 200).length / 200;
  expect(share).toBeGreaterThan(0.28);
  expect(share).toBeLessThan(0.72);
});

it('a JSON line has the configured fields, and no secret in them', async () => {
  const fields = ['user_agent', 'status', 'bytes_out', 'protocol', 'code'];
  await configure({ fields });
  const other = createSecret('live');
  await call('/customers', { 'user-agent': `ü "quoted" ${other}` });
  await eventually('the request is logged', () => requests().some((line) => 'protocol' in line));
  const line = requests().at(-1) ?? {};
  expect(Object.keys(line)).toEqual(['level', 'time', 'event', 'user_agent', 'status', 'bytes_out', 'protocol']);
  expect(line).toMatchObject({ status: 200, bytes_out: 5, protocol: 'HTTP/1.1' });
  expect(String(line['user_agent'])).toContain('"quoted" ');
  expect(gateway.stdout.join('\n')).not.toContain(other);
});

it('every field of a default JSON line can be configured', async () => {
  await configure({});
  await call('/customers/broken');
  await eventually('the request is logged', () => requests().at(-1)?.['path'] === '/api/v1/customers/broken');
  const { level, time, event, ...rest } = requests().at(-1) ?? {};
  expect([level, event, typeof time]).toEqual(['info', 'request', 'string']);
  expect(Object.keys(rest).filter((name) => !(LOG_FIELDS as readonly string[]).includes(name))).toEqual([]);
});

it('a line in combined format escapes client input and leaves out the query string', async () => {
  await configure({ format: 'combined' });
  await call('/customers?secret=query', { 'user-agent': 'a "b" \\ ü', referer: 'https://example.com/' });
  await call('/nothing', { authorization: 'none' });
  const combined = () => gateway.stdout.filter((line) => line.includes(' - ') && !line.startsWith('{'));
  await eventually('both requests are logged', () => combined().length === 2);
  const time = String.raw`\[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d \+0000\]`;
  const [first = '', second = ''] = combined();
  expect(first).toMatch(
    new RegExp(
      `^127\\.0\\.0\\.1 - ${accountId} ${time} "GET /api/v1/customers HTTP/1\\.1" 200 5 "https://example\\.com/" ` +
        String.raw`"a \\x22b\\x22 \\x5C (?:\\xC3\\xBC|\\xFC)"$`,
    ),
  );
  expect(second).toMatch(
    new RegExp(`^127\\.0\\.0\\.1 - - ${time} "GET /api/v1/nothing HTTP/1\\.1" 404 \\d+ "-" "[^"]*"$`),
  );
});
