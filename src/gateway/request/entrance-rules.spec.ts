import { expect, it } from '@jest/globals';
import { EntranceRules } from './entrance-rules.js';
import type { Exchange } from './exchange.js';

const FILE = {
  gateway: { trustedProxies: [], hosts: [] },
  api: { publicUrl: 'https://api.example.com' },
  mcp: { allowedHosts: ['tools.example.com'], oauth: { publicUrl: 'https://mcp.example.com' } },
} as unknown as ConstructorParameters<typeof EntranceRules>[0];

it.each([
  ['api.example.com', undefined],
  ['tools.example.com', undefined],
  // Assistants reach `/mcp` under the name of the authorization server.
  ['mcp.example.com', undefined],
  ['mcp.example.com:8443', undefined],
  ['other.example.com', 'misdirected_request'],
])('judges the host %s: %s', (host, code) => {
  const exchange = { scheme: 'https', message: { headers: { host }, socket: {} } } as unknown as Exchange;
  expect(new EntranceRules(FILE).refusalOf(exchange)?.code).toBe(code);
});
