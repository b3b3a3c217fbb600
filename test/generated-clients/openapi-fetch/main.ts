/** What an integrator writes with openapi-typescript and openapi-fetch: types that are generated, one small client for all of them. */
import createClient from 'openapi-fetch';
import type { paths as AdminPaths } from '../generated/openapi-fetch/admin.js';
import type { paths } from '../generated/openapi-fetch/public.js';

const { API_URL = '', API_KEY = '', ADMIN_URL = '', ADMIN_TOKEN = '' } = process.env;
const { SCENARIO_KEY = '', LIMITED_KEY = '' } = process.env;

/** What the program knows of codes; of new ones it shows `detail`. */
function advice(code = ''): string {
  switch (code) {
    case 'conflict':
      return 'use another';
    case 'resource_not_found':
      return 'create it';
    default:
      return 'show detail';
  }
}

async function customers(): Promise<object> {
  const api = createClient<paths>({ baseUrl: API_URL, headers: { Authorization: `Bearer ${API_KEY}` } });
  const body = { first_name: 'Anna', last_name: 'Huber', email: 'openapi-fetch@example.com' };
  const created = await api.POST('/customers', { body });
  const again = await api.POST('/customers', { body });
  const id = created.data?.id ?? '';
  const listed = await api.GET('/customers', { params: { query: { limit: 1 } } });
  const updated = await api.PATCH('/customers/{id}', { params: { path: { id } }, body: { status: 'active' } });
  const deleted = await api.DELETE('/customers/{id}', { params: { path: { id } } });
  const missing = await api.GET('/customers/{id}', { params: { path: { id } } });
  const usage = await api.GET('/usage', { params: { query: { group_by: 'outcome', limit: 5 } } });
  return {
    created: created.data?.status,
    conflict: again.error?.code,
    reason: again.error?.reason,
    listed: listed.data?.data.length,
    updated: updated.data?.status,
    deleted: deleted.response.status,
    missing: missing.error?.code,
    advice: advice(again.error?.code),
    plan: usage.data?.plan,
  };
}

async function admin(): Promise<object> {
  const api = createClient<AdminPaths>({ baseUrl: ADMIN_URL, headers: { Authorization: `Bearer ${ADMIN_TOKEN}` } });
  const account = await api.POST('/admin/v1/accounts', { body: { name: 'openapi-fetch', plan: 'starter' } });
  const id = account.data?.id ?? '';
  const params = { path: { id } };
  const key = await api.POST('/admin/v1/accounts/{id}/api-keys', { params, body: { name: 'a', scopes: ['*'] } });
  const keys = await api.GET('/admin/v1/accounts/{id}/api-keys', { params: { ...params, query: { limit: 1 } } });
  const wrong = await api.POST('/admin/v1/accounts', { body: { name: '', plan: 'starter' } });
  return {
    zone: account.data?.time_zone,
    environment: key.data?.environment,
    keys: keys.data?.data.length,
    wrong: wrong.error?.errors?.[0]?.pointer,
  };
}

/** What each of the generated clients does. */
async function scenario(): Promise<object> {
  const open = (key: string) => createClient<paths>({ baseUrl: API_URL, headers: { Authorization: `Bearer ${key}` } });
  const api = open(SCENARIO_KEY);
  const create = (email: string, birth_date: string) =>
    api.POST('/customers', { body: { first_name: 'Anna', last_name: 'Huber', email, birth_date } });
  let created = 0;
  for (const at of [0, 1, 2]) if ((await create(`fetch-${at}@example.com`, '1990-04-23')).data !== undefined) created++;
  const conflict = await create('fetch-0@example.com', '1990-04-23');
  const invalid = await create('fetch-9@example.com', '2999-01-01');
  let walked = 0;
  for (let cursor: string | undefined, more = true; more;) {
    const query = { limit: 2, ...(cursor === undefined ? {} : { cursor }) };
    const { data } = await api.GET('/customers', { params: { query } });
    walked += data?.data.length ?? 0;
    more = data?.has_more ?? false;
    cursor = data?.next_cursor ?? undefined;
  }
  const few = open(LIMITED_KEY);
  await few.GET('/customers');
  const limited = await few.GET('/customers');
  return {
    created,
    walked,
    conflict: conflict.error?.code,
    reason: conflict.error?.reason,
    invalid: invalid.error?.code,
    pointer: invalid.error?.errors?.[0]?.pointer,
    limited: limited.error?.code,
  };
}

console.log(JSON.stringify({ customers: await customers(), admin: await admin(), scenario: await scenario() }));
