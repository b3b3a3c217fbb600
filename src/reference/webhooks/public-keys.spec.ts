/** Public keys of webhooks: requests share queries, and cached keys are served while the database is down. */
import { describe, expect, it } from '@jest/globals';
import type { WebhookPublicKey } from '../../webhooks/signing/secret-store.js';
import { PublicKeys } from './public-keys.js';

const id = (number: number) => `whe_${String(number).padStart(25, '0')}`;

function setUp() {
  const rows = new Map<string, WebhookPublicKey[]>();
  const questions: (readonly string[])[] = [];
  const state = { nowMs: 1_000_000, isAway: false };
  const secrets = {
    publicKeys: async (ids: readonly string[]) => {
      questions.push(ids);
      await new Promise((resolve) => setImmediate(resolve));
      if (state.isAway) throw new Error('away');
      return new Map(ids.map((one) => [one, rows.get(one) ?? []]));
    },
  };
  return { rows, questions, state, keys: new PublicKeys(secrets, { now: () => state.nowMs }) };
}

const key = (name: string, expiresAt: number | null = null) => ({ key: name, createdAt: 0, expiresAt });

describe('the public keys of an endpoint', () => {
  it('are read with one query at a time, however many requests wait', async () => {
    const { rows, questions, keys } = setUp();
    rows.set(id(1), [key('whpk_1')]);
    const asked = Array.from({ length: 1_200 }, (_, number) => keys.findKeys(id(number % 600)));
    const found = await Promise.all(asked);
    expect(found[1]).toEqual([key('whpk_1')]);
    expect(questions.map(({ length }) => length)).toEqual([1, 500, 100]);
  });

  it('are read again after five seconds, and never for an invalid ID', async () => {
    const { rows, questions, state, keys } = setUp();
    rows.set(id(1), [key('whpk_1')]);
    for (const waitMs of [0, 4_999, 1]) {
      state.nowMs += waitMs;
      await keys.findKeys(id(1));
    }
    expect(questions).toEqual([[id(1)], [id(1)]]);
    for (const none of ['', 'whe_1', 'acc_00000000000000000000000000', `${id(1)}0`]) {
      expect(await keys.findKeys(none)).toEqual([]);
    }
    expect(questions).toHaveLength(2);
  });

  it('are cached for an hour while the database is away, except keys that have expired', async () => {
    const { rows, state, keys } = setUp();
    rows.set(id(1), [key('whpk_2'), key('whpk_1', state.nowMs + 60_000)]);
    await keys.findKeys(id(1));
    state.isAway = true;
    state.nowMs += 59_999;
    expect(await keys.findKeys(id(1))).toHaveLength(2);
    state.nowMs += 1;
    expect(await keys.findKeys(id(1))).toEqual([key('whpk_2')]);
    await expect(keys.findKeys(id(2))).rejects.toMatchObject({ code: 'database_unavailable' });
    state.nowMs += 3_600_000;
    await expect(keys.findKeys(id(1))).rejects.toMatchObject({ code: 'database_unavailable' });
    state.isAway = false;
    expect(await keys.findKeys(id(1))).toEqual([key('whpk_2'), key('whpk_1', expect.any(Number) as unknown as number)]);
  });

  it('are refused while 2,000 other endpoints wait for the query', async () => {
    const { keys } = setUp();
    const asked = Array.from({ length: 2_500 }, (_, number) => keys.findKeys(id(number)).then(() => 'found', String));
    const found = await Promise.all(asked);
    expect(found.filter((outcome) => outcome === 'found')).toHaveLength(2_001);
    await expect(keys.findKeys(id(1))).resolves.toEqual([]);
  });
});
