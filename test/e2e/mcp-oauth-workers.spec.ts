/**
 * The authorization server of a program with several workers that share its port. Each step of a client can reach
 * another worker, and no worker keeps state that is lost with it.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { childrenOf, WORKER } from '../support/child-processes.js';
import { connectedClient, openStream } from '../support/connected-client.js';
import { describeWithRedis } from '../support/describe-with.js';
import { Browser, newVerifier } from '../support/oauth-steps.js';
import { OAuthWorld } from '../support/oauth-world.js';
import { eventually, freePort } from '../support/processes.js';
import { startTrailgate } from '../support/program.js';
import { sharedRedisUrl } from '../support/redis.js';

const WORKERS = 2;
const SOON_MS = 1_000;
/** Number of connections. High enough that each worker gets some. */
const ROUNDS = 8;

describeWithRedis('the authorization server of two workers', () => {
  let world: OAuthWorld;
  const args = ['--workers', String(WORKERS)];
  beforeAll(async () => {
    world = await OAuthWorld.start({}, {}, { env: { REDIS_URL: await sharedRedisUrl() }, args });
  });
  afterAll(() => world?.stop());

  const workers = (): number[] => childrenOf(world.trailgate.pid, WORKER);
  /** Sends a request with the token on each of `ROUNDS` connections. Returns their statuses. */
  const statusesOf = (token: string): Promise<number[]> =>
    Promise.all(Array.from({ length: ROUNDS }, async () => (await world.listTools(token)).status));
  const ALL = (status: number): number[] => Array.from({ length: ROUNDS }, () => status);

  /** Kills a worker, and waits until its replacement serves requests. */
  async function replace(pid: number): Promise<void> {
    process.kill(pid, 'SIGKILL');
    await eventually('the worker is replaced', () => workers().length === WORKERS && !workers().includes(pid));
    await eventually('the new worker serves', async () => {
      const { checks } = (await (await fetch(`${world.trailgate.adminUrl}/readyz`)).json()) as { checks: object };
      return JSON.stringify((checks as { workers?: object }).workers) === '{"status":"pass"}';
    });
  }

  it('authorizes clients, refreshes their tokens, and accepts them on many connections', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const { access_token: token, refresh_token: refresh, clientId } = await world.authorize(await world.newAccount());
      const next = await world.token(world.refresh(clientId, refresh));
      expect([next.status, await statusesOf(token)]).toEqual([200, ALL(200)]);
    }
  });

  it('completes an authorization flow during which both workers are killed and replaced', async () => {
    const [first = 0, second = 0] = workers();
    const clientId = String((await world.register()).body['client_id']);
    const { verifier, challenge } = newVerifier();
    const browser = new Browser();
    const id = String(await world.ask(browser, world.authorizeUrl(clientId, challenge)));
    await replace(first);
    const back = (await world.comeBack(browser, await world.approve(id, await world.newAccount()))) as URLSearchParams;
    await replace(second);
    const { status, body } = await world.token(world.exchange(clientId, back.get('code') ?? '', verifier));
    expect([status, await statusesOf(body.access_token)]).toEqual([200, ALL(200)]);
  });

  it('ends all streams of a client within a second after its key is revoked, and refuses its token', async () => {
    const accountId = await world.newAccount();
    const { access_token: token } = await world.authorize(accountId);
    const clients = await Promise.all(Array.from({ length: ROUNDS }, () => connectedClient(world.mcpUrl, token)));
    try {
      const streams = await Promise.all(clients.map(openStream));
      const path = `/accounts/${accountId}/api-keys`;
      const { data } = await world.trailgate.admin.call<{ data: { id: string }[] }>('GET', path);
      await world.trailgate.admin.revokeKey(data[0]!.id);
      await eventually('all streams have ended', () => streams.every((stream) => stream.isOver()), SOON_MS);
      expect(await statusesOf(token)).toEqual(ALL(401));
    } finally {
      for (const client of clients) await client.close();
    }
  });

  it.each([
    ['the port of another program is not shared with it', () => Number(new URL(world.issuer).port), 'is in use'],
    ['they are not given a port each', () => 0, 'mcp.oauth.port is 0'],
  ])('%s: the program does not start', async (_case, port, words) => {
    const oauth = { publicUrl: 'http://localhost:8082', port: port() };
    const config = { admin: { port: await freePort() }, mcp: { oauth } };
    const env = { REDIS_URL: await sharedRedisUrl() };
    await expect(startTrailgate({ config, env, args })).rejects.toThrow(words);
  });
});
