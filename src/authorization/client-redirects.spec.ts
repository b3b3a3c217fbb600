/** Tests the redirect URIs that a client can register, and that it can use exactly these. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { OAuthServerWorld } from '../../test/support/oauth-server-world.js';
import { Browser, newVerifier } from '../../test/support/oauth-steps.js';

let oauth: OAuthServerWorld;
beforeAll(async () => {
  oauth = await OAuthServerWorld.start();
});
afterAll(() => oauth?.stop());

/** Registers a client and requests authorization with a URI. Returns whether each step succeeded. */
async function accepted(uris: readonly string[], askedFor = uris[0]): Promise<readonly boolean[]> {
  const { status, body } = await oauth.register({ redirect_uris: uris });
  if (status !== 201) return [false];
  const url = oauth.authorizeUrl(String(body['client_id']), newVerifier().challenge, { redirect_uri: askedFor });
  return [true, typeof (await oauth.ask(new Browser(), url)) === 'string'];
}

it.each([
  ['https://app.example.com/callback'],
  ['https://app.example.com:8443/callback?of=mine'],
  ['http://127.0.0.1/callback'],
  ['http://127.0.0.1:4711/callback'],
  ['http://localhost:4711/callback'],
  ['http://[::1]:4711/callback'],
  ['com.example.app:/callback'],
  ['com.example.app://oauth/callback'],
  ['cursor://anysphere.cursor-mcp/oauth/callback'],
  ['vscode://vscode.mcp/oauth/callback'],
  ['vscode-insiders://vscode.mcp/oauth/callback'],
  ['claude://oauth/callback'],
  ['https://localhost:4711/callback'],
])('%s can be registered and used', async (uri) => {
  expect(await accepted([uri])).toEqual([true, true]);
});

it('a client can mix redirect types, and use another port only for a loopback redirect', async () => {
  const uris = [
    'http://localhost:8787/callback',
    'https://www.example.com/agents/oauth/callback',
    'cursor://anysphere.cursor-mcp/oauth/callback',
  ];
  for (const uri of uris) expect([uri, ...(await accepted(uris, uri))]).toEqual([uri, true, true]);
  expect(await accepted(uris, 'http://localhost:50123/callback')).toEqual([true, true]);
  expect(await accepted(uris, 'http://localhost:50123/other')).toEqual([true, false]);
  expect(await accepted(uris, 'https://www.example.com:444/agents/oauth/callback')).toEqual([true, false]);
});

it.each([
  ['intent://x#Intent;end'],
  ['intent://x'],
  ['filesystem:https://a.example.com/b'],
  ['jar:https://a.example.com!/b'],
  ['mailto:a@example.com'],
  ['ms-msdt:/id'],
  ['search-ms:query'],
  ['tel:1'],
  ['JavaScript:alert(1)'],
  ['data:text/html,x'],
  ['http://x.localhost/callback'],
  ['http://127.0.0.2/callback'],
  ['http://app.example.com/callback'],
  ['https://user:word@app.example.com/callback'],
  ['.example:/callback'],
  ['com.:/callback'],
])('%s cannot be registered', async (uri) => {
  expect(await accepted([uri])).toEqual([false]);
});

it('HTTPS on localhost cannot be registered beside a custom scheme', async () => {
  expect(await accepted(['com.example.app:/callback', 'https://localhost/callback'])).toEqual([false]);
});
