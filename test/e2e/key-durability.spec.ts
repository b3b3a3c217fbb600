/** An acknowledged key survives a crash of the process, and its secret is never stored. */
import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ApiKeyWithSecret } from '../support/admin.js';
import { hashSecret } from '../../src/keys/api-key-format.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';

/** Minimum number of acknowledged keys before the process is killed. */
const BEFORE_THE_END = 12;

/** Creates keys on several connections until it kills the process. Returns the acknowledged keys. */
async function createUntilDead(running: RunningTrailgate, accountId: string): Promise<ApiKeyWithSecret[]> {
  const acknowledged: ApiKeyWithSecret[] = [];
  const creator = async (): Promise<void> => {
    for (;;) {
      acknowledged.push(await running.admin.createKey(accountId));
      if (acknowledged.length === BEFORE_THE_END) setTimeout(() => void running.kill9(), 20);
    }
  };
  await Promise.allSettled(Array.from({ length: 4 }, creator));
  return acknowledged;
}

describe('on the embedded database', () => {
  it('no acknowledged key is lost by kill -9, and no file contains one of their secrets', async () => {
    let running = await startTrailgate();
    const { dataDir } = running;
    const account = await running.admin.createAccount();
    const acknowledged = await createUntilDead(running, account.id);
    await running.exited;
    expect(acknowledged.length).toBeGreaterThanOrEqual(BEFORE_THE_END);

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
