/** Imports of accounts and keys from another gateway. Imported secrets work from the first request on. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { storeOf } from '../support/worlds.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { clientEnvOf, importInto, linesFile } from '../support/imports.js';
import { temporaryFolder } from '../support/processes.js';
import { runTrailgate, startTrailgate, type RunningTrailgate } from '../support/program.js';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const scopes = ['customers:read'];

/** Returns the code blocks of a language in docs/import-export.md. */
function blocksOf(language: string): string[] {
  const page = readFileSync('docs/import-export.md', 'utf8');
  return [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, block = '']) => block);
}

describeOnDatabases('an import', (kind) => {
  let database: Awaited<ReturnType<typeof storeOf>>;
  let running: RunningTrailgate;

  beforeAll(async () => {
    database = await storeOf(kind === 'sqlite' ? 'SQLite' : 'PostgreSQL');
    running = await startTrailgate({ env: database.env });
  });
  afterAll(async () => {
    await running?.stop();
    await database?.drop();
  });

  const statusOf = async (secret: string) => {
    const answer = await send(`${running.gatewayUrl}/api/v1/usage`, { headers: { Authorization: `Bearer ${secret}` } });
    return answer.status === 200 ? 200 : `${answer.status} ${String(answer.json()['code'])}`;
  };
  const run = async (lines: readonly (object | string)[], ...args: string[]) => {
    const file = linesFile(lines);
    const { stdout, stderr, code } = await importInto(running, file, args);
    return { summary: stdout.trim(), problems: stderr.replaceAll(file, 'FILE').split('\n').filter(Boolean), code };
  };
  const done = (counts: string) => ({ summary: counts, problems: [], code: 0 });

  it('makes plain and hashed foreign secrets valid at once, and skips them when repeated', async () => {
    const plain = 'sk_kong_0123456789abcdef';
    const hashed = 'unkey_3ZHoLg6ky9xCrqzGd2sUrE5k';
    const own = (await running.admin.newKey()).key;
    expect([await statusOf(plain), await statusOf(hashed)]).toEqual(['401 invalid_api_key', '401 invalid_api_key']);
    const lines = [
      { type: 'account', external_id: 'crm-1', name: 'Isar', plan: 'starter', metadata: { tier: 'gold' } },
      { type: 'api_key', account_external_id: 'crm-1', external_id: 'k-1', name: 'Plain', scopes, secret: plain },
      { type: 'api_key', account_external_id: 'crm-1', name: 'Hashed', scopes, secret_sha256: sha256(hashed) },
    ];
    expect(await run(lines)).toEqual(done('imported 3, updated 0, skipped 0, failed 0'));
    expect([await statusOf(plain), await statusOf(hashed)]).toEqual([200, 200]);
    expect(await run(lines)).toEqual(done('imported 0, updated 0, skipped 3, failed 0'));
    const guesses = [`${plain}x`, plain.toUpperCase(), 'sk_kong_ffffffffffffffff'];
    expect(await Promise.all(guesses.map(statusOf))).toEqual(guesses.map(() => '401 invalid_api_key'));
    expect([await statusOf(plain), await statusOf(own.secret)]).toEqual([200, 200]);
  });

  it('makes a secret valid that was refused before', async () => {
    const secret = 'tried-before-its-import-1234';
    expect(await statusOf(secret)).toBe('401 invalid_api_key');
    const account = { type: 'account', external_id: 'crm-2', name: 'Inn', plan: 'starter' };
    await run([account, { type: 'api_key', account_external_id: 'crm-2', name: 'k', scopes, secret }]);
    expect(await statusOf(secret)).toBe(200);
  });

  it('accepts foreign secrets with part of our prefix, and refuses our prefix without a valid checksum', async () => {
    const secrets = ['tg_x0uG2O_lNvEqw14OQZMyUUwqWy-de', 'tg_live-0123456789', 'tga_0123456789abcdef'];
    const keys = secrets.map((secret, at) => ({
      type: 'api_key',
      account_external_id: 'crm-prefix',
      external_id: `prefix-${at}`,
      name: 'k',
      scopes,
      secret,
    }));
    const account = { type: 'account', external_id: 'crm-prefix', name: 'Prefix', plan: 'starter' };
    expect(await run([account, ...keys])).toEqual(done('imported 4, updated 0, skipped 0, failed 0'));
    expect(await Promise.all(secrets.map(statusOf))).toEqual([200, 200, 200]);
    // With only a hash, the hint shows that no such secret can be valid.
    const hashed = {
      ...keys[0],
      external_id: 'hashed',
      secret: undefined,
      secret_sha256: 'ab'.repeat(32),
      hint: 'tg_prod_…',
    };
    expect((await run([hashed])).problems).toEqual([
      'FILE:1 hint: begins like a secret of Trailgate, but no such secret can be used',
    ]);
    const own = { ...keys[0], external_id: 'own', secret: 'tg_live_0123456789012345678901234567890123456' };
    expect((await run([own])).problems).toEqual([
      'FILE:1 secret: begins like a secret of Trailgate, but does not have its checksum',
    ]);
  });

  it('reports each bad line with its number and reason, and imports the rest', async () => {
    const key = { type: 'api_key', account_external_id: 'crm-3', name: 'k', scopes };
    const good = 'good-secret-0123456789';
    const result = await run([
      { trailgate_export: 1, version: '0.1.0' },
      { type: 'account', external_id: 'crm-3', name: 'Lech', plan: 'starter' },
      '{"type": "account"',
      '[1]',
      { type: 'invoice' },
      { type: 'account', external_id: 'crm-4', name: 'x', plan: 'nowhere' },
      { type: 'account', name: 'x', plan: 'starter' },
      { type: 'account', external_id: 'crm-5', name: 'x', plan: 'starter', tiem_zone: 'UTC' },
      { ...key, secret: 'too-short' },
      { ...key, secret: 'with spaces in it, and more' },
      { ...key, secret: `tg_live_${'a'.repeat(36)}` },
      { ...key, secret_sha256: 'abc' },
      { ...key, scopes: ['customers:fly'], secret: 'another-secret-0123456789' },
      { ...key, account_external_id: 'nobody', secret: 'another-secret-0123456789' },
      { ...key },
      '',
      { ...key, secret: good },
      { ...key, external_id: 'taken', secret: good },
    ]);
    expect(result).toEqual({
      summary: 'imported 2, updated 0, skipped 0, failed 14',
      code: 1,
      problems: [
        'FILE:3 is no JSON object',
        'FILE:4 is no JSON object',
        expect.stringMatching(/^FILE:5 type: must be one of account, api_key/),
        'FILE:6 plan: nowhere is not a plan of the configuration',
        'FILE:7 needs an id or an external_id, so that the import can be repeated',
        expect.stringMatching(/^FILE:8 .*tiem_zone/),
        expect.stringMatching(/^FILE:9 secret: must be 16 to 200/),
        expect.stringMatching(/^FILE:10 secret: must be 16 to 200/),
        expect.stringMatching(/^FILE:11 secret: begins like a secret of Trailgate/),
        expect.stringMatching(/^FILE:12 secret_sha256: must be 64/),
        'FILE:13 scopes: customers:fly is not a scope of any operation',
        'FILE:14 there is no account nobody',
        'FILE:15 needs a secret or a secret_sha256',
        expect.stringMatching(/^FILE:18 the secret belongs to key_/),
      ],
    });
    expect(await statusOf(good)).toBe(200);
  });

  it('with --dry-run checks the whole file and stores nothing', async () => {
    const secret = 'dry-run-secret-0123456789';
    const account = { type: 'account', external_id: 'crm-6', name: 'x', plan: 'starter' };
    const others = Array.from({ length: 300 }, (_, at) => ({ ...account, external_id: `dry-${at}` }));
    const key = { type: 'api_key', account_external_id: 'crm-6', name: 'k', scopes, secret };
    const lines = [account, ...others, key, { ...key, account_external_id: 'nobody', secret: `${secret}x` }];
    expect(await run(lines, '--dry-run')).toEqual({
      summary: 'imported 302, updated 0, skipped 0, failed 1',
      problems: ['FILE:303 there is no account nobody'],
      code: 1,
    });
    expect(await running.admin.call('GET', '/accounts?external_id=crm-6')).toMatchObject({ data: [] });
    expect(await statusOf(secret)).toBe('401 invalid_api_key');
  });

  it('with --dry-run resolves references to earlier records of an export, and stores nothing', async () => {
    const { account, key } = await running.admin.newKey('starter');
    const accounts = [{ account_id: account.id, role: 'owner' }];
    await run([{ type: 'member', name: 'Enid', email: `enid-${kind}@example.com`, accounts }]);
    const adjustment = { type: 'grant', amount: 5, window: 'month', reason: 'test' };
    await running.admin.call('POST', `/accounts/${account.id}/quota-adjustments`, adjustment);
    await statusOf(key.secret);
    const { stdout } = await runTrailgate(['export'], { env: clientEnvOf(running) });
    const lines = stdout.trim().split('\n');
    const fresh = await startTrailgate();
    const result = await importInto(fresh, linesFile(lines), ['--dry-run', '--json']);
    expect(result).toMatchObject({ stderr: '', code: 0 });
    expect(JSON.parse(result.stdout)).toMatchObject({ failed: 0, imported: lines.length - 1 });
    const { data } = await fresh.admin.call<{ data: object[] }>('GET', '/accounts');
    expect(data).toEqual([]);
    await fresh.stop();
  });

  it('can move an external_id to another account, and to another key, within one file', async () => {
    const account = { type: 'account', name: 'x', plan: 'starter' };
    await run([
      { ...account, external_id: 'from' },
      {
        type: 'api_key',
        account_external_id: 'from',
        external_id: 'k',
        name: 'k',
        scopes,
        secret: 'handed-over-secret-1',
      },
    ]);
    const id = await accountIdOf('from');
    const [key] = (await running.admin.listKeys(id)).data;
    const changes = [
      { ...account, id, external_id: 'free' },
      { ...account, external_id: 'from', name: 'new' },
      { type: 'api_key', account_id: id, id: key!.id, external_id: 'l' },
      { type: 'api_key', account_id: id, external_id: 'k', name: 'n', scopes, secret: 'handed-over-secret-2' },
    ];
    expect(await run(changes, '--on-conflict', 'update')).toEqual(done('imported 2, updated 2, skipped 0, failed 0'));
    expect(await accountIdOf('free')).toBe(id);
    expect(await accountIdOf('from')).not.toBe(id);
    expect([await statusOf('handed-over-secret-1'), await statusOf('handed-over-secret-2')]).toEqual([200, 200]);
  });

  it('reports lines longer than 256 KiB and imports the others', async () => {
    const account = (externalId: string) => ({ type: 'account', external_id: externalId, name: 'x', plan: 'starter' });
    const long = [300_000, 3_000_000].map((length) => ({ ...account('long'), note: 'y'.repeat(length) }));
    expect(await run([account('short-1'), ...long, account('short-2')])).toEqual({
      summary: 'imported 2, updated 0, skipped 0, failed 2',
      problems: ['FILE:2 is longer than 256 KiB', 'FILE:3 is longer than 256 KiB'],
      code: 1,
    });
  });

  it('with --on-conflict skips, updates or fails existing records, and updates take effect at once', async () => {
    const [first, second] = ['conflict-first-0123456789', 'conflict-second-0123456789'];
    const account = { type: 'account', external_id: 'crm-7', name: 'Before', plan: 'starter' };
    const key = { type: 'api_key', account_external_id: 'crm-7', external_id: 'k', name: 'k', scopes, secret: first };
    await run([account, key]);
    expect(await statusOf(first)).toBe(200);
    const changed = [
      { ...account, name: 'After' },
      { ...key, name: 'renamed', secret: second },
    ];
    expect(await run(changed, '--on-conflict', 'fail')).toMatchObject({
      summary: 'imported 0, updated 0, skipped 0, failed 2',
      code: 1,
    });
    expect(await run(changed)).toMatchObject({ summary: 'imported 0, updated 0, skipped 2, failed 0' });
    expect(await statusOf(second)).toBe('401 invalid_api_key');
    expect(await run(changed, '--on-conflict', 'update')).toEqual(done('imported 0, updated 2, skipped 0, failed 0'));
    expect([await statusOf(first), await statusOf(second)]).toEqual(['401 expired_api_key', 200]);
    const suspended = [{ ...account, name: 'After', status: 'suspended' }];
    expect(await run(suspended, '--on-conflict', 'update')).toEqual(done('imported 0, updated 1, skipped 0, failed 0'));
    expect(await statusOf(second)).toBe('403 account_suspended');
    expect(await run(suspended, '--on-conflict', 'update')).toEqual(done('imported 0, updated 0, skipped 1, failed 0'));
    const [{ id } = { id: '' }] = (
      await running.admin.call<{ data: { id: string }[] }>('GET', '/accounts?external_id=crm-7')
    ).data;
    const actions = (await running.admin.auditLog(`?account_id=${id}`)).data.map(({ action }) => action);
    expect(actions.toSorted()).toEqual([
      'account.created',
      'account.updated',
      'account.updated',
      'api_key.created',
      'api_key.updated',
    ]);
  });

  it('does not restore a member whose data was erased', async () => {
    const { account } = await running.admin.newKey('starter');
    const line = { type: 'member', name: 'Gwen', email: `gwen-${kind}@example.com` };
    await run([line]);
    const { data } = await running.admin.call<{ data: { id: string; email: string }[] }>('GET', '/members');
    const { id = '' } = data.find(({ email }) => email === line.email) ?? {};
    await running.admin.call('DELETE', `/members/${id}`);
    const accounts = [{ account_id: account.id, role: 'admin' }];
    const again = await run([{ ...line, id, accounts }], '--on-conflict', 'update');
    expect(again).toMatchObject({ summary: 'imported 0, updated 0, skipped 0, failed 1', code: 1 });
    expect(again.problems).toEqual([`FILE:1 the member ${id} was erased`]);
    expect((await running.admin.call<{ data: object[] }>('GET', `/accounts/${account.id}/members`)).data).toEqual([]);
  });

  it('that is killed at random moments and repeated imports every record once', async () => {
    const lines = [
      { type: 'account', external_id: 'killed', name: 'x', plan: 'unlimited' },
      ...Array.from({ length: 3_000 }, (_, at) => ({
        type: 'api_key',
        account_external_id: 'killed',
        name: `k ${at}`,
        scopes,
        secret: `killed-import-secret-${at}`,
      })),
    ];
    const file = linesFile(lines);
    for (let round = 0; round < 10; round++) {
      await importInto(running, file, [], { timeoutMs: 200 + Math.round(Math.random() * 1_000) });
    }
    const { stdout } = await importInto(running, file, ['--json']);
    const counts = JSON.parse(stdout) as Record<string, number>;
    expect((counts['imported'] ?? 0) + (counts['skipped'] ?? 0)).toBe(3_001);
    const keys = await runTrailgate(['keys', 'list', await accountIdOf('killed'), '--limit', '9999', '--json'], {
      env: clientEnvOf(running),
    });
    const { data } = JSON.parse(keys.stdout) as { data: { name: string }[] };
    expect(new Set(data.map(({ name }) => name)).size).toBe(3_000);
    expect(data.length).toBe(3_000);
    expect(await statusOf('killed-import-secret-2999')).toBe(200);
  });

  it('that runs three times at once imports each record once', async () => {
    const lines = Array.from({ length: 200 }, (_, at) => [
      { type: 'account', external_id: `twice-${at}`, name: 'x', plan: 'unlimited' },
      { type: 'api_key', account_external_id: `twice-${at}`, name: 'k', scopes, secret: `imported-at-once-${at}` },
    ]).flat();
    const results = await Promise.all([run(lines, '--json'), run(lines, '--json'), run(lines, '--json')]);
    expect(results.map(({ problems, code }) => ({ problems, code }))).toEqual(
      results.map(() => ({ problems: [], code: 0 })),
    );
    const counts = results.map(({ summary }) => JSON.parse(summary) as { imported: number; skipped: number });
    expect(counts.reduce((sum, { imported }) => sum + imported, 0)).toBe(400);
    expect(counts.reduce((sum, { skipped }) => sum + skipped, 0)).toBe(800);
  });

  it('accepts the output of the documented converters for Unkey, Kong and CSV', async () => {
    const [unkey = '', kong = ''] = blocksOf('js');
    const awk = blocksOf('sh').find((block) => block.startsWith('awk')) ?? '';
    const folder = temporaryFolder('converters');
    const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
    const secrets = ['unkey_3ZHoLg6ky9xCrqzGd2sU', 'kongKongKongKongKongKongKongKong', 'csv-secret-0123456789'];
    const [ofUnkey = '', ofKong = '', ofCsv = ''] = secrets;
    const hash = createHash('sha256').update(ofUnkey).digest('base64');
    write('unkey.mjs', unkey);
    write(
      'unkey.ndjson',
      `${JSON.stringify({ hash, start: 'unkey_3ZHo', name: null, external_id: 'u-1', meta: { n: 1 } })}\n`,
    );
    write('kong.mjs', kong);
    write('consumers.json', JSON.stringify({ data: [{ id: 'b0e1', username: 'isar', custom_id: null }] }));
    write('key-auths.json', JSON.stringify({ data: [{ id: '4ab1', key: ofKong, consumer: { id: 'b0e1' } }] }));
    write('keys.csv', `account,name,secret,scopes\nc-1,Site,${ofCsv},customers:read customers:write\n`);
    for (const command of [
      `"${process.execPath}" unkey.mjs < unkey.ndjson > keys.ndjson`,
      `"${process.execPath}" kong.mjs consumers.json key-auths.json > keys.ndjson`,
      awk,
    ]) {
      execFileSync('sh', ['-c', command], { cwd: folder });
      const lines = readFileSync(join(folder, 'keys.ndjson'), 'utf8').trim().split('\n');
      expect(await run(lines)).toEqual(done('imported 2, updated 0, skipped 0, failed 0'));
    }
    expect(await Promise.all(secrets.map(statusOf))).toEqual([200, 200, 200]);
  });

  const accountIdOf = async (externalId: string) =>
    (await running.admin.call<{ data: { id: string }[] }>('GET', `/accounts?external_id=${externalId}`)).data[0]?.id ??
    '';
});
