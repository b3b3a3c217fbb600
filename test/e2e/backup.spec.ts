/**
 * A backup of a running SQLite database has every write that was acknowledged before it. The program can start from it.
 */
import { copyFileSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from '@jest/globals';
import { send } from '../support/http.js';
import { startBackend } from '../support/backend.js';
import { temporaryFolder } from '../support/processes.js';
import { runTrailgate, startTrailgate, type RunningTrailgate } from '../support/program.js';

let running: RunningTrailgate | undefined;
afterEach(() => running?.stop());

const backup = (file: string, dataDir: string, env: Record<string, string> = {}) =>
  runTrailgate(['backup', file], { env: { TRAILGATE_DATA_DIR: dataDir, ...env } });

it('a backup made during writes is restored by copying it, with every key created before it', async () => {
  const backend = await startBackend((_request, response) => response.end('{}'));
  try {
    running = await startTrailgate({ backend: backend.url });
    const account = await running.admin.createAccount({ plan: 'unlimited' });
    const secrets: string[] = [];
    let isWriting = true;
    const writing = (async () => {
      while (isWriting) secrets.push((await running!.admin.createKey(account.id)).secret);
    })();
    while (secrets.length < 20) await new Promise(setImmediate);
    const folder = temporaryFolder('backup');
    const file = join(folder, 'copy.db');
    const before = [...secrets];
    const result = await backup(file, running.dataDir);
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(result.stdout).toMatch(/trailgate\.db → .*copy\.db \(\d+\.\d MiB\)\n.*secrets-key/);
    isWriting = false;
    await writing;
    expect(secrets.length).toBeGreaterThan(before.length);
    expect(readdirSync(folder)).toEqual(['copy.db']);
    expect(statSync(file).mode & 0o077).toBe(0);
    await running.stop();
    const dataDir = join(folder, 'restored');
    mkdirSync(dataDir);
    copyFileSync(file, join(dataDir, 'trailgate.db'));
    running = await startTrailgate({ backend: backend.url, dataDir });
    for (const secret of before) {
      const response = await send(`${running.gatewayUrl}/api/v1/open`, {
        headers: { authorization: `Bearer ${secret}` },
      });
      expect(response.status).toBe(200);
    }
  } finally {
    await backend.stop();
  }
});

it('a backup is refused if its file exists or cannot be written, or if there is no SQLite database', async () => {
  const folder = temporaryFolder('backup');
  const [dataDir, file] = [join(folder, 'data'), join(folder, 'there')];
  mkdirSync(dataDir);
  writeFileSync(file, 'mine');
  const refused = async (target: string, words: RegExp, env: Record<string, string> = {}) => {
    const { code, stdout, stderr } = await backup(target, dataDir, env);
    expect([code, stdout, stderr]).toEqual([1, '', expect.stringMatching(words)]);
  };
  await refused(join(folder, 'new'), /trailgate\.db does not exist/);
  writeFileSync(join(dataDir, 'trailgate.db'), '');
  await refused(file, /there exists\. Name a new file/);
  expect(readFileSync(file, 'utf8')).toBe('mine');
  await refused(join(folder, 'none', 'new'), /cannot be written/);
  await refused(join(folder, 'new'), /pg_dump/, { DATABASE_URL: 'postgres://nobody@127.0.0.1:9/none' });
  expect(readdirSync(folder).toSorted()).toEqual(['data', 'there']);
});
