/** Key lists of the admin API: query parameters, pages by `Link`, and monthly usage. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { json, startBackend, type Backend } from '../support/backend.js';
import type { Account } from '../support/admin.js';
import { send } from '../support/http.js';
import { expectProblem } from '../support/problem.js';
import { eventually } from '../support/processes.js';
import { runTrailgate } from '../support/program.js';
import { acquireTrailgate, type SharedTrailgate } from '../support/shared-program.js';

let backend: Backend;
let gateway: SharedTrailgate;
let account: Account;

beforeAll(async () => {
  backend = await startBackend(json({ data: [] }));
  gateway = await acquireTrailgate({ backend: backend.url });
  account = await gateway.admin.createAccount({ plan: 'unlimited' });
});
afterAll(async () => {
  await gateway.stop();
  await backend.stop();
});

interface Listed {
  readonly id: string;
  readonly name: string;
  readonly month_used: number;
  readonly month_limit: number | null;
}
const list = (query: string) => gateway.admin.request('GET', `/accounts/${account.id}/api-keys?${query}`);
const listed = async (query: string) => (await list(query)).json<{ data: Listed[] }>().data;

it('a key list shows the monthly usage of each key within seconds, and its own limit', async () => {
  const plain = await gateway.admin.createKey(account.id, { name: 'plain' });
  const limited = await gateway.admin.createKey(account.id, { name: 'limited', limits: { month: 100 } });
  for (const { secret } of [plain, limited, limited]) {
    const headers = { Authorization: `Bearer ${secret}` };
    expect((await send(`${gateway.gatewayUrl}/api/v1/customers`, { headers })).status).toBe(200);
  }
  await eventually('the usage of both keys is written', async () => {
    const months = (await listed('q=l')).map(({ name, month_used, month_limit }) => [name, month_used, month_limit]);
    return JSON.stringify(months) === '[["plain",1,null],["limited",2,100]]';
  });
});

it('the Link to the next page of a key list keeps the query parameters', async () => {
  for (const name of ['Kayak B', 'kayak a', 'KAYAK C', 'boat']) await gateway.admin.createKey(account.id, { name });
  const names: string[] = [];
  let next: string | undefined = 'q=kayak&sort=name&order=desc&status=active,paused&limit=1';
  while (next !== undefined) {
    const response = await list(next);
    names.push(...response.json<{ data: Listed[] }>().data.map(({ name }) => name));
    next = /\?(.*)>; rel="next"$/.exec(String(response.headers.link ?? ''))?.[1];
  }
  expect(names).toEqual(['KAYAK C', 'Kayak B', 'kayak a']);
});

it.each([
  ['status=activ', 'status'],
  ['status=active,', 'status'],
  ['status=', 'status'],
  ['sort=secret', 'sort'],
  ['order=up', 'order'],
  ['environment=prod', 'environment'],
  [`q=${'x'.repeat(201)}`, 'q'],
  ['search=x', 'search'],
  ['q=a&q=b', 'q'],
])('a key list with ?%s is refused, and the error names the parameter', async (query, parameter) => {
  const { errors = [] } = expectProblem(await list(query), 'invalid_parameter');
  expect(errors.map((error) => error.parameter)).toEqual([parameter]);
});

it('trailgate keys list searches, filters and sorts keys', async () => {
  for (const name of ['Sledge b', 'sledge a', 'sledge c']) await gateway.admin.createKey(account.id, { name });
  const [{ id }] = (await listed('q=sledge+c')) as [Listed];
  await gateway.admin.pauseKey(id);
  const env = { TRAILGATE_ADMIN_URL: gateway.adminUrl, TRAILGATE_ADMIN_TOKEN: gateway.adminToken };
  const args = ['--search', 'SLEDGE', '--status', 'active', '--sort', 'name', '--order', 'desc', '--json'];
  const { stdout } = await runTrailgate(['keys', 'list', account.id, ...args], { env });
  expect((JSON.parse(stdout) as { data: Listed[] }).data.map(({ name }) => name)).toEqual(['Sledge b', 'sledge a']);
});
