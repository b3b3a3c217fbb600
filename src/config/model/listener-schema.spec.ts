/** Mistakes in the settings of the public listener are reported. */
import { expect, it } from '@jest/globals';
import { configOf, MINIMAL, OPENAPI, problemsOf } from '../../../test/support/config-files.js';

const files = (cors: string) => ({
  'gateway.yaml': `gateway: { cors: ${cors} }\n${MINIMAL}`,
  'customers.yaml': OPENAPI,
});

it.each([
  ['{ origins: ["*"] }'],
  ['{ origins: [https://app.example.com, "http://localhost:3000"] }'],
  [
    '{ origins: [https://app.example.com], allowCredentials: true, maxAge: 1d, exposedHeaders: [], ' +
      'allowedHeaders: [X-A] }',
  ],
])('accepts cors: %s', async (cors) => {
  await expect(configOf(files(cors))).resolves.toBeDefined();
});

it.each([
  ['{ origins: [] }', 'gateway.cors.origins'],
  ['{}', 'gateway.cors'],
  ['{ origins: [https://app.example.com/] }', 'gateway.cors.origins[0]'],
  ['{ origins: [https://app.example.com:443] }', 'gateway.cors.origins[0]'],
  ['{ origins: [https://App.example.com] }', 'gateway.cors.origins[0]'],
  ['{ origins: [app.example.com] }', 'gateway.cors.origins[0]'],
  ['{ origins: ["null"] }', 'gateway.cors.origins[0]'],
  ['{ origins: ["https://*.example.com/x"] }', 'gateway.cors.origins[0]'],
  ['{ origins: ["*"], allowCredentials: true }', 'gateway.cors.allowCredentials'],
  ['{ origins: ["*"], exposedHeaders: ["a b"] }', 'gateway.cors.exposedHeaders[0]'],
])('rejects cors: %s at %s', async (cors, path) => {
  expect((await problemsOf(files(cors))).map((problem) => problem.path)).toEqual([path]);
});
