/** Every setting that lists networks takes the same entries; the settings are found in the schema. */
import { describe, expect, it } from '@jest/globals';
import { MINIMAL, OPENAPI, problemsOf } from '../../../test/support/config-files.js';
import { gatewayJsonSchema, type JsonSchemaNode } from './json-schema.js';

/** Other settings that a setting requires. */
const AROUND: Readonly<Record<string, object>> = {
  'mcp.oauth.trustedNetworks': { mcp: { oauth: { publicUrl: 'https://mcp.example.com' } } },
};

const LISTS = networkLists(gatewayJsonSchema(), []);

it('finds all settings that list networks in the schema', () => {
  expect(LISTS.map((path) => path.join('.')).sort()).toEqual([
    'admin.healthNetworks',
    'admin.operatorNetworks',
    'admin.trustedProxies',
    'gateway.proxyProtocol',
    'gateway.trustedProxies',
    'mcp.oauth.trustedNetworks',
    'webhooks.allowPrivateNetworks',
    'webhooks.denyNetworks',
  ]);
});

describe.each(LISTS.map((path) => path.join('.')))('%s', (path) => {
  const REFUSED = [
    ['10.0.0.1/8', 'has host bits set', 'write 10.0.0.0/8'],
    ['2001:db8::1/32', 'has host bits set', 'write 2001:db8::/32'],
    ['::ffff:203.0.113.0/24', 'is an IPv4-mapped block with a prefix below 96', 'write 203.0.113.0/24'],
    ['::ffff:0:0/80', 'is an IPv4-mapped block with a prefix below 96', 'write the block as IPv4'],
    ['010.0.0.0/8', 'must be an address or a block such as 10.0.0.0/8', ''],
    ['localhost', 'must be an address or a block such as 10.0.0.0/8', ''],
  ] as const;
  it('rejects an entry that is not a network, and says what to write', async () => {
    const problems = await problemsWith(path, ...REFUSED.map(([entry]) => entry));
    for (const [index, [entry, message, hint]] of REFUSED.entries()) {
      const problem = problems.find((each) => each.path === `${path}[${index}]`);
      expect([entry, problem?.message, problem?.hint]).toEqual([
        entry,
        expect.stringContaining(message),
        expect.stringContaining(hint),
      ]);
    }
  });

  it('accepts addresses and blocks of both families', async () => {
    const entries = ['192.0.2.1', '192.0.2.0/24', '2001:db8::1', '2001:db8::/32', '::ffff:192.0.2.0/120'];
    const problems = await problemsWith(path, ...entries);
    expect(problems.filter((each) => each.path.startsWith(path))).toEqual([]);
  });
});

it.each(['gateway.trustedProxies', 'gateway.proxyProtocol', 'admin.trustedProxies'])(
  '%s may not trust every address',
  async (path) => {
    for (const entry of ['0.0.0.0/0', '::/0', '::ffff:0:0/96']) {
      const [problem] = await problemsWith(path, entry);
      expect(problem?.message).toContain('is every address: any client could then name its own');
    }
  },
);

it('webhooks.allowPrivateNetworks rejects the IPv4-mapped form of 0.0.0.0/0', async () => {
  const [problem] = await problemsWith('webhooks.allowPrivateNetworks', '::ffff:0:0/96');
  expect(problem?.message).toContain('is most of the internet');
});

function networkLists(node: JsonSchemaNode, path: readonly string[]): (readonly string[])[] {
  const kinds = node.items?.anyOf ?? [];
  const own = kinds.some(({ format }) => format === 'cidrv4') ? [path] : [];
  const below = [node, ...(node.anyOf ?? [])].flatMap(({ properties = {} }) => Object.entries(properties));
  return [...own, ...below.flatMap(([name, child]) => networkLists(child, [...path, name]))];
}

function problemsWith(path: string, ...entries: string[]) {
  const [top = '', ...rest] = path.split('.');
  const around = (AROUND[path] ?? {}) as Record<string, unknown>;
  const value = rest.reduceRight<unknown>((inner, name) => ({ [name]: inner }), entries);
  const merged = merge(around[top], value);
  return problemsOf({
    'gateway.yaml': `${top}: ${JSON.stringify(merged)}\n${MINIMAL}`,
    'customers.yaml': OPENAPI,
  });
}

function merge(one: unknown, other: unknown): unknown {
  if (!isMap(one) || !isMap(other)) return other;
  const merged: Record<string, unknown> = { ...one };
  for (const [name, value] of Object.entries(other)) merged[name] = merge(merged[name], value);
  return merged;
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
