/**
 * No webhook endpoint reaches this machine (SSRF). The API checks each of 400 listed destinations on creation and
 * update. Each delivery attempt checks the addresses that a name resolves to.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { nameResolver } from '../../src/http/outbound/name-resolver.js';
import { startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { testDatabase } from '../support/database.js';
import { startDnsServer, type DnsReply, type DnsServer } from '../support/dns-server.js';
import type { MadeEndpoint } from '../support/webhook-endpoints.js';

const LISTED = readFileSync('test/fixtures/destinations.txt', 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)] as const);

let database: DatabaseHandle;
let running: RunningAdmin;
let accountId: string;
let listeners: readonly Server[];
let dns: DnsServer;
let reply: (name: string, type: 'A' | 'AAAA') => DnsReply;
let connections = 0;

beforeAll(async () => {
  database = await testDatabase('sqlite');
  dns = await startDnsServer((name, type) => reply(name, type));
  const count = (): Server =>
    createServer((socket) => {
      connections++;
      socket.destroy();
    });
  listeners = [count(), count()];
  listeners[0]!.listen(0, '127.0.0.1');
  await once(listeners[0]!, 'listening');
  listeners[1]!.listen(port(), '::1');
  await once(listeners[1]!, 'listening');
});
afterAll(async () => {
  for (const listener of listeners) listener.close();
  await dns.close();
  await database.close();
});
beforeEach(() => {
  connections = 0;
});

const port = (): number => (listeners[0]!.address() as AddressInfo).port;

async function start(webhooks: object): Promise<void> {
  const resolve = nameResolver({ servers: [dns.address], timeoutMs: 300 });
  running = await startAdmin(database, { webhooks: { maxEndpoints: 1_000, ...webhooks }, resolve });
  accountId = (await running.admin.createAccount({ plan: 'starter' })).id;
}

const path = () => `/accounts/${accountId}/webhook-endpoints`;

/** Returns the error code for a URL, or `ok`. */
async function resultFor(method: 'POST' | 'PATCH', to: string, url: string): Promise<string> {
  // The limits are per minute.
  running.clock.advance(100);
  const answer = await running.admin.request(method, to, { url });
  if (answer.status < 300) return 'ok';
  const [error] = answer.json<{ errors: { pointer: string; code?: string; detail: string }[] }>().errors;
  expect([url, answer.status, error?.pointer]).toEqual([url, 422, '#/url']);
  // A too long or empty URL gets the usual error for text.
  return error?.code ?? (url === '' ? 'not_a_url' : 'too_long');
}

it('the API accepts or rejects each listed destination as expected, on creation and update', async () => {
  await start({});
  try {
    const { id } = await running.admin.call<MadeEndpoint>('POST', path(), { url: 'https://shop.trailgate.dev/' });
    const wrong: string[] = [];
    for (const [expected, url] of LISTED) {
      const added = await resultFor('POST', path(), url);
      const moved = await resultFor('PATCH', `/webhook-endpoints/${id}`, url);
      if (added !== expected || moved !== expected)
        wrong.push(`${url.slice(0, 80)}: ${added}, ${moved}, not ${expected}`);
    }
    expect(wrong).toEqual([]);
    expect(connections).toBe(0);
  } finally {
    await running.close();
  }
});

it.each<[string, DnsReply, DnsReply]>([
  ['leads to this machine', ['127.0.0.1'], []],
  ['leads to this machine by IPv6', [], ['::1']],
  ['leads to IPv4 that is written as IPv6', [], ['::ffff:127.0.0.1']],
  ['leads to a private network', ['10.0.0.1'], ['fd00::1']],
  ['leads to the metadata of a cloud', ['169.254.169.254'], []],
  ['leads to that of another cloud, which looks public', ['168.63.129.16'], []],
  ['leads to the unspecified address', ['0.0.0.0'], ['::']],
  ['leads to this machine behind an address that is public', ['127.0.0.1', '127.0.0.2'], ['64:ff9b::7f00:1']],
])('a name that %s is not connected to, and the attempt reports a refused address', async (_what, a, aaaa) => {
  await start({ allowHttp: true });
  try {
    reply = (_name, type) => (type === 'A' ? a : aaaa);
    const { id } = await running.admin.call<MadeEndpoint>('POST', path(), {
      url: `http://shop.trailgate.dev:${port()}/`,
    });
    const tested = await running.admin.call<{ status: string; attempt_log: { error: string; address: null }[] }>(
      'POST',
      `/webhook-endpoints/${id}/test`,
      {},
    );
    expect(tested.status).toBe('failed');
    expect(tested.attempt_log).toMatchObject([{ address: null, status_code: null }]);
    expect(tested.attempt_log[0]?.error).toMatch(/^address_refused \(\w+\)$/);
    // The internal address must not appear in the response.
    expect(JSON.stringify(tested)).not.toMatch(/127\.0\.0|10\.0\.0\.1|169\.254|168\.63/);
    expect(connections).toBe(0);
  } finally {
    await running.close();
  }
});

it('a name is checked again at each attempt (DNS rebinding)', async () => {
  await start({ allowHttp: true });
  try {
    let isInside = false;
    // 192.0.2.1 is refused, too, as a documentation address, so that nothing leaves this machine.
    reply = (_name, type) => (type === 'AAAA' ? [] : isInside ? ['127.0.0.1'] : ['192.0.2.1']);
    const { id } = await running.admin.call<MadeEndpoint>('POST', path(), {
      url: `http://shop.trailgate.dev:${port()}/`,
    });
    const errors: string[] = [];
    for (isInside of [false, true]) {
      const tested = await running.admin.call<{ attempt_log: { error: string }[] }>(
        'POST',
        `/webhook-endpoints/${id}/test`,
        {},
      );
      errors.push(tested.attempt_log[0]?.error ?? '');
    }
    expect(errors).toEqual(['address_refused (documentation)', 'address_refused (loopback)']);
    expect(connections).toBe(0);
  } finally {
    await running.close();
  }
});

it('a stricter network rule applies to existing endpoints at the next attempt', async () => {
  await start({ allowHttp: true, allowPrivateNetworks: ['127.0.0.0/8'] });
  const { id } = await running.admin.call<MadeEndpoint>('POST', path(), { url: `http://127.0.0.1:${port()}/` });
  await running.admin.call('POST', `/webhook-endpoints/${id}/test`, {});
  expect(connections).toBe(1);
  await running.close();
  running = await startAdmin(database, { webhooks: { allowHttp: true } });
  try {
    const tested = await running.admin.call<{ attempt_log: object[] }>('POST', `/webhook-endpoints/${id}/test`, {});
    expect(tested.attempt_log).toMatchObject([{ error: 'address_refused (loopback)' }]);
    expect(connections).toBe(1);
  } finally {
    await running.close();
  }
});

it('a denied network applies to existing and new endpoints, within allowed networks', async () => {
  await start({ allowHttp: true, allowPrivateNetworks: ['127.0.0.0/8'] });
  const { id } = await running.admin.call<MadeEndpoint>('POST', path(), { url: `http://127.0.0.1:${port()}/` });
  await running.close();
  const denyNetworks = ['127.0.0.1'];
  const webhooks = { allowHttp: true, allowPrivateNetworks: ['127.0.0.0/8'], denyNetworks };
  running = await startAdmin(database, { webhooks });
  try {
    const tested = await running.admin.call<{ attempt_log: object[] }>('POST', `/webhook-endpoints/${id}/test`, {});
    expect(tested.attempt_log).toMatchObject([{ error: 'address_refused (denied)' }]);
    await expect(resultFor('POST', path(), `http://127.0.0.1:${port()}/again`)).resolves.toBe('denied');
    expect(connections).toBe(0);
  } finally {
    await running.close();
  }
});
