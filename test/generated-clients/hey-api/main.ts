/** What an integrator writes with the SDK that @hey-api/openapi-ts generates: a function for each operation. */
import { createClient as createAdminClient } from '../generated/hey-api/admin/client/index.js';
import * as adminApi from '../generated/hey-api/admin/sdk.gen.js';
import { createClient } from '../generated/hey-api/public/client/index.js';
import * as api from '../generated/hey-api/public/sdk.gen.js';
import type { CustomerCreate } from '../generated/hey-api/public/types.gen.js';

const { API_URL = '', API_KEY = '', ADMIN_URL = '', ADMIN_TOKEN = '' } = process.env;
const { SCENARIO_KEY = '', LIMITED_KEY = '' } = process.env;
const TRANSLATED: Partial<Record<string, string>> = { conflict: 'use another' };

async function customers(): Promise<object> {
  const client = createClient({ baseUrl: API_URL, auth: API_KEY });
  const body: CustomerCreate = { first_name: 'Anna', last_name: 'Huber', email: 'hey-api@example.com' };
  const created = await api.createCustomer({ client, body });
  const again = await api.createCustomer({ client, body });
  const path = { id: created.data?.id ?? '' };
  const listed = await api.listCustomers({ client, query: { limit: 1 } });
  const updated = await api.updateCustomer({ client, path, body: { status: 'active' } });
  const deleted = await api.deleteCustomer({ client, path });
  const missing = await api.getCustomer({ client, path });
  const usage = await api.getUsage({ client, query: { group_by: 'outcome', limit: 5 } });
  return {
    created: created.data?.status,
    conflict: again.error?.code,
    reason: again.error?.reason,
    listed: listed.data?.data.length,
    updated: updated.data?.status,
    deleted: deleted.response?.status,
    missing: missing.error?.code,
    advice: TRANSLATED[again.error?.code ?? ''],
    plan: usage.data?.plan,
  };
}

async function admin(): Promise<object> {
  const client = createAdminClient({ baseUrl: ADMIN_URL, auth: ADMIN_TOKEN });
  const account = await adminApi.createAccount({ client, body: { name: 'hey-api', plan: 'starter' } });
  const path = { id: account.data?.id ?? '' };
  const key = await adminApi.createApiKey({ client, path, body: { name: 'a', scopes: ['*'] } });
  const keys = await adminApi.listApiKeys({ client, path, query: { limit: 1 } });
  const wrong = await adminApi.createAccount({ client, body: { name: '', plan: 'starter' } });
  return {
    zone: account.data?.time_zone,
    environment: key.data?.environment,
    keys: keys.data?.data.length,
    wrong: wrong.error?.errors?.[0]?.pointer,
  };
}

/** What each of the generated clients does. */
async function scenario(): Promise<object> {
  const client = createClient({ baseUrl: API_URL, auth: SCENARIO_KEY });
  const create = (email: string, birth_date: string) =>
    api.createCustomer({ client, body: { first_name: 'Anna', last_name: 'Huber', email, birth_date } });
  let created = 0;
  for (const at of [0, 1, 2]) if ((await create(`hey-${at}@example.com`, '1990-04-23')).data !== undefined) created++;
  const conflict = await create('hey-0@example.com', '1990-04-23');
  const invalid = await create('hey-9@example.com', '2999-01-01');
  let walked = 0;
  for (let cursor: string | undefined, more = true; more;) {
    const { data } = await api.listCustomers({
      client,
      query: { limit: 2, ...(cursor === undefined ? {} : { cursor }) },
    });
    walked += data?.data.length ?? 0;
    more = data?.has_more ?? false;
    cursor = data?.next_cursor ?? undefined;
  }
  const few = createClient({ baseUrl: API_URL, auth: LIMITED_KEY });
  await api.listCustomers({ client: few });
  const limited = await api.listCustomers({ client: few });
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
