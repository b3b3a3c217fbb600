/** Tests that clients retry while the database is unavailable, and keep their tokens. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { OAuthDoor } from '../../test/support/oauth-door.js';
import { Browser, newVerifier, stranger } from '../../test/support/oauth-steps.js';

let door: OAuthDoor;
let accountId: string;
beforeAll(async () => {
  door = await OAuthDoor.start();
  accountId = await door.newAccount();
});
afterEach(() => void (door.failing = () => false));
afterAll(() => door?.stop());

const post = (path: string, body: URLSearchParams | string) =>
  fetch(`${door.issuer}${path}`, { method: 'POST', headers: stranger(), body });

it('endpoints answer 503 with Retry-After and log nothing while the database is unavailable', async () => {
  const { clientId, refresh_token: refresh } = await door.letIn(accountId);
  const form = new URLSearchParams(door.refresh(clientId, refresh) as Record<string, string>);
  door.failing = () => true;
  const responses = await Promise.all([
    post('/token', form),
    post('/revoke', new URLSearchParams({ client_id: clientId, token: refresh })),
    post('/register', JSON.stringify({ redirect_uris: ['https://app.example.com/callback'] })),
    new Browser().open(door.authorizeUrl(clientId, newVerifier().challenge)),
    new Browser().open(`${door.issuer}/authorize/unknown`),
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
  expect(door.logged).toEqual([]);
  door.failing = () => false;
  expect((await door.token(door.refresh(clientId, refresh))).status).toBe(200);
});

describe('a database failure', () => {
  const failAtInsertOf = (kind: string): void => {
    door.failing = (statement) => statement.kind === 'InsertQueryNode' && JSON.stringify(statement).includes(kind);
  };

  it.each(['"RefreshToken"', '"api_key_secret"'])(
    'while tokens are written (%s) leaves the code and the refresh token usable',
    async (kind) => {
      const own = await door.newAccount();
      const { clientId, code, verifier } = await door.code(own);
      failAtInsertOf(kind);
      expect((await door.token(door.exchange(clientId, code, verifier))).status).toBe(503);
      door.failing = () => false;
      const first = await door.token(door.exchange(clientId, code, verifier));
      expect(first.status).toBe(200);
      const { refresh_token: refresh } = first.body;
      failAtInsertOf(kind);
      expect((await door.token(door.refresh(clientId, refresh))).status).toBe(503);
      door.clock.advance(30_000);
      expect((await door.token(door.refresh(clientId, refresh))).status).toBe(503);
      door.failing = () => false;
      expect((await door.token(door.refresh(clientId, refresh))).status).toBe(200);
      expect((await door.keysOf(own)).map(({ status }) => status)).toEqual(['active']);
      expect(door.logged).toEqual([]);
    },
  );

  let browser: Browser;
  let url: URL;
  beforeEach(async () => {
    browser = new Browser();
    url = door.authorizeUrl(String((await door.register()).body['client_id']), newVerifier().challenge);
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
    const back = await door.approve(String(await door.ask(browser, url)), accountId);
    failAtInsertOf('"Session"');
    expect(await outcome(await browser.open(back))).toEqual([503, '2', true]);
  });
});
