/** `check` warns about the hosts that the gateway refuses if no setting lists its hosts. */
import { expect, it } from '@jest/globals';
import { MINIMAL, OPENAPI, warningsOf } from '../../../test/support/config-files.js';

const warnings = (settings: string) =>
  warningsOf({ 'gateway.yaml': `${settings}\n${MINIMAL}`, 'customers.yaml': OPENAPI });

it('warns if only api.publicUrl decides which hosts are served, and names them', async () => {
  const found = await warnings(
    'api: { publicUrl: https://API.example.com:8443 }\nmcp: { allowedHosts: [tools.internal] }',
  );
  expect(found).toMatchObject([
    {
      path: 'api.publicUrl',
      message:
        'lets the gateway serve requests for api.example.com, tools.internal only: any other host gets 421, ' +
        'an IP address too',
    },
  ]);
});

it.each([
  'api: { title: Customers }',
  'api: { publicUrl: http://localhost:8080 }',
  'api: { publicUrl: "http://[::1]:8080" }',
  'api: { publicUrl: https://api.example.com }\ngateway: { hosts: [api.example.com] }',
  'gateway: { hosts: [api.example.com] }',
])('does not warn with %s', async (settings) => {
  expect(await warnings(settings)).toEqual([]);
});
