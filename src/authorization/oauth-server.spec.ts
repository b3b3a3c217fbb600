/** What the authorization server does with requests before the library sees them. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { MOST_OPEN, OAuthDoor, TRUSTED_NETWORK } from '../../test/support/oauth-door.js';
import { Browser, newVerifier } from '../../test/support/oauth-steps.js';
import { eventually } from '../../test/support/processes.js';
import { REQUEST_LIFETIME_MS } from '../oauth/authorization-requests.js';

let door: OAuthDoor;
beforeAll(async () => {
  door = await OAuthDoor.start();
});
afterAll(() => door?.stop());

it('a registration that is broken off is no fault of ours', async () => {
  const { hostname, port } = new URL(door.issuer);
  const arrived = once(door.server, 'request');
  const socket = connect(Number(port), hostname);
  socket.write('POST /register HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{');
  const [message] = await arrived;
  socket.destroy();
  await eventually('it is over', () => message.closed);
  // Behind it, so that whatever it led to has been said.
  expect((await door.register()).status).toBe(201);
  expect(door.logged).toEqual([]);
});

it('a parameter that is kept is at most 2,048 characters long', async () => {
  const clientId = String((await door.register()).body['client_id']);
  const ask = (form: object) =>
    door.ask(new Browser(), door.authorizeUrl(clientId, newVerifier().challenge, { ...form }));
  expect(await ask({ state: 's'.repeat(2_048) })).toEqual(expect.any(String));
  for (const name of ['state', 'ui_locales', 'nonce', 'login_hint']) {
    const refused = (await ask({ [name]: 's'.repeat(2_049) })) as Response;
    expect([refused.status, refused.headers.get('location')]).toEqual([400, null]);
    expect(await refused.json()).toMatchObject({ error: 'invalid_request' });
  }
});

it('of requests that nobody decides there are so many and no more, until they are over', async () => {
  door.clock.advance(REQUEST_LIFETIME_MS);
  const accountId = await door.newAccount();
  const { challenge } = newVerifier();
  const clientId = String((await door.register()).body['client_id']);
  const browser = new Browser();
  const ask = () => door.ask(browser, door.authorizeUrl(clientId, challenge));
  const rows = async () => (await door.stores.database.db.selectFrom('oauth_object').select('kind').execute()).length;
  let last: string | Response = '';
  for (let count = 0; count < MOST_OPEN; count++) expect((last = await ask())).toEqual(expect.any(String));
  const kept = await rows();
  for (let count = 0; count < 3; count++) {
    const refused = (await ask()) as Response;
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '60']);
  }
  expect(await rows()).toBe(kept);
  // One that is decided and on its way makes room.
  await door.comeBack(browser, await door.approve(String(last), accountId));
  expect(await ask()).toEqual(expect.any(String));
  expect(await ask()).toBeInstanceOf(Response);
  door.clock.advance(REQUEST_LIFETIME_MS);
  expect(await ask()).toEqual(expect.any(String));
});

describe('the token endpoint', () => {
  /** How many of 70 requests at once from an address are told to wait. */
  async function refused(address: string, clientIdOf: (index: number) => string): Promise<number> {
    const statuses = Array.from({ length: 70 }, async (_, index) => {
      const body = new URLSearchParams({ ...door.refresh(clientIdOf(index), 'x') } as Record<string, string>);
      const headers = { 'x-forwarded-for': address };
      return (await fetch(`${door.issuer}/token`, { method: 'POST', headers, body })).status;
    });
    return (await Promise.all(statuses)).filter((status) => status === 429).length;
  }
  const newClient = async () => String((await door.register()).body['client_id']);

  it('counts each client that is known by itself, and the others of a network together', async () => {
    const [one, other] = [await newClient(), await newClient()];
    expect(await refused('203.0.113.1', () => one)).toBe(10);
    expect(await refused('203.0.113.1', () => other)).toBe(10);
    expect(await refused('203.0.113.1', (index) => `unknown-${index}`)).toBe(10);
    expect(await refused('203.0.113.1', (index) => `https://unknown-${index}.invalid/`)).toBe(70);
  });

  it('takes a hundredfold of networks that are trusted', async () => {
    expect(await refused(TRUSTED_NETWORK.replace('0/24', '9'), (index) => `unknown-${index}`)).toBe(0);
  });
});

it.each(['/token', '/register'])(
  '%s takes no body that is larger than any, and says so before its end',
  async (path) => {
    const { hostname, port } = new URL(door.issuer);
    const socket = connect(Number(port), hostname);
    const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n`;
    socket.write(`${head}client_id=${'x'.repeat(17_000)}`);
    let response = '';
    for await (const piece of socket) response += String(piece);
    expect(response).toMatch(/^HTTP\/1\.1 413 /);
    expect(response.toLowerCase()).toContain('connection: close');
  },
);
