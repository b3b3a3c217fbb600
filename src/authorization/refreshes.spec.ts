/** Tests refresh tokens that are used more than once, or for fewer scopes, with a real database. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { OAuthServerWorld } from '../../test/support/oauth-server-world.js';
import { DAY_MS } from '../../test/support/oauth-steps.js';
import { OPERATOR } from '../../test/support/stores.js';
import { CachedKey } from '../keys/cached-key.js';

let oauth: OAuthServerWorld;
let accountId: string;
beforeAll(async () => {
  oauth = await OAuthServerWorld.start();
});
beforeEach(async () => {
  accountId = await oauth.newAccount();
});
afterAll(() => oauth?.stop());

const REFUSED = { status: 400, body: { error: 'invalid_grant' } };
const statusOf = async () => (await oauth.keysOf(accountId)).map(({ status }) => status);

describe('a refresh token', () => {
  it('that is sent five times at once yields five working token pairs of the same key', async () => {
    const { clientId, refresh_token: refresh } = await oauth.authorize(accountId);
    const all = await Promise.all(Array.from({ length: 5 }, () => oauth.token(oauth.refresh(clientId, refresh))));
    expect(all.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(new Set(all.map(({ body }) => body.refresh_token)).size).toBe(5);
    const tokens = await Promise.all(all.map(({ body }) => oauth.keys.findToken(body.access_token)));
    const [key] = await oauth.keysOf(accountId);
    expect(tokens.map((token) => token?.key.id)).toEqual(Array.from({ length: 5 }, () => key?.id));
    const next = await Promise.all(all.map(({ body }) => oauth.token(oauth.refresh(clientId, body.refresh_token))));
    expect(next.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(await statusOf()).toEqual(['active']);
  });

  it('that is sent too often within a minute is refused with Retry-After, and issued tokens still work', async () => {
    const { clientId, access_token: first, refresh_token: refresh } = await oauth.authorize(accountId);
    const again = () => oauth.token(oauth.refresh(clientId, refresh));
    const given: string[] = [first];
    for (let count = 1; count < 50; count += 1) given.push((await again()).body.access_token);
    const works = async () =>
      (await Promise.all(given.map((token) => oauth.keys.findToken(token)))).filter((token) => token !== undefined);
    oauth.clock.advance(20_000);
    const refused = await again();
    expect(refused).toMatchObject({ status: 429, body: { error: 'slow_down' }, retryAfter: '40' });
    expect(await works()).toHaveLength(50);
    expect(await statusOf()).toEqual(['active']);
    oauth.clock.advance(39_999);
    expect(await again()).toMatchObject({ status: 429, retryAfter: '1' });
    expect(await works()).toHaveLength(50);
  });

  it('gives new tokens again within a minute of its first use, and later revokes the grant', async () => {
    const { clientId, refresh_token: refresh } = await oauth.authorize(accountId);
    const first = await oauth.token(oauth.refresh(clientId, refresh));
    expect(first.status).toBe(200);
    oauth.clock.advance(30_000);
    expect(await oauth.token(oauth.refresh(clientId, refresh))).toMatchObject({ status: 200 });
    // The minute begins with the first use: a repeat does not extend it.
    oauth.clock.advance(29_999);
    const repeated = await oauth.token(oauth.refresh(clientId, refresh));
    expect(repeated.status).toBe(200);
    expect(await statusOf()).toEqual(['active']);
    oauth.clock.advance(1);
    expect(await oauth.token(oauth.refresh(clientId, refresh))).toMatchObject(REFUSED);
    expect(await statusOf()).toEqual(['revoked']);
    for (const { body } of [first, repeated]) {
      expect(await oauth.keys.findToken(body.access_token)).toBeUndefined();
      expect(await oauth.token(oauth.refresh(clientId, body.refresh_token))).toMatchObject(REFUSED);
    }
  });
});

it('tokens of a paused key work only after it resumes', async () => {
  const { clientId, refresh_token: refresh } = await oauth.authorize(accountId);
  const [key] = await oauth.keysOf(accountId);
  await oauth.stores.keys.pause(key?.id ?? '', OPERATOR);
  const { status, body } = await oauth.token(oauth.refresh(clientId, refresh));
  expect(status).toBe(200);
  expect(await oauth.admit(body.access_token)).toMatchObject({ code: 'key_paused', status: 403 });
  await oauth.stores.keys.resume(key?.id ?? '', OPERATOR);
  expect(await oauth.admit(body.access_token)).toBeInstanceOf(CachedKey);
  expect((await oauth.token(oauth.refresh(clientId, body.refresh_token))).status).toBe(200);
  await oauth.stores.keys.revoke(key?.id ?? '', OPERATOR);
  expect(await oauth.token(oauth.refresh(clientId, body.refresh_token))).toMatchObject(REFUSED);
});

it('a client is kept as long as its key, even after the key was extended beyond the earlier maximum', async () => {
  oauth.longestMs = 30 * DAY_MS;
  const { clientId, refresh_token: first } = await oauth.authorize(accountId);
  oauth.longestMs = 90 * DAY_MS;
  const [key] = await oauth.keysOf(accountId);
  const end = new Date(oauth.clock.now() + 80 * DAY_MS).toISOString();
  await oauth.stores.keys.update(key?.id ?? '', { expires_at: end }, OPERATOR);
  let refresh = first;
  // Days apart, like someone who uses an assistant now and then.
  for (const days of [29, 29, 21]) {
    oauth.clock.advance(days * DAY_MS);
    const { status, body } = await oauth.token(oauth.refresh(clientId, refresh));
    expect([status, body.error]).toEqual([200, undefined]);
    refresh = body.refresh_token;
  }
  oauth.clock.advance(DAY_MS);
  expect(await oauth.token(oauth.refresh(clientId, refresh))).toMatchObject(REFUSED);
});

describe('a refresh with a scope parameter', () => {
  const scopes = { scopes: ['customers:read', 'tours:read'] };
  const asked = { scope: 'customers:read tours:read' };

  it('succeeds only with exactly the granted scopes, and a refused one does not use up the token', async () => {
    const { clientId, scope, refresh_token: refresh } = await oauth.authorize(accountId, scopes, asked);
    expect(scope).toBe('customers:read tours:read');
    for (const other of ['customers:read', 'tours:read', 'customers:read tours:read customers:write']) {
      const refused = await oauth.token({ ...oauth.refresh(clientId, refresh), scope: other });
      expect(refused).toMatchObject({ status: 400, body: { error: 'invalid_scope' } });
    }
    const given = await oauth.token({ ...oauth.refresh(clientId, refresh), scope: 'tours:read customers:read' });
    expect(given).toMatchObject({ status: 200, body: { scope: 'customers:read tours:read' } });
  });

  it('accepts the current or the earlier scopes of the key, and grants only the current ones', async () => {
    const { clientId, refresh_token: refresh } = await oauth.authorize(accountId, scopes, asked);
    const [key] = await oauth.keysOf(accountId);
    await oauth.stores.keys.update(key?.id ?? '', { scopes: ['tours:read'] }, OPERATOR);
    const first = await oauth.token({ ...oauth.refresh(clientId, refresh), ...asked });
    expect(first).toMatchObject({ status: 200, body: { scope: 'tours:read' } });
    const next = await oauth.token({ ...oauth.refresh(clientId, first.body.refresh_token), scope: 'tours:read' });
    expect(next).toMatchObject({ status: 200, body: { scope: 'tours:read' } });
  });
});

it('a code that is used twice revokes the key', async () => {
  const { clientId, code, verifier } = await oauth.code(accountId);
  expect((await oauth.token(oauth.exchange(clientId, code, verifier))).status).toBe(200);
  expect(await oauth.token(oauth.exchange(clientId, code, verifier))).toMatchObject(REFUSED);
  expect(await statusOf()).toEqual(['revoked']);
});
