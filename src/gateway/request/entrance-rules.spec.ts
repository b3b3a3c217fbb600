import { describe, expect, it } from '@jest/globals';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ExposingRequest } from '../../accounts/exposed-keys.js';
import { createSecret } from '../../keys/api-key-format.js';
import type { Logger } from '../../platform/log.js';
import { EntranceRules } from './entrance-rules.js';
import type { Exchange } from './exchange.js';

const FILE = {
  gateway: { trustedProxies: [], hosts: [] },
  api: { publicUrl: 'https://api.example.com' },
  mcp: { allowedHosts: ['tools.example.com'], oauth: { publicUrl: 'https://mcp.example.com' } },
} as unknown as ConstructorParameters<typeof EntranceRules>[0];

function exchangeOf(host: string, remoteAddress?: string): Exchange {
  return { scheme: 'https', message: { headers: { host }, socket: { remoteAddress } } } as unknown as Exchange;
}

it.each([
  ['api.example.com', undefined],
  ['tools.example.com', undefined],
  // Assistants reach `/mcp` under the name of the authorization server.
  ['mcp.example.com', undefined],
  ['mcp.example.com:8443', undefined],
  ['other.example.com', 'misdirected_request'],
])('refusal of host %s: %s', (host, code) => {
  expect(new EntranceRules(FILE).refusalOf(exchangeOf(host))?.code).toBe(code);
});

it('logs the first refused host, shortened, and the accepted ones', () => {
  const lines: unknown[] = [];
  const log = { warn: (fields: unknown) => void lines.push(fields) } as unknown as Logger;
  const rules = new EntranceRules(FILE, undefined, log);
  rules.refusalOf(exchangeOf('api.example.com'));
  expect(lines).toEqual([]);
  for (const host of ['a'.repeat(5_000), '192.0.2.7', 'other.example.com']) rules.refusalOf(exchangeOf(host));
  const accepted = ['api.example.com', 'mcp.example.com', 'tools.example.com'];
  expect(lines).toEqual([{ event: 'host_refused', host: 'a'.repeat(100), accepted, times: 1 }]);
});

describe.each(['localhost', 'api.localhost:8080', '127.0.0.1:8080', '127.9.9.9', '[::1]'])('the host %s', (host) => {
  it.each([
    ['127.0.0.1', undefined],
    ['::ffff:127.0.0.1', undefined],
    ['::1', undefined],
    ['192.0.2.7', 'misdirected_request'],
    ['2001:db8::1', 'misdirected_request'],
    [undefined, 'misdirected_request'],
  ])('is accepted only from loopback peers: %s gets %s', (remoteAddress, code) => {
    const rules = new EntranceRules(FILE);
    // An accepted loopback request must not let other peers in.
    expect(rules.refusalOf(exchangeOf(host, '127.0.0.1'))).toBeUndefined();
    expect(rules.refusalOf(exchangeOf(host, remoteAddress))?.code).toBe(code);
  });
});

it('reports a key sent over plain HTTP after the response, with the original request data', async () => {
  const secret = createSecret('live');
  const exposed: ExposingRequest[] = [];
  const file = { ...FILE, gateway: { ...FILE.gateway, requireTls: true, revokeExposedKeys: true } };
  const rules = new EntranceRules(file, (request) => exposed.push(request));
  const exchange = {
    ...exchangeOf('api.example.com'),
    scheme: 'http',
    authorization: `Bearer ${secret}` as string | undefined,
    rawHeaders: [],
    url: '/api/v1/open',
    clientAddress: '192.0.2.7',
    requestId: 'req_1',
    isFromUnknownProxy: false,
  };
  expect(rules.refusalOf(exchange as unknown as Exchange)?.code).toBe('tls_required');
  expect(exposed).toEqual([]);
  // The connection reuses the exchange for its next request.
  Object.assign(exchange, { authorization: undefined, clientAddress: '', requestId: '' });
  await nextTurn();
  expect(exposed).toEqual([{ secret, clientAddress: '192.0.2.7', requestId: 'req_1', isFromUnknownProxy: false }]);
});
