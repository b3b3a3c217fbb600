/** An installation moves from SQLite to PostgreSQL and back by export and import, without lost records or counts. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { newSecretsKey } from '../../src/stores/secrets/secret-box.js';
import type { ApiKeyWithSecret } from '../support/admin.js';
import { json, startBackend, type Backend } from '../support/backend.js';
import { describeWithPostgres } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { clientEnvOf, importInto, linesFile } from '../support/imports.js';
import { runTrailgate, startTrailgate, type RunningTrailgate } from '../support/program.js';
import { storeOf, type StoreKind } from '../support/worlds.js';

const TRAFFIC_CLIENTS = 4;

/** Installation that can be started with all roles or with the admin role only. */
class Installation {
  running: RunningTrailgate | undefined;
  private dataDir: string | undefined;

  private constructor(
    readonly store: Awaited<ReturnType<typeof storeOf>>,
    private readonly backend: Backend,
    private readonly secretsKey: string,
  ) {}

  static async on(kind: StoreKind, backend: Backend, secretsKey: string): Promise<Installation> {
    return new Installation(await storeOf(kind), backend, secretsKey);
  }

  async start(roles?: readonly ['admin']): Promise<RunningTrailgate> {
    await this.running?.stop();
    this.running = await startTrailgate({
      backend: this.backend.url,
      env: { ...this.store.env, TRAILGATE_SECRETS_KEY: this.secretsKey },
      config: {
        plans: { moving: { account: { month: 100_000 } } },
      },
      ...(roles === undefined ? {} : { roles }),
      ...(this.dataDir === undefined ? {} : { dataDir: this.dataDir }),
    });
    this.dataDir = this.running.dataDir;
    return this.running;
  }

  async end(): Promise<void> {
    await this.running?.stop();
    await this.store.drop();
  }
}

/** Runs the `awk` program of docs/import-export.md, which leaves out keys that have not changed. */
function changedSince(records: readonly string[], later: readonly string[]): string[] {
  const page = readFileSync('docs/import-export.md', 'utf8');
  const [, program = ''] = /^ +awk '(.*)' records\.ndjson later\.ndjson > changed\.ndjson$/m.exec(page) ?? [];
  const { stdout, stderr } = spawnSync('awk', [program, linesFile(records), linesFile(later)], { encoding: 'utf8' });
  expect(stderr).toBe('');
  return stdout.trim().split('\n');
}

/** Sorts the lines of an export, and removes the times of last use. Keys may have been used on the new side later. */
function comparable(lines: readonly string[]): string[] {
  return lines.map((line) => line.replace(/"last_used_at":(?:null|"[^"]*")/, '')).toSorted();
}

describeWithPostgres('a move by export and import', () => {
  let backend: Backend;
  const secretsKey = newSecretsKey();
  const installations: Installation[] = [];
  beforeAll(async () => {
    backend = await startBackend(json({ ok: true }));
  });
  afterAll(async () => {
    for (const installation of installations) await installation.end();
    await backend.stop();
  });

  const install = async (kind: StoreKind) => {
    const installation = await Installation.on(kind, backend, secretsKey);
    installations.push(installation);
    return installation;
  };
  const exportOf = async (running: RunningTrailgate, ...args: string[]) => {
    const { stdout, stderr, code } = await runTrailgate(['export', ...args], { env: clientEnvOf(running) });
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
    return stdout.trim().split('\n');
  };
  const importOf = async (running: RunningTrailgate, lines: readonly string[], ...args: string[]) => {
    const { stdout, stderr, code } = await importInto(running, linesFile(lines), args);
    expect({ stderr, code }).toEqual({ stderr: '', code: 0 });
    return stdout.trim();
  };
  const call = async (running: RunningTrailgate, secret: string) => {
    const headers = { Authorization: `Bearer ${secret}` };
    return (await send(`${running.gatewayUrl}/api/v1/open`, { headers })).status;
  };
  /** Sends requests with the keys. Call `end` to stop and get the number of served requests. */
  const traffic = (running: RunningTrailgate, keys: readonly ApiKeyWithSecret[]) => {
    let isOver = false;
    let served = 0;
    const client = async (offset: number): Promise<void> => {
      for (let at = offset; !isOver; at++) {
        if ((await call(running, keys[at % keys.length]!.secret)) === 200) served += 1;
      }
    };
    const clients = Promise.all(Array.from({ length: TRAFFIC_CLIENTS }, (_, at) => client(at)));
    return {
      end: async () => {
        isOver = true;
        await clients;
        return served;
      },
    };
  };
  const usedBy = async (running: RunningTrailgate, accountId: string, keyId?: string) => {
    const usage = await running.admin.usage(accountId, keyId === undefined ? '' : `?api_key_id=${keyId}`);
    return usage.windows.find(({ policy }) => policy === `${keyId === undefined ? 'account' : 'key'}-month`)?.used;
  };

  /**
   * Moves an installation under traffic, as docs/import-export.md describes. Returns the number of requests that the
   * old side served.
   */
  const move = async (
    from: Installation,
    to: Installation,
    keys: readonly ApiKeyWithSecret[],
    during = async () => {},
  ) => {
    let old = from.running!;
    const load = traffic(old, keys);
    const next = await to.start();
    const records = await exportOf(old);
    await importOf(next, records, '--on-conflict', 'update');
    // Simulates a test of the new side before the move.
    expect(await call(next, keys[0]!.secret)).toBe(200);
    await during();
    const served = await load.end();
    old = await from.start(['admin']);
    const lines = await exportOf(old);
    await importOf(next, changedSince(records, lines), '--on-conflict', 'update');
    expect(comparable(await exportOf(next))).toEqual(comparable(lines));
    return served;
  };

  it('from SQLite to PostgreSQL and back under traffic keeps every record, secret and count', async () => {
    const sqlite = await install('SQLite');
    const first = await sqlite.start();
    const { admin } = first;
    const plans = { plan: 'moving', time_zone: 'Europe/Vienna' };
    const account = await admin.call<{ id: string }>('POST', '/accounts', {
      ...plans,
      name: 'Salzach',
      external_id: 'crm-1',
      metadata: { tier: 'gold' },
    });
    const keys = [
      await admin.createKey(account.id, { limits: { month: 100_000 } }),
      await admin.createKey(account.id, { scopes: ['customers:read'], limits: { month: 5_000 } }),
    ];
    const rotating = await admin.createKey(account.id);
    const rotated = await admin.rotateKey(rotating.id, 86_400);
    const revoked = await admin.createKey(account.id);
    await admin.revokeKey(revoked.id);
    await importOf(first, [
      JSON.stringify({
        type: 'api_key',
        account_id: account.id,
        name: 'Foreign',
        scopes: ['*'],
        secret: 'foreign-secret-0123456789',
      }),
    ]);
    await admin.call('POST', '/members', { email: 'Ana@example.com', name: 'Ana' });
    const endpoint = { url: 'https://93.184.216.34/hooks', event_types: ['account.suspended'] };
    await admin.call('POST', `/accounts/${account.id}/webhook-endpoints`, endpoint);
    await admin.adjustQuota(account.id, { window: 'month', type: 'grant', amount: 500, reason: 'Fair' });
    await admin.adjustQuota(account.id, {
      window: 'month',
      type: 'set',
      amount: 40,
      api_key_id: keys[1]!.id,
      reason: 'Refund',
    });

    const postgres = await install('PostgreSQL');
    const late = await admin.createKey(account.id);
    let lateSecret = '';
    const served = await move(sqlite, postgres, keys, async () => {
      lateSecret = (await admin.rotateKey(late.id, 86_400)).secret;
    });
    expect(served).toBeGreaterThan(50);
    const second = postgres.running!;
    expect(await usedBy(second, account.id)).toBe(served);
    const ofKeys = await Promise.all(keys.map(({ id }) => usedBy(second, account.id, id)));
    expect(ofKeys.reduce((sum = 0, used = 0) => sum + used)).toBe(served + 40);
    const statuses = [rotating, rotated, revoked, late].map(({ secret }) => call(second, secret));
    const others = [lateSecret, 'foreign-secret-0123456789'].map((secret) => call(second, secret));
    expect(await Promise.all([...statuses, ...others])).toEqual([200, 200, 401, 200, 200, 200]);
    expect(await usedBy(second, account.id)).toBe(served + 5);

    const back = await install('SQLite');
    const servedThere = await move(postgres, back, keys);
    const third = back.running!;
    expect(await usedBy(third, account.id)).toBe(served + 5 + servedThere);
    await back.start();
    expect(await usedBy(back.running!, account.id)).toBe(served + 5 + servedThere);
    const sums = await back.running!.admin.usage(account.id, '?group_by=month');
    const rows = (sums as unknown as { data: { cost: number }[] }).data;
    expect(rows.map(({ cost }) => cost)).toEqual([served + 5 + servedThere]);
  });

  it('has one audit log entry for each exported record type', async () => {
    const running = await (await install('SQLite')).start();
    await exportOf(running, '--type', 'account', 'api_key');
    const { data } = await running.admin.auditLog('');
    const exported = data.filter(({ action }) => action === 'installation.exported');
    expect(exported.map(({ target }) => (target as { id: string }).id).toSorted()).toEqual(['account', 'api_key']);
  });

  it('loses and duplicates nothing if its import is killed ten times and then repeated', async () => {
    const sqlite = await install('SQLite');
    const first = await sqlite.start();
    const records = Array.from({ length: 600 }, (_, at) => [
      { type: 'account', external_id: `a-${at}`, name: `Account ${at}`, plan: 'unlimited' },
      { type: 'api_key', account_external_id: `a-${at}`, name: 'k', scopes: ['*'], secret: `secret-of-key-0123-${at}` },
    ]);
    await importOf(
      first,
      records.flat().map((record) => JSON.stringify(record)),
    );
    const bare = await exportOf(first);
    const counts = bare
      .map((line) => JSON.parse(line) as Record<string, string>)
      .filter(({ type }) => type === 'api_key')
      .flatMap(({ id, account_id }, at) => [
        { type: 'month_count', account_id, month: '2026-01-01', used: at },
        { type: 'month_count', account_id, api_key_id: id, month: '2026-01-01', used: at },
      ]);
    await importOf(
      first,
      counts.map((count) => JSON.stringify(count)),
    );
    const lines = await exportOf(first);
    expect(lines.length).toBe(1 + 600 * 4);
    const postgres = await install('PostgreSQL');
    const second = await postgres.start();
    const file = linesFile(lines);
    for (let round = 0; round < 10; round++) {
      await importInto(second, file, [], { timeoutMs: 300 + Math.round(Math.random() * 700) });
    }
    await importOf(second, lines);
    expect((await exportOf(second)).toSorted()).toEqual(lines.toSorted());
    const [, , { id = '' } = {}] = counts.map(({ account_id: id }) => ({ id }));
    const usage = await second.admin.usage(id, '?group_by=month&from=2026-01-01&to=2026-01-31');
    expect((usage as unknown as { data: unknown[] }).data).toMatchObject([{ cost: 1 }]);
  });
});
