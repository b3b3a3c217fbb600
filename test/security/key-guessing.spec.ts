/** Attack: an address tries one key after the other. After some attempts, it gets 429 without a key lookup. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createSecret } from '../../src/keys/api-key-format.js';
import { json } from '../support/backend.js';
import type { Answer } from '../support/http.js';
import { send } from '../support/http.js';
import { seriesOf } from '../support/metrics-text.js';
import { expectProblem } from '../support/problem.js';
import { eventually } from '../support/processes.js';
import { startProxied, type OwnProxied } from '../support/proxied.js';

const ATTEMPTS = 5;
const DEFAULT_ATTEMPTS = 20;

let gateway: OwnProxied;

/** Sends a request with a key, from an address that the trusted proxy reports. */
function call(authorization: string | undefined, address: string, path = '/customers'): Promise<Answer> {
  const headers = authorization === undefined ? {} : { Authorization: authorization };
  return send(gateway.url + path, { headers: { ...headers, 'X-Forwarded-For': address } });
}

const junk = (): string => `Bearer ${createSecret('live')}`;
const metric = async (name: string): Promise<number> =>
  seriesOf((await send(`${gateway.trailgate.adminUrl}/metrics`)).text).get(name) ?? 0;

async function useUp(address: string, key: () => string = junk): Promise<void> {
  for (let time = 0; time < ATTEMPTS; time++) expect((await call(key(), address)).status).toBe(401);
}

describe('behind a trusted load balancer', () => {
  beforeAll(async () => {
    gateway = await startProxied({
      own: true,
      config: { gateway: { failedAuthentication: { perMinute: ATTEMPTS }, trustedProxies: ['127.0.0.1'] } },
    });
  });
  afterAll(() => gateway.stop());
  beforeEach(() => gateway.answerWith(json({ ok: true })));

  it('an address gets 429 with Retry-After after its attempts, without a database lookup', async () => {
    await useUp('192.0.2.1');
    const lookUps = await metric('trailgate_key_lookups_total{result="database"}');
    const answer = await call(junk(), '192.0.2.1');
    expectProblem(answer, 'too_many_failed_attempts');
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(50);
    expect(Number(answer.headers['retry-after'])).toBeLessThan(64);
    expect(Object.keys(answer.headers).filter((name) => /ratelimit/.test(name))).toEqual([]);
    expect(await metric('trailgate_key_lookups_total{result="database"}')).toBe(lookUps);
  });

  it('a malformed key counts as an attempt', async () => {
    await useUp('192.0.2.2', () => 'Bearer junk');
    expectProblem(await call(junk(), '192.0.2.2'), 'too_many_failed_attempts');
  });

  it('a valid key is refused from a throttled address, too, so that guesses stay unconfirmed', async () => {
    await useUp('192.0.2.3');
    for (const path of ['/customers', '/usage'])
      expectProblem(await call(gateway.authorization, '192.0.2.3', path), 'too_many_failed_attempts');
    expect(gateway.backend.requests).toHaveLength(0);
  });

  it('revoked and rotated keys do not count as attempts', async () => {
    const { admin } = gateway.trailgate;
    const [{ key: revoked }, { key: rotated }] = [await admin.newKey(), await admin.newKey()];
    await admin.revokeKey(revoked.id);
    await admin.rotateKey(rotated.id);
    for (let time = 0; time < 2 * ATTEMPTS; time++) {
      expectProblem(await call(`Bearer ${revoked.secret}`, '192.0.2.9'), 'revoked_api_key');
      expectProblem(await call(`Bearer ${rotated.secret}`, '192.0.2.9'), 'expired_api_key');
    }
    expect((await call(gateway.authorization, '192.0.2.9')).status).toBe(200);
  });

  it('other addresses are served', async () => {
    await useUp('192.0.2.4');
    expect((await call(gateway.authorization, '192.0.2.5')).status).toBe(200);
  });

  it('addresses in the same /64 share their attempts, and another /64 does not', async () => {
    for (let time = 0; time < ATTEMPTS; time++) await call(junk(), `2001:db8::${time}`);
    expectProblem(await call(junk(), '2001:db8::ffff:1'), 'too_many_failed_attempts');
    expect((await call(gateway.authorization, '2001:db8:0:1::1')).status).toBe(200);
  });

  it('a missing key and an unknown path do not count as attempts', async () => {
    for (let time = 0; time < 3 * ATTEMPTS; time++) {
      expect((await call(undefined, '192.0.2.6')).status).toBe(401);
      expect((await call(junk(), '192.0.2.6', '/nowhere')).status).toBe(404);
    }
    expect((await call(gateway.authorization, '192.0.2.6')).status).toBe(200);
  });

  it('a throttled address gets 404 for an unknown path', async () => {
    await useUp('192.0.2.7');
    expectProblem(await call(junk(), '192.0.2.7', '/nowhere'), 'route_not_found');
  });

  it('throttling is logged and counted once for each address', async () => {
    const before = await metric('trailgate_failed_attempts_total{result="throttled"}');
    await useUp('192.0.2.8');
    for (let time = 0; time < 3; time++) await call(junk(), '192.0.2.8');
    expect(await metric('trailgate_failed_attempts_total{result="throttled"}')).toBe(before + 1);
    const lines = () =>
      gateway.trailgate
        .logs()
        .filter((line) => line['event'] === 'address_throttled' && line['client_network'] === '192.0.2.8');
    await eventually('it is logged', () => lines().length > 0);
    expect(lines()).toHaveLength(1);
  });
});

describe('with the default configuration, without a trusted proxy', () => {
  beforeAll(async () => {
    gateway = await startProxied({ own: true, config: { gateway: { failedAuthentication: null } } });
  });
  afterAll(() => gateway.stop());

  it('an untrusted proxy on a private address is not throttled, and is logged once', async () => {
    for (let time = 0; time < 2 * DEFAULT_ATTEMPTS; time++) await call(junk(), '203.0.113.1');
    expect((await call(gateway.authorization, '203.0.113.2')).status).toBe(200);
    expect(await metric('trailgate_failed_attempts_total{result="unknown_proxy"}')).toBe(2 * DEFAULT_ATTEMPTS);
    const warnings = () => gateway.trailgate.logs().filter(({ event }) => event === 'proxy_not_trusted');
    await eventually('it is logged', () => warnings().length > 0);
    expect(warnings()).toHaveLength(1);
  });

  it('attempts are counted by the address of the connection', async () => {
    for (let time = 0; time < DEFAULT_ATTEMPTS; time++) {
      const { status } = await send(`${gateway.url}/open`, { headers: { Authorization: junk() } });
      expect(status).toBe(401);
    }
    expectProblem(await gateway.send('/open'), 'too_many_failed_attempts');
  });
});
