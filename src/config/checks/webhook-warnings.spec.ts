/** Settings of `webhooks` that `check` warns about. */
import { expect, it } from '@jest/globals';
import { configOf, MINIMAL, OPENAPI, problemsOf, warningsOf } from '../../../test/support/config-files.js';

const files = (webhooks: string, host = '0.0.0.0') => ({
  'gateway.yaml': `gateway: { host: ${host} }\nwebhooks: ${webhooks}\n${MINIMAL}`,
  'customers.yaml': OPENAPI,
});

it.each([
  ['{ allowPrivateNetworks: [0.0.0.0/0] }', 'webhooks.allowPrivateNetworks[0]', 'most of the internet'],
  ['{ allowPrivateNetworks: [128.0.0.0/1] }', 'webhooks.allowPrivateNetworks[0]', 'most of the internet'],
  ['{ allowPrivateNetworks: ["::/0"] }', 'webhooks.allowPrivateNetworks[0]', 'most of the internet'],
  ['{ allowPrivateNetworks: [shop.example.com] }', 'webhooks.allowPrivateNetworks[0]', 'must be an address'],
  ['{ denyNetworks: [shop.example.com] }', 'webhooks.denyNetworks[0]', 'must be an address'],
  ['{ timeout: 31s }', 'webhooks.timeout', 'must be from 1s to 30s'],
  ['{ timeout: 999ms }', 'webhooks.timeout', 'must be from 1s to 30s'],
  ['{ allowPorts: [] }', 'webhooks.allowPorts', ''],
  ['{ allowPorts: [0] }', 'webhooks.allowPorts[0]', ''],
  ['{ maxEndpoints: 1001 }', 'webhooks.maxEndpoints', ''],
])('rejects webhooks: %s at %s: %s', async (webhooks, path, words) => {
  const problems = await problemsOf(files(webhooks));
  expect(problems.map((problem) => problem.path)).toEqual([path]);
  expect(problems[0]?.message).toContain(words);
});

it('warns about allowHttp and private networks if other machines can reach the gateway', async () => {
  const open = '{ allowHttp: true, allowPrivateNetworks: [10.0.0.0/8, "fd00::/8"] }';
  const found = await warningsOf(files(open));
  expect(found.map(({ path }) => path)).toEqual(['webhooks.allowHttp', 'webhooks.allowPrivateNetworks']);
  for (const webhooks of [files('{ allowPorts: [443, 8443] }'), files(open, '127.0.0.1')]) {
    await expect(warningsOf(webhooks)).resolves.toEqual([]);
  }
  expect((await configOf(files('{}'))).file.webhooks).toEqual({
    allowHttp: false,
    allowPrivateNetworks: [],
    denyNetworks: [],
    timeout: 15_000,
    maxEndpoints: 50,
  });
});
