/** Waiting deliveries are sent at once after a receiver or its endpoint was repaired. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startBackend, type Backend } from '../support/backend.js';
import { EMITTING, responseWithLength, type Say } from '../support/emitting.js';
import { send } from '../support/http.js';
import { eventually } from '../support/processes.js';
import { acquireTrailgate, type SharedTrailgate } from '../support/shared-program.js';
import { startReceiver, type Receiver } from '../support/webhook-receiver.js';

interface Endpoint {
  readonly id: string;
}
interface DeliveryBody {
  readonly id: string;
  readonly status: string;
  readonly attempts: number;
}

let backend: Backend;
let receiver: Receiver;
let trailgate: SharedTrailgate;
let says: Say = responseWithLength('{}');
beforeAll(async () => {
  [backend, receiver] = await Promise.all([startBackend((_request, response) => says(response)), startReceiver()]);
  trailgate = await acquireTrailgate({ backend: backend.url, config: EMITTING });
});
afterAll(async () => {
  await trailgate?.stop();
  await backend?.stop();
  receiver?.stop();
});

const call = <T>(method: string, path: string, body?: object): Promise<T> =>
  trailgate.admin.call<T>(method, path, body);

it.each<[string, boolean, (endpoint: string) => Promise<unknown>]>([
  [
    'an endpoint that is enabled again',
    false,
    async (path) => {
      await call('PATCH', path, { status: 'paused' });
      await call('PATCH', path, { status: 'enabled', deliver: 'all' });
    },
  ],
  ['an endpoint with another URL', false, (path) => call('PATCH', path, { url: `${receiver.url}/moved` })],
  ['an endpoint with another secret', false, (path) => call('POST', `${path}/rotate-secret`, {})],
  [
    'an endpoint whose failed deliveries are replayed',
    false,
    (path) => call('POST', `${path}/replay`, { status: 'failed' }),
  ],
  ['an ordered endpoint that is replayed', true, (path) => call('POST', `${path}/replay`, { status: 'failed' })],
])('%s gets its waiting deliveries at once, instead of after an hour', async (_what, ordered, repair) => {
  const { account, key } = await trailgate.admin.newKey('pro');
  const endpoint = await call<Endpoint>('POST', `/accounts/${account.id}/webhook-endpoints`, {
    url: `${receiver.url}/hook`,
    event_types: ['customer.*'],
    retry_schedule: [3_600, 3_600],
    ordered,
  });
  const path = `/webhook-endpoints/${endpoint.id}`;
  const deliveries = async () => (await call<{ data: DeliveryBody[] }>('GET', `${path}/deliveries`)).data;
  receiver.respond((response) => void response.writeHead(500).end());
  receiver.received.length = 0;
  for (const [id, name] of ['a', 'b'].entries()) {
    says = responseWithLength(`{"id":"cus_1","name":"${name}","n":${id}}`);
    const headers = { authorization: `Bearer ${key.secret}` };
    expect((await send(`${trailgate.gatewayUrl}/api/v1/customers`, { method: 'POST', headers })).status).toBe(201);
  }
  await eventually(
    'the first attempts have failed',
    async () => (await deliveries()).filter(({ attempts }) => attempts === 1).length === (ordered ? 1 : 2),
  );
  receiver.respond((response) => void response.writeHead(204).end());
  receiver.received.length = 0;
  await repair(path);
  await eventually('all deliveries have succeeded', async () =>
    (await deliveries()).every(({ status }) => status === 'succeeded'),
  );
  const names = receiver.received.map(({ body }) => (JSON.parse(body) as { data: { name: string } }).data.name);
  expect(ordered ? names : names.toSorted()).toEqual(['a', 'b']);
});
