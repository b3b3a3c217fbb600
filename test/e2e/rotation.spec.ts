/** A key gets a new secret without an interruption for its user. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { hashSecret } from '../../src/keys/api-key-format.js';
import type { ApiKeyWithSecret } from '../support/admin.js';
import { json, startBackend, type Backend } from '../support/backend.js';
import { send, type Answer } from '../support/http.js';
import { expectProblem } from '../support/problem.js';
import { eventually } from '../support/processes.js';
import { acquireTrailgate, type SharedTrailgate } from '../support/shared-program.js';

const HOUR_S = 3_600;

let backend: Backend;
let gateway: SharedTrailgate;

beforeAll(async () => {
  backend = await startBackend(json({ data: [] }));
  gateway = await acquireTrailgate({
    backend: backend.url,
    config: { plans: { five: { key: { minute: 5, month: 100 } } } },
  });
});
afterAll(async () => {
  await gateway.stop();
  await backend.stop();
});

const call = (secret: string): Promise<Answer> =>
  send(`${gateway.gatewayUrl}/api/v1/customers`, { headers: { Authorization: `Bearer ${secret}` } });

/** Ends the overlap by moving its end to the past, because a test cannot wait for an hour. */
async function endOverlap(key: ApiKeyWithSecret): Promise<void> {
  const database = new DatabaseSync(join(gateway.dataDir, 'trailgate.db'), { timeout: 2_000 });
  const change = database.prepare('update api_key_secret set expires_at = ? where hash = ? and expires_at is not null');
  expect(change.run(Date.now() - 1, hashSecret(key.secret)).changes).toBe(1);
  database.close();
  await gateway.admin.updateKey(key.id, { name: `renamed ${Date.now()}` });
}

describe('rotation with an overlap', () => {
  it('lets both secrets work as one key, with one ID, one quota and one usage', async () => {
    const { account, key } = await gateway.admin.newKey('five');
    const rotated = await gateway.admin.rotateKey(key.id, HOUR_S);
    expect([rotated.id, rotated.secret === key.secret]).toEqual([key.id, false]);
    const left: unknown[] = [];
    for (const { secret } of [key, rotated, key, rotated, key]) {
      const answer = await call(secret);
      expect(answer.status).toBe(200);
      left.push(/"key-minute";r=(\d+)/.exec(String(answer.headers['ratelimit']))?.[1]);
    }
    expect(left).toEqual(['4', '3', '2', '1', '0']);
    for (const { secret } of [key, rotated]) expectProblem(await call(secret), 'rate_limited');
    const seen = backend.requests.slice(-5).map(({ headers }) => headers['x-api-key-id']);
    expect(new Set(seen)).toEqual(new Set([key.id]));
    const usage = await gateway.admin.usage(account.id, `?api_key_id=${key.id}`);
    expect(usage.windows.find(({ policy }) => policy === 'key-month')).toMatchObject({ used: 5, remaining: 95 });
  });

  it('refuses the old secret as rotated after the overlap, and still accepts the new one', async () => {
    const { key } = await gateway.admin.newKey();
    const rotated = await gateway.admin.rotateKey(key.id, HOUR_S);
    for (const { secret } of [key, rotated]) expect((await call(secret)).status).toBe(200);
    await endOverlap(key);
    const answer = await call(key.secret);
    expect(expectProblem(answer, 'expired_api_key').detail).toMatch(/rotated/);
    expect(answer.headers['www-authenticate']).toContain('error="invalid_token"');
    expect((await call(rotated.secret)).status).toBe(200);
  });

  it('refuses another rotation unless the caller asks to end the previous secret', async () => {
    const { key } = await gateway.admin.newKey();
    const second = await gateway.admin.rotateKey(key.id, HOUR_S);
    for (const { secret } of [key, second]) expect((await call(secret)).status).toBe(200);
    const { previous_secret_expires_at: until } = await gateway.admin.getKey(key.id);
    expect(Date.parse(String(until))).toBeGreaterThan(Date.now());
    const refused = await gateway.admin.request('POST', `/api-keys/${key.id}/rotate`, { overlap_seconds: HOUR_S });
    expectProblem(refused, 'previous_secret_active');
    for (const { secret } of [key, second]) expect((await call(secret)).status).toBe(200);
    const third = await gateway.admin.rotateKey(key.id, HOUR_S, { end_previous_secret: true });
    expectProblem(await call(key.secret), 'expired_api_key');
    for (const { secret } of [second, third]) expect((await call(secret)).status).toBe(200);
  });

  it('can be ended early, after which only the current secret works', async () => {
    const { key } = await gateway.admin.newKey();
    const rotated = await gateway.admin.rotateKey(key.id, HOUR_S);
    for (const { secret } of [key, rotated]) expect((await call(secret)).status).toBe(200);
    const path = `/api-keys/${key.id}/end-previous-secret`;
    const ended = await gateway.admin.request('POST', path);
    expect([ended.status, ended.json()]).toEqual([200, expect.objectContaining({ previous_secret_expires_at: null })]);
    expect(expectProblem(await call(key.secret), 'expired_api_key').detail).toMatch(/rotated/);
    expect((await call(rotated.secret)).status).toBe(200);
    expect((await gateway.admin.request('POST', path)).json()).toEqual(ended.json());
  });

  it('does not extend the expiration of the key', async () => {
    const expires_at = new Date(Date.now() + 1_200).toISOString();
    const { key } = await gateway.admin.newKey('unlimited', { expires_at });
    const rotated = await gateway.admin.rotateKey(key.id, HOUR_S);
    await new Promise((done) => setTimeout(done, 1_300));
    for (const { secret } of [key, rotated]) expectProblem(await call(secret), 'expired_api_key');
  });

  it('ends for both secrets when the key is revoked, and the key cannot be rotated again', async () => {
    const { key } = await gateway.admin.newKey();
    const rotated = await gateway.admin.rotateKey(key.id, HOUR_S);
    for (const { secret } of [key, rotated]) expect((await call(secret)).status).toBe(200);
    await gateway.admin.revokeKey(key.id);
    for (const { secret } of [key, rotated]) expectProblem(await call(secret), 'revoked_api_key');
    const again = await gateway.admin.request('POST', `/api-keys/${key.id}/rotate`, { overlap_seconds: 0 });
    expectProblem(again, 'conflict');
  });
});

describe('rotation', () => {
  it('without an overlap refuses the old secret at once, and accepts the new one', async () => {
    const { key } = await gateway.admin.newKey();
    expect((await call(key.secret)).status).toBe(200);
    const rotated = await gateway.admin.rotateKey(key.id, 0);
    expect(expectProblem(await call(key.secret), 'expired_api_key').detail).toMatch(/rotated/);
    expect((await call(rotated.secret)).status).toBe(200);
  });

  it('rejects overlaps other than the offered ones, and leaves the secret valid', async () => {
    const { key } = await gateway.admin.newKey();
    for (const overlap_seconds of [-1, 1, 3_601, 1e9, '3600', null]) {
      const answer = await gateway.admin.request('POST', `/api-keys/${key.id}/rotate`, { overlap_seconds });
      expectProblem(answer, 'validation_failed');
    }
    expect((await call(key.secret)).status).toBe(200);
  });

  it('fails no request of a client that switches to the new secret as soon as it has it', async () => {
    const { key } = await gateway.admin.newKey();
    let { secret } = key;
    let rotations = 0;
    let used = '';
    const statuses = new Set<number>();
    const client = (async () => {
      while (rotations < 5) {
        const taken = secret;
        statuses.add((await call(taken)).status);
        used = taken;
      }
    })();
    for (; rotations < 5; rotations++) {
      ({ secret } = await gateway.admin.rotateKey(key.id, HOUR_S, { end_previous_secret: true }));
      // Waits for the client, because the next rotation ends this overlap at once.
      if (rotations < 4) await eventually('the client uses the new secret', () => used === secret);
    }
    await client;
    expect([...statuses]).toEqual([200]);
  });
});
