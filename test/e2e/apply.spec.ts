/** `trailgate apply` makes accounts, keys and endpoints match a file, and prints its changes. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { describeOnDatabases } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { clientEnvOf } from '../support/imports.js';
import { temporaryFolder } from '../support/processes.js';
import { runTrailgate, startTrailgate, type RunningTrailgate } from '../support/program.js';
import { storeOf } from '../support/worlds.js';

const SECRET = 'sk_kong_apply_0123456789';

describeOnDatabases('trailgate apply', (kind) => {
  let database: Awaited<ReturnType<typeof storeOf>>;
  let running: RunningTrailgate;
  let count = 0;
  beforeAll(async () => {
    database = await storeOf(kind === 'sqlite' ? 'SQLite' : 'PostgreSQL');
    running = await startTrailgate({
      env: { ...database.env, TRAILGATE_SECRETS_KEY: Buffer.alloc(32, 7).toString('base64') },
    });
  });
  afterAll(async () => {
    await running?.stop();
    await database?.drop();
  });

  const apply = async (content: object | string, ...args: string[]) => {
    const file = join(temporaryFolder('apply'), 'accounts.yaml');
    writeFileSync(file, typeof content === 'string' ? content : stringify(content));
    const env = { ...clientEnvOf(running), OWN_SECRET: SECRET };
    const { stdout, stderr, code } = await runTrailgate(['apply', file, ...args], { env });
    return {
      out: stdout
        .replaceAll(/secret: (tg_live|whsec)_\S+/g, 'secret: $1_…')
        .trimEnd()
        .split('\n'),
      problems: stderr.replaceAll(file, 'FILE').trimEnd().split('\n').filter(Boolean),
      code,
    };
  };
  const unchanged = { out: ['no changes'], problems: [], code: 0 };
  const account = (more: object = {}) => ({
    external_id: `crm-${kind}-${count}`,
    name: 'Isar',
    plan: 'starter',
    ...more,
  });
  const one = (more: object = {}) => ({ accounts: [account(more)] });
  const key = { external_id: 'site', name: 'Site', scopes: ['customers:read'] };
  const idOf = async () => {
    const { data } = await running.admin.call<{ data: { id: string }[] }>(
      'GET',
      `/accounts?external_id=${account().external_id}`,
    );
    return data[0]?.id ?? '';
  };
  const statusOf = async (secret: string) => {
    const headers = { Authorization: `Bearer ${secret}` };
    return (await send(`${running.gatewayUrl}/api/v1/usage`, { headers })).status;
  };

  it('creates what is missing, and reports no changes on the second run', async () => {
    count += 1;
    const file = one({ metadata: { tier: 'gold' }, keys: [key], endpoints: [{ url: 'https://example.com/hooks' }] });
    const name = account().external_id;
    const shown = [
      `+ account ${name}`,
      '    name: Isar',
      '    plan: starter',
      '    metadata: {"tier":"gold"}',
      '  + key site',
      '      name: Site',
      '      scopes: customers:read',
    ];
    const dryRun = await apply(file, '--dry-run');
    expect(dryRun).toEqual({
      out: [...shown, '  + endpoint https://example.com/hooks', 'to create 3, to update 0, to remove 0, failed 0'],
      problems: [],
      code: 0,
    });
    expect(await idOf()).toBe('');
    expect(await apply(file)).toEqual({
      out: [
        ...shown,
        '      secret: tg_live_…',
        '  + endpoint https://example.com/hooks',
        '      secret: whsec_…',
        'created 3, updated 0, removed 0, failed 0',
      ],
      problems: ['These secrets are shown only once.'],
      code: 0,
    });
    expect(await apply(file)).toEqual(unchanged);
  });

  it('shows each changed field with both values, and changes nothing else', async () => {
    count += 1;
    await apply(one({ keys: [{ ...key, limits: { minute: 5 }, expires_at: '2099-01-31T00:00:00+01:00' }] }));
    const changed = { ...key, scopes: ['customers:write', 'customers:read'], status: 'paused' };
    expect((await apply(one({ plan: 'pro', keys: [changed] }))).out).toEqual([
      `~ account ${account().external_id}`,
      '    plan: starter → pro',
      '  ~ key site',
      '      scopes: customers:read → customers:write, customers:read',
      '      status: active → paused',
      'created 0, updated 2, removed 0, failed 0',
    ]);
    const [found] = (await running.admin.listKeys(await idOf())).data;
    expect(found).toMatchObject({ status: 'paused', limits: { minute: 5 }, expires_at: '2099-01-30T23:00:00+00:00' });
    // Writes the same values in another notation.
    const same = { ...changed, scopes: ['customers:read', 'customers:write'], expires_at: '2099-01-30T23:00:00Z' };
    expect(await apply(one({ plan: 'pro', keys: [same] }))).toEqual(unchanged);
  });

  it('removes keys and endpoints only with --prune, and never keys without an external_id', async () => {
    count += 1;
    await apply(one({ keys: [key, { ...key, external_id: 'old' }], endpoints: [{ url: 'https://example.com/a' }] }));
    const byHand = await running.admin.createKey(await idOf(), { name: 'By hand', scopes: ['customers:read'] });
    const file = one({ keys: [key], endpoints: [] });
    expect((await apply(file)).out).toEqual([
      '  = key old is not in the file; --prune removes it',
      '  = endpoint https://example.com/a is not in the file; --prune removes it',
      'no changes',
    ]);
    expect((await apply(file, '--prune')).out).toEqual([
      '  - key old',
      '  - endpoint https://example.com/a',
      'created 0, updated 0, removed 2, failed 0',
    ]);
    expect(await apply(file, '--prune')).toEqual(unchanged);
    expect(await statusOf(byHand.secret)).toBe(200);
    // Without lists in the file, keys and endpoints are not compared.
    expect(await apply(one(), '--prune')).toEqual(unchanged);
  });

  it('creates keys with a secret from an environment variable, or from a hash in the file', async () => {
    count += 1;
    const hashed = `unkey_${kind}_0123456789abcdef`;
    const own = `\${OWN_SECRET}_${kind}`;
    const hash = createHash('sha256').update(hashed).digest('hex');
    const file = one({
      keys: [
        { ...key, secret: own },
        { ...key, external_id: 'hashed', secret_sha256: hash },
      ],
    });
    const { out, code } = await apply(file);
    expect([out.at(-1), code]).toEqual(['created 3, updated 0, removed 0, failed 0', 0]);
    expect(out.join('\n')).not.toContain(SECRET);
    expect([await statusOf(`${SECRET}_${kind}`), await statusOf(hashed)]).toEqual([200, 200]);
    expect(await apply(file)).toEqual(unchanged);
  });

  it('applies the example of docs/apply.md', async () => {
    const [, example = ''] =
      /^```yaml\n(# accounts.yaml\n[\s\S]*?)^```/m.exec(readFileSync('docs/apply.md', 'utf8')) ?? [];
    const { out, problems, code } = await apply(example);
    expect({ last: out.at(-1), problems: problems.length, code }).toEqual({
      last: 'created 3, updated 0, removed 0, failed 0',
      problems: 1,
      code: 0,
    });
  });

  it('refuses an invalid file, and reports each problem with its line', async () => {
    count += 1;
    const { problems, code } = await apply(
      'accounts:\n  - external_id: a\n    name: A\n    plan: starter\n    keys:\n      - external_id: k\n        scopse: [x]\n' +
        '  - external_id: a\n    name: ${NOT_SET}\n',
    );
    expect(code).toBe(1);
    const text = problems.join('\n');
    expect(text).toContain('is not valid, so nothing was changed');
    expect(text).toMatch(/:7:9 .*scopse/);
    expect(text).toMatch(/:8:\d+ .*is repeated/);
    expect(text).toMatch(/:9:\d+ .*NOT_SET is not set/);
    expect(text).not.toMatch(/\n\s+at /);
  });

  it('reports each entry that fails with its line, and applies the others', async () => {
    count += 1;
    const bad = { external_id: `bad-${kind}`, name: 'Bad', plan: 'no-such-plan', keys: [key] };
    const good = account({ keys: [key, { ...key, external_id: 'unknown', scopes: ['nothing:here'] }] });
    const { out, problems, code } = await apply({ accounts: [bad, good] });
    expect(code).toBe(1);
    expect(problems[0]).toMatch(/^FILE:2 422 /);
    expect(problems[1]).toMatch(/^FILE:\d+ 422 .*scopes/);
    expect(out).toContain(`+ account bad-${kind} (failed)`);
    expect(out).not.toContain(`  + key site (failed)`);
    expect(out).toContain('  + key unknown (failed)');
    expect(out.at(-1)).toBe('created 2, updated 0, removed 0, failed 2');
    await apply(one({ keys: [] }), '--prune');
    const revived = await apply(one({ keys: [key] }));
    expect(revived.problems).toEqual([expect.stringMatching(/^FILE:6 site is revoked for good/)]);
  });
});
