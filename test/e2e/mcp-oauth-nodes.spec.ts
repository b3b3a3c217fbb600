/**
 * The authorization server on two processes that share PostgreSQL and Redis. Each can continue flows that the other
 * began. A single-use value works once across both. A revocation applies to both within a second, also to running
 * requests.
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { Client } from '@modelcontextprotocol/client';
import { json, type BackendHandler } from '../support/backend.js';
import { connectedClient, openStream } from '../support/connected-client.js';
import { describeWithBoth } from '../support/describe-with.js';
import { Browser, newVerifier, newClientHeaders } from '../support/oauth-steps.js';
import { OAuthWorld } from '../support/oauth-world.js';
import { freshDatabase, type FreshDatabase } from '../support/postgres.js';
import { newPerson } from '../support/panel-people.js';
import { eventually } from '../support/processes.js';
import { sharedRedisUrl } from '../support/redis.js';

const SOON_MS = 1_000;
const ROUNDS = 5;
const REFUSED = { status: 400, body: { error: 'invalid_grant' } };

/** Number of running calls to the slow backend, whose responses never end. */
let underWay = 0;
let isSlow = false;
const quick = json({ data: [] });
const handler: BackendHandler = (request, response, recorded) => {
  if (!isSlow) return quick(request, response, recorded);
  underWay++;
  response.on('close', () => underWay--);
  response.writeHead(200, { 'content-type': 'application/json' }).write('{"data":');
};

describeWithBoth('the authorization server on two processes and PostgreSQL', () => {
  let database: FreshDatabase;
  let one: OAuthWorld;
  let two: OAuthWorld;
  let accountId: string;
  const clients: Client[] = [];
  beforeAll(async () => {
    database = await freshDatabase();
    const env = { REDIS_URL: await sharedRedisUrl(), DATABASE_URL: database.url };
    one = await OAuthWorld.start({}, {}, { env, handler });
    two = await one.addNode();
  });
  beforeEach(async () => {
    isSlow = false;
    one.approver = undefined;
    accountId = await one.newAccount();
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.close();
  });
  afterAll(async () => {
    await one?.stop();
    await database?.drop();
  });

  const keyOf = async (account: string): Promise<{ readonly id: string; readonly status: string }> => {
    const path = `/accounts/${account}/api-keys`;
    const { data } = await one.trailgate.admin.call<{ data: { id: string; status: string }[] }>('GET', path);
    expect(data).toHaveLength(1);
    return data[0]!;
  };
  const statusesOf = (token: string): Promise<number[]> =>
    Promise.all([one, two].map(async (at) => (await at.listTools(token)).status));
  const awaitRefusalAtBoth = (token: string): Promise<void> =>
    eventually(
      'both processes refuse the token',
      async () => (await statusesOf(token)).every((status) => status === 401),
      SOON_MS,
    );

  it('each process continues an authorization flow that the other one began, step by step', async () => {
    for (const [here, there] of [
      [one, two],
      [two, one],
    ] as const) {
      const account = await one.newAccount();
      const clientId = String((await here.register()).body['client_id']);
      const { verifier, challenge } = newVerifier();
      const browser = new Browser();
      const id = String(await there.ask(browser, there.authorizeUrl(clientId, challenge)));
      const back = (await here.comeBack(browser, await here.approve(id, account))) as URLSearchParams;
      expect(back.get('iss')).toBe(one.issuer);
      const first = await there.token(there.exchange(clientId, back.get('code') ?? '', verifier));
      expect(first).toMatchObject({ status: 200, body: { scope: 'customers:read' } });
      expect(await statusesOf(first.body.access_token)).toEqual([200, 200]);
      const next = await here.token(here.refresh(clientId, first.body.refresh_token));
      expect(next.status).toBe(200);
      expect(await statusesOf(next.body.access_token)).toEqual([200, 200]);
    }
  });

  it('a code that is redeemed at both processes at once yields tokens at most once', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const { clientId, code, verifier } = await one.code(await one.newAccount());
      const all = await Promise.all([one, two].map((at) => at.token(at.exchange(clientId, code, verifier))));
      const given = all.filter(({ status }) => status === 200);
      expect(given.length).toBeLessThanOrEqual(1);
      for (const other of all.filter((each) => !given.includes(each))) expect(other).toMatchObject(REFUSED);
    }
  });

  it('a code that is redeemed again at the other process revokes its tokens on both', async () => {
    const { clientId, code, verifier } = await one.code(accountId);
    const { body } = await one.token(one.exchange(clientId, code, verifier));
    expect(await statusesOf(body.access_token)).toEqual([200, 200]);
    expect(await two.token(two.exchange(clientId, code, verifier))).toMatchObject(REFUSED);
    await awaitRefusalAtBoth(body.access_token);
    expect(await one.token(one.refresh(clientId, body.refresh_token))).toMatchObject(REFUSED);
  });

  it('a refresh token that is used at both processes at once yields working tokens at each', async () => {
    let { refresh_token: refresh, clientId } = await one.authorize(accountId);
    for (let round = 0; round < ROUNDS; round++) {
      const all = await Promise.all([one, two].map((at) => at.token(at.refresh(clientId, refresh))));
      expect(all.map(({ status }) => status)).toEqual([200, 200]);
      for (const { body } of all) expect(await statusesOf(body.access_token)).toEqual([200, 200]);
      refresh = all[round % 2]!.body.refresh_token;
    }
    expect((await keyOf(accountId)).status).toBe('active');
  });

  it('a client that revokes its own token at one process loses access on both', async () => {
    for (const kind of ['access_token', 'refresh_token'] as const) {
      const tokens = await one.authorize(accountId);
      expect(await statusesOf(tokens.access_token)).toEqual([200, 200]);
      const body = new URLSearchParams({ token: tokens[kind], client_id: tokens.clientId });
      const revoked = await fetch(`${two.origin}/revoke`, { method: 'POST', headers: newClientHeaders(), body });
      expect(revoked.status).toBe(200);
      await awaitRefusalAtBoth(tokens.access_token);
      expect(await one.token(one.refresh(tokens.clientId, tokens.refresh_token))).toMatchObject(REFUSED);
    }
  });

  const revokeKey = async () => void (await one.trailgate.admin.revokeKey((await keyOf(accountId)).id));
  /** Removes the member who authorized the client. */
  const removeMember = async () => {
    const path = `/accounts/${accountId}/members`;
    const { data } = await one.trailgate.admin.call<{ data: { id: string; role: string }[] }>('GET', path);
    const admin = data.find(({ role }) => role === 'admin');
    await one.trailgate.admin.call('DELETE', `${path}/${admin?.id}`);
  };

  it.each([
    ['2026-07-28 that is taken back', 'auto', revokeKey],
    ['2025 that is taken back', 'legacy', revokeKey],
    ['2026-07-28 whose member is removed', 'auto', removeMember],
  ] as const)('a client of %s loses its running calls and streams on both', async (_which, mode, end) => {
    await newPerson(one.trailgate, accountId, 'owner');
    one.approver = (await newPerson(one.trailgate, accountId, 'admin')).session;
    const { access_token: token, refresh_token: refresh, clientId } = await one.authorize(accountId);
    for (const at of [one, two]) clients.push(await connectedClient(at.mcpUrl, token, mode));
    // A client of the 2025 protocol has no stream other than the response to its call.
    const streams = mode === 'auto' ? await Promise.all(clients.map(openStream)) : [];
    isSlow = true;
    const calls = clients.map((client) => client.callTool({ name: 'list_customers', arguments: {} }));
    await eventually('both calls are at the backend', () => underWay === 2);
    expect(streams.filter((stream) => stream.isOver())).toEqual([]);
    await end();
    await eventually(
      'all calls and streams have ended',
      () => underWay === 0 && streams.every((stream) => stream.isOver()),
      SOON_MS,
    );
    for (const { isError, content } of await Promise.all(calls)) {
      const [{ text }] = content as unknown as [{ readonly text: string }];
      expect([isError, JSON.parse(text)]).toMatchObject([true, { error: 'revoked_api_key', status: 401 }]);
    }
    expect(await statusesOf(token)).toEqual([401, 401]);
    for (const client of clients) await expect(client.listTools()).rejects.toBeInstanceOf(Error);
    for (const at of [one, two]) expect(await at.token(at.refresh(clientId, refresh))).toMatchObject(REFUSED);
  });
});
