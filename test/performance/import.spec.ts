/** An import of 100,000 keys of another gateway takes less than a minute, on SQLite and PostgreSQL. */
import { expect, it } from '@jest/globals';
import { performance } from 'node:perf_hooks';
import { storeOf } from '../support/worlds.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { clientEnvOf, importInto, linesFile } from '../support/imports.js';
import { runTrailgate, startTrailgate } from '../support/program.js';

const KEYS = 100_000;
const ACCOUNTS = 1_000;
const MAX_MS = 60_000;
/** Number of imported keys that send a request. */
const TRIED = 500;

describeOnDatabases('an import', (kind) => {
  it('of 100,000 keys takes less than a minute, has all keys, and 500 of them work on their first request', async () => {
    const database = await storeOf(kind === 'sqlite' ? 'SQLite' : 'PostgreSQL');
    const running = await startTrailgate({ env: database.env });
    const secretOf = (at: number) => `foreign-secret-of-key-${String(at).padStart(6, '0')}`;
    const file = linesFile([
      ...Array.from({ length: ACCOUNTS }, (_, at) => {
        return { type: 'account', external_id: `crm-${at}`, name: `Account ${at}`, plan: 'unlimited' };
      }),
      ...Array.from({ length: KEYS }, (_, at) => {
        const owner = { account_external_id: `crm-${at % ACCOUNTS}`, external_id: `key-${at}` };
        return { type: 'api_key', ...owner, name: `Key ${at}`, scopes: ['customers:read'], secret: secretOf(at) };
      }),
    ]);
    const begin = performance.now();
    const { stdout, stderr } = await importInto(running, file, [], { timeoutMs: 300_000 });
    const tookMs = performance.now() - begin;
    process.stderr.write(`import of ${KEYS} keys on ${kind}: ${(tookMs / 1_000).toFixed(1)} s\n`);
    expect({ stdout, stderr }).toEqual({
      stdout: `imported ${KEYS + ACCOUNTS}, updated 0, skipped 0, failed 0\n`,
      stderr: '',
    });
    const statuses = new Set<number>();
    for (let at = 0; at < KEYS; at += KEYS / TRIED) {
      const headers = { Authorization: `Bearer ${secretOf(at)}` };
      statuses.add((await send(`${running.gatewayUrl}/api/v1/usage`, { headers })).status);
    }
    expect([...statuses]).toEqual([200]);
    const exported = await runTrailgate(['export', '--type', 'api_key'], {
      env: clientEnvOf(running),
      timeoutMs: 60_000,
    });
    const names = exported.stdout.match(/"external_id":"key-\d+"/g) ?? [];
    expect([names.length, new Set(names).size]).toEqual([KEYS, KEYS]);
    await running.stop();
    await database.drop();
    expect(tookMs).toBeLessThan(MAX_MS);
  }, 400_000);
});
