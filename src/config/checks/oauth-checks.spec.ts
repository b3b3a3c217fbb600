/** Settings of the authorization server. */
import { expect, it } from '@jest/globals';
import { configOf, MINIMAL, OPENAPI, problemsOf } from '../../../test/support/config-files.js';

const files = (oauth: string, more = '') => ({
  'gateway.yaml': `mcp: { oauth: ${oauth} }\n${more}${MINIMAL}`,
  'customers.yaml': OPENAPI,
});

it.each([
  ['{ publicUrl: "http://mcp.example.com" }', '', 'mcp.oauth.publicUrl', 'must be https'],
  ['{ publicUrl: "https://mcp.example.com/" }', '', 'mcp.oauth.publicUrl', 'without a slash behind it'],
  ['{ publicUrl: "*" }', '', 'mcp.oauth.publicUrl', 'must be an origin'],
  ['{}', '', 'mcp.oauth', 'publicUrl'],
  [
    '{ publicUrl: "https://api.example.com" }',
    'api: { publicUrl: "https://api.example.com/" }\n',
    'mcp.oauth.publicUrl',
    'is the origin of api.publicUrl',
  ],
  ['{ publicUrl: "https://mcp.example.com", port: 8081 }', '', 'mcp.oauth.port', 'mcp.oauth and admin both listen'],
  ['{ publicUrl: "https://mcp.example.com", tokenLifetime: 25h }', '', 'mcp.oauth.tokenLifetime', 'from 1m to 24h'],
  ['{ publicUrl: "https://mcp.example.com", trustedNetworks: ["claude.ai"] }', '', 'mcp.oauth.trustedNetworks[0]', ''],
  ['{ publicUrl: "https://mcp.example.com", longestAccess: 0 }', '', 'mcp.oauth.longestAccess', ''],
])('rejects mcp.oauth: %s %s at %s: %s', async (oauth, more, path, words) => {
  const problems = await problemsOf(files(oauth, more));
  expect(problems.map((problem) => problem.path)).toEqual([path]);
  expect(problems[0]?.message).toContain(words);
});

it('mcp.oauth is unset by default, and fills in its other settings if publicUrl is given', async () => {
  expect((await configOf({ 'gateway.yaml': MINIMAL, 'customers.yaml': OPENAPI })).file.mcp.oauth).toBeUndefined();
  expect((await configOf(files('{ publicUrl: "https://mcp.example.com" }'))).file.mcp.oauth).toEqual({
    publicUrl: 'https://mcp.example.com',
    host: '127.0.0.1',
    port: 8082,
    registration: false,
    tokenLifetime: 3_600_000,
    trustedNetworks: [],
    longestAccess: 90,
  });
});
