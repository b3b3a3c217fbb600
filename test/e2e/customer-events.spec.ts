/** Changes of a customer reach the webhook receiver of their account, and no other, even after an outage. */
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { AdminClient } from '../support/admin.js';
import { startCustomers, type RunningCustomers } from '../support/customers.js';
import { CustomersClient } from '../support/customers-client.js';
import { startDemo, type RunningDemo } from '../support/demo.js';
import { quietMsSince } from '../support/machine-time.js';
import { eventually, sleep, temporaryFolder } from '../support/processes.js';
import type { MadeEndpoint } from '../support/webhook-endpoints.js';
import { startReceiver, type Received, type Receiver } from '../support/webhook-receiver.js';

const MAX_MS = 250;
const CUSTOMERS = 10;

interface EventBody {
  readonly type: string;
  readonly account_id: string;
  readonly data: { readonly id: string; readonly email: string };
}

let demo: RunningDemo;
let admin: AdminClient;
let own: Receiver;
let foreign: Receiver;
let accountId: string;
let configPath: string;

/** Writes the reference configuration to a folder, and allows webhook receivers on this machine. Returns its path. */
function configOf(folder: string): string {
  copyFileSync('customers.openapi.yaml', join(folder, 'customers.openapi.yaml'));
  const config = parse(readFileSync('gateway.yaml', 'utf8')) as { plans: object };
  const webhooks = { allowHttp: true, allowPrivateNetworks: ['127.0.0.1/32'] };
  const plans = { ...config.plans, starter: {} };
  writeFileSync(join(folder, 'gateway.yaml'), stringify({ ...config, plans, webhooks }));
  return join(folder, 'gateway.yaml');
}

beforeAll(async () => {
  [own, foreign] = await Promise.all([startReceiver(), startReceiver()]);
  configPath = configOf(temporaryFolder('config'));
  demo = await startDemo(temporaryFolder('demo'), ['--config', configPath]);
  admin = new AdminClient(demo.adminUrl, readFileSync(join(demo.dataDir, 'admin-token'), 'utf8').trim());
  const { data } = await admin.call<{ data: { id: string }[] }>('GET', '/accounts');
  accountId = data[0]?.id ?? '';
  const other = await admin.createAccount({ name: 'Kayaks', plan: 'pro' });
  await admin.call<MadeEndpoint>('POST', `/accounts/${accountId}/webhook-endpoints`, {
    url: `${own.url}/hook`,
    // Starting the demo creates a key, which is an event, too.
    event_types: ['customer.*'],
  });
  await admin.call<MadeEndpoint>('POST', `/accounts/${other.id}/webhook-endpoints`, { url: `${foreign.url}/hook` });
});
afterAll(async () => {
  await demo.stop();
  own.stop();
  foreign.stop();
});

/** Calls the public API with the key of the demo. */
async function call<Body>(method: string, path: string, body?: object): Promise<Body> {
  const response = await fetch(`${demo.gatewayUrl}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${demo.key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return (text === '' ? undefined : JSON.parse(text)) as Body;
}

const customer = (name: string) => ({ first_name: 'Anna', last_name: 'Huber', email: `${name}@example.com` });
const eventOf = ({ body }: Received) => JSON.parse(body) as EventBody;

it('a customer created through the public API reaches the receiver within 250 ms', async () => {
  const tookMs: number[] = [];
  for (let count = 0; count < CUSTOMERS; count++) {
    const atMs = performance.now();
    const made = await call<{ id: string; email: string }>('POST', '/customers', customer(`quick-${count}`));
    await eventually('the event arrives', () => own.received.length > count);
    const arrived = own.received[count]!;
    tookMs.push(Math.min(quietMsSince(atMs), arrived.atMs - atMs));
    expect(eventOf(arrived)).toMatchObject({ type: 'customer.created', account_id: accountId, data: made });
    // Pauses until the backend is idle and no longer polls.
    if (count === 4) await sleep(1_500);
  }
  expect(Math.max(...tookMs)).toBeLessThan(MAX_MS);
});

it('changes and deletions become events in order, and another account receives none', async () => {
  const before = own.received.length;
  const { id } = await call<{ id: string }>('POST', '/customers', customer('whole-life'));
  await call('PATCH', `/customers/${id}`, { last_name: 'Moser' });
  await call('PATCH', `/customers/${id}`, {});
  await call('DELETE', `/customers/${id}`);
  await eventually('all events arrive', () => own.received.length >= before + 3);
  const events = own.received.slice(before).map(eventOf);
  // Deliveries without `ordered` can overtake each other. The list of events is in order.
  expect(events.map(({ type }) => type).toSorted()).toEqual([
    'customer.created',
    'customer.deleted',
    'customer.updated',
  ]);
  const { data } = await admin.call<{ data: { type: string; resource: string }[] }>(
    'GET',
    `/accounts/${accountId}/events?limit=3`,
  );
  expect(data.map(({ type }) => type)).toEqual(['customer.deleted', 'customer.updated', 'customer.created']);
  expect(foreign.received).toEqual([]);
});

it('changes during a gateway outage and a backend kill are delivered afterward, each once', async () => {
  const before = own.received.length;
  const token = 'a-token-that-is-handed-in-by-nobody-else';
  const port = Number(new URL(demo.adminUrl).port);
  await demo.stop();
  const env = {
    CUSTOMERS_DATA_DIR: join(demo.dataDir, 'customers'),
    CUSTOMERS_EVENTS_URL: `http://127.0.0.1:${port}/internal/v1/events`,
    CUSTOMERS_EVENTS_TOKEN: token,
  };
  let backend: RunningCustomers = await startCustomers(env);
  const client = new CustomersClient(backend.url, accountId);
  for (let count = 0; count < CUSTOMERS; count++) await client.create(`away-${count}@example.com`);
  // An event for an unknown account must not block others.
  await new CustomersClient(backend.url, 'acc_unknown').create('nobody@example.com');
  await client.create('behind@example.com');
  await backend.kill9();
  backend = await startCustomers(env);
  await eventually('the backend logs that the gateway did not accept events', () =>
    backend.stderr.join('\n').includes('did not accept events'),
  );
  await backend.stop();

  demo = await startDemo(demo.dataDir, ['--config', configPath]);
  await eventually('all events arrive', () => own.received.length >= before + CUSTOMERS + 1, 60_000);
  const emails = own.received.slice(before).map((one) => eventOf(one).data.email);
  expect(emails.toSorted()).toEqual(
    [...Array.from({ length: CUSTOMERS }, (_, count) => `away-${count}@example.com`), 'behind@example.com'].toSorted(),
  );
  expect(demo.output()).toContain('is not sent again');
  expect(foreign.received).toEqual([]);
});
