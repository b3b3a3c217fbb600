/**
 * Operator endpoints for the whole installation: accounts, adjustments, health, and callers of deprecated operations.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Operation } from '../../src/config/model/schema.js';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { VERSION } from '../../src/platform/version.js';
import { startAdmin, type RunningAdmin } from '../support/admin-application.js';
import type { Account } from '../support/admin.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { newMember, signIn } from '../support/signed-in.js';

interface List<Row> {
  readonly data: readonly Row[];
  readonly next_cursor: string | null;
}

const NAMES = ['Zillertal Canoes', 'Réservations du Lac', 'Alpine 100%_sure', 'alpine River Tours'];
const ENDING = { deprecation: '2020-01-01', sunset: '2099-01-01', brownouts: [] };

describeOnDatabases('the admin API of an installation', (kind) => {
  let database: DatabaseHandle;
  let running: RunningAdmin;
  let accounts: readonly Account[];

  beforeAll(async () => {
    database = await testDatabase(kind);
    const statement = {
      node: 'gw-1:8080',
      version: '0.0.9',
      processes: 2,
      targets: [],
      targetsLeftOut: 0,
      ageMs: 1_500,
    };
    running = await startAdmin(database, {
      gateways: [{ ...statement, quotaStoreLostSinceMs: 5_000 }],
      readiness: () => ({ ready: true, checks: { database: { status: 'warn', detail: 'unreachable' } } }),
    });
    const made: Account[] = [];
    for (const name of NAMES) made.push(await running.admin.createAccount({ plan: 'starter', name }));
    accounts = made;
  });
  afterAll(async () => {
    await running.close();
    await database.close();
  });

  const list = (query: string) => running.admin.call<List<Account>>('GET', `/accounts?${query}`);
  const names = async (query: string) => (await list(query)).data.map(({ name }) => name);

  it('finds accounts by ID and by part of their name, ignoring case and accents', async () => {
    expect(await names('q=RESERVATIONS')).toEqual([NAMES[1]]);
    expect(await names('q=alpine&sort=name')).toEqual([NAMES[2], NAMES[3]]);
    expect(await names('q=100%25_')).toEqual([NAMES[2]]);
    expect(await names('q=_')).toEqual([NAMES[2]]);
    expect(await names(`q=${accounts[0]?.id}`)).toEqual([NAMES[0]]);
    expect(await names('q=nobody')).toEqual([]);
  });

  it('finds a renamed account by its new name only, and by its status', async () => {
    const made = await running.admin.createAccount({ plan: 'starter', name: 'Before' });
    await running.admin.call('PATCH', `/accounts/${made.id}`, { name: 'Después', status: 'suspended' });
    expect(await names('q=despues')).toEqual(['Después']);
    expect(await names('q=before')).toEqual([]);
    expect(await names('status=suspended')).toEqual(['Después']);
  });

  it('lists accounts by name in pages, each once, and refuses a cursor of another sort order', async () => {
    const seen: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const page: List<Account> = await list(
        `sort=name&status=active&limit=3${cursor === '' ? '' : `&cursor=${cursor}`}`,
      );
      seen.push(...page.data.map(({ name }) => name));
      cursor = page.next_cursor;
    }
    expect(seen).toEqual([NAMES[2], NAMES[3], NAMES[1], NAMES[0]]);
    const { next_cursor: next } = await list('limit=1');
    await expect(list(`limit=1&sort=name&cursor=${next}`)).rejects.toThrow('invalid_cursor');
  });

  it('lets a member find their own accounts and no others', async () => {
    const [first, second] = accounts;
    const member = await newMember(database, { roles: { [first?.id ?? '']: 'viewer' } });
    const headers = await signIn(running, member);
    const find = async (q: string) => {
      const answer = await send(`${running.url}/admin/v1/accounts?q=${q}`, { headers });
      return answer.json<List<Account>>().data.map(({ id }) => id);
    };
    expect(await find('')).toEqual([first?.id]);
    expect(await find(second?.id ?? '')).toEqual([]);
  });

  it('lists the adjustments of all accounts, newest first, with the account names', async () => {
    for (const [index, { id }] of accounts.slice(0, 3).entries()) {
      const body = { window: 'month', type: 'set', amount: index, reason: 'A test' };
      await running.admin.call('POST', `/accounts/${id}/quota-adjustments`, body);
    }
    const first = await running.admin.call<List<object>>('GET', '/quota-adjustments?limit=2');
    expect(first.data).toMatchObject([{ account_name: NAMES[2], amount: 2 }, { account_name: NAMES[1] }]);
    const rest = await running.admin.call<List<object>>('GET', `/quota-adjustments?cursor=${first.next_cursor}`);
    expect(rest).toMatchObject({ data: [{ account_name: NAMES[0], reason: 'A test' }], next_cursor: null });
  });

  it('reports its database, counters, failed checks, and gateways with their versions in GET /health', async () => {
    expect(await running.admin.call('GET', '/health')).toEqual({
      ready: true,
      version: VERSION,
      database: kind,
      counters: 'process',
      checks: [{ name: 'database', status: 'warn', detail: 'unreachable' }],
      nodes: [
        {
          node: 'gw-1:8080',
          version: '0.0.9',
          processes: 2,
          age_seconds: 1.5,
          quota_store_lost_since: '1970-01-01T00:00:05+00:00',
        },
      ],
    });
  });

  it('reports who called deprecated operations in the last week, and no callers if none is deprecated', async () => {
    expect(await running.admin.call('GET', '/deprecated-calls')).toMatchObject({ operations: [], callers: [] });
    const [first, second] = accounts;
    const today = Number(new Date(running.clock.now()).toISOString().slice(0, 10).replaceAll('-', ''));
    const row = { day: today, api_key_id: 'key_1', period: today, cost: 1, updated_at: 1 };
    await database.db
      .insertInto('usage_daily')
      .values([
        { ...row, account_id: first?.id ?? '', operation: 'oldList', outcome: 'success', requests: 5 },
        { ...row, account_id: first?.id ?? '', operation: 'oldList', outcome: 'client_error', requests: 2 },
        { ...row, account_id: second?.id ?? '', operation: 'oldList', outcome: 'success', requests: 9 },
        { ...row, account_id: second?.id ?? '', operation: 'newList', outcome: 'success', requests: 90 },
        { ...row, account_id: accounts[2]?.id ?? '', operation: 'oldList', outcome: 'shadow_refused', requests: 4 },
        {
          ...row,
          account_id: accounts[3]?.id ?? '',
          operation: 'oldList',
          outcome: 'success',
          requests: 4,
          day: 20200101,
        },
      ])
      .execute();
    const operation = { method: 'GET', template: '/x', service: 's', scopes: [], cost: 1 };
    const operations: Operation[] = [
      { ...operation, index: 0, id: 'oldList', lifeCycle: ENDING },
      { ...operation, index: 1, id: 'newList' },
    ];
    const { config } = running.modules;
    const api = { ...config.current.file.api, deprecation: null, sunset: null, brownouts: [] };
    await config.replace({ config: { ...config.current, operations, file: { ...config.current.file, api } } });
    const report = await running.admin.call<{ callers: readonly object[] }>('GET', '/deprecated-calls');
    expect(report).toMatchObject({
      days: 7,
      operations: [{ operation: 'oldList', sunset_at: '2099-01-01T00:00:00+00:00' }],
      has_more: false,
    });
    const date = new Date(running.clock.now()).toISOString().slice(0, 10);
    expect(report.callers).toEqual([
      { operation: 'oldList', account_id: second?.id, account_name: NAMES[1], requests: 9, last_day: date },
      { operation: 'oldList', account_id: first?.id, account_name: NAMES[0], requests: 7, last_day: date },
    ]);
  });
});
