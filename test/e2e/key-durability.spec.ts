/** A key that was acknowledged exists, whatever happens to the process; its secret exists nowhere. */
import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ApiKeyWithSecret } from '../support/admin.js';
import { hashSecret } from '../../src/keys/api-key-format.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';

/** Creates keys on several connections until the process is gone; resolves with those that were acknowledged. */
async function createUntilDead(running: RunningTrailgate, accountId: string): Promise<ApiKeyWithSecret[]> {
  const acknowledged: ApiKeyWithSecret[] = [];
  const creator = async (): Promise<void> => {
    for (;;) acknowledged.push(await running.admin.createKey(accountId));
  };
  await Promise.allSettled(Array.from({ length: 4 }, creator));
  return acknowledged;
}

describe('on the embedded database', () => {
  it('no acknowledged key is lost by kill -9, and none of their secrets stands in any file', async () => {
    let running = await startTrailgate();
    const { dataDir } = running;
    const account = await running.admin.createAccount();
    const creating = createUntilDead(running, account.id);
    setTimeout(() => void running.kill9(), 300);
    const acknowledged = await creating;
    await running.exited;
    expect(acknowledged.length).toBeGreaterThan(10);

    running = await startTrailgate({ dataDir });
    const kept: string[] = [];
    let query = '?limit=100';
    for (;;) {
      const page = await running.admin.call<{ data: { id: string }[]; next_cursor: string | null }>(
        'GET',
        `/accounts/${account.id}/api-keys${query}`,
      );
      kept.push(...page.data.map(({ id }) => id));
      if (page.next_cursor === null) break;
      query = `?limit=100&cursor=${page.next_cursor}`;
    }
    expect(kept).toEqual(expect.arrayContaining(acknowledged.map(({ id }) => id)));

    const files = readdirSync(dataDir).map((name) => readFileSync(join(dataDir, name)));
    const bytes = Buffer.concat(files);
    for (const { secret } of acknowledged) {
      expect(bytes.includes(hashSecret(secret))).toBe(true);
      expect(bytes.includes(secret.slice('tg_live_'.length, 30))).toBe(false);
    }
    await running.stop();
  });
});
