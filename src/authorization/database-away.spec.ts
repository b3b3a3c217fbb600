/** Tests that clients retry while the database is unavailable, and keep their tokens. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { OAuthServerWorld } from '../../test/support/oauth-server-world.js';
import { Browser, newVerifier, newClientHeaders } from '../../test/support/oauth-steps.js';

let oauth: OAuthServerWorld;
let accountId: string;
beforeAll(async () => {
  oauth = await OAuthServerWorld.start();
  accountId = await oauth.newAccount();
});
afterEach(() => void (oauth.failing = () => false));
afterAll(() => oauth?.stop());

const post = (path: string, body: URLSearchParams | string) =>
  fetch(`${oauth.issuer}${path}`, { method: 'POST', headers: newClientHeaders(), body });

it('endpoints answer 503 with Retry-After and log nothing while the database is unavailable', async () => {
  const { clientId, refresh_token: refresh } = await oauth.authorize(accountId);
  const form = new URLSearchParams(oauth.refresh(clientId, refresh) as Record<string, string>);
  oauth.failing = () => true;
  const responses = await Promise.all([
    post('/token', form),
    post('/revoke', new URLSearchParams({ client_id: clientId, token: refresh })),
    post('/register', JSON.stringify({ redirect_uris: ['https://app.example.com/callback'] })),
    new Browser().open(oauth.authorizeUrl(clientId, newVerifier().challenge)),
    new Browser().open(`${oauth.issuer}/authorize/unknown`),
  ]);
  expect(responses.map(({ status, headers }) => [status, headers.get('retry-after')])).toEqual([
    [503, '2'],
    [503, '2'],
    [503, '2'],
    [503, '2'],
    // A request without its cookie causes no lookup.
    [400, null],
  ]);
  expect(await responses[0]?.json()).toMatchObject({ error: 'temporarily_unavailable' });
  expect(oauth.logged).toEqual([]);
  oauth.failing = () => false;
  expect((await oauth.token(oauth.refresh(clientId, refresh))).status).toBe(200);
});

describe('a database failure', () => {
  const failAtInsertOf = (kind: string): void => {
    oauth.failing = (statement) => statement.kind === 'InsertQueryNode' && JSON.stringify(statement).includes(kind);
  };

  it.each(['"RefreshToken"', '"api_key_secret"'])(
    'while tokens are written (%s) leaves the code and the refresh token usable',
    async (kind) => {
      const own = await oauth.newAccount();
      const { clientId, code, verifier } = await oauth.code(own);
      failAtInsertOf(kind);
      expect((await oauth.token(oauth.exchange(clientId, code, verifier))).status).toBe(503);
      oauth.failing = () => false;
      const first = await oauth.token(oauth.exchange(clientId, code, verifier));
      expect(first.status).toBe(200);
      const { refresh_token: refresh } = first.body;
      failAtInsertOf(kind);
      expect((await oauth.token(oauth.refresh(clientId, refresh))).status).toBe(503);
      oauth.clock.advance(30_000);
      expect((await oauth.token(oauth.refresh(clientId, refresh))).status).toBe(503);
      oauth.failing = () => false;
      expect((await oauth.token(oauth.refresh(clientId, refresh))).status).toBe(200);
      expect((await oauth.keysOf(own)).map(({ status }) => status)).toEqual(['active']);
      expect(oauth.logged).toEqual([]);
    },
  );

  let browser: Browser;
  let url: URL;
  beforeEach(async () => {
    browser = new Browser();
    url = oauth.authorizeUrl(String((await oauth.register()).body['client_id']), newVerifier().challenge);
  });
  const outcome = async (response: Response) => [
    response.status,
    response.headers.get('retry-after'),
    (await response.text()).includes('Try again in a moment'),
  ];

  it('before the redirect to the panel shows a page that asks to try again', async () => {
    failAtInsertOf('"Interaction"');
    expect(await outcome(await browser.open(url))).toEqual([503, '2', true]);
  });

  it('while the browser returns from the panel shows the same page', async () => {
    const back = await oauth.approve(String(await oauth.ask(browser, url)), accountId);
    failAtInsertOf('"Session"');
    expect(await outcome(await browser.open(back))).toEqual([503, '2', true]);
  });
});
