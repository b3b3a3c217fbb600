/**
 * Paging, searching, filtering and sorting ten thousand keys of an account takes less than 100 ms. An index avoids
 * reading keys of other accounts. Runs on SQLite and PostgreSQL.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { searchText } from '../../src/stores/database/search/search-text.js';
import type { ApiKeyTable } from '../../src/stores/database/schema.js';
import { startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';

const MAX_MS = 100;
const KEYS = 10_000;
/** The other account has this many times as many keys. With fewer, PostgreSQL would scan the whole table. */
const OTHERS = 8;
/** Number of attempts. The fastest counts, because other load can only slow a response down. */
const ATTEMPTS = 7;

const QUERIES = [
  'limit=100',
  'limit=100&order=desc',
  'limit=100&sort=name',
  'limit=100&sort=name&order=desc',
  'limit=100&sort=last_used&order=desc',
  'limit=100&q=9999',
  'limit=100&q=nothing+is+called+so',
  'limit=100&q=nothing+is+called+so&sort=last_used',
  'limit=100&q=key&sort=name&status=active&environment=live',
  'limit=100&status=expired',
  'limit=100&oauth_client=true&status=active,paused&order=desc',
  'limit=100&status=paused,revoked&sort=name',
];

describeOnDatabases('10,000 keys of one account', (kind) => {
  let database: DatabaseHandle;
  let running: RunningAdmin;
  let accountId: string;
  /** Text and parameters of the select statements. */
  const asked: { sql: string; parameters: readonly unknown[] }[] = [];

  beforeAll(async () => {
    const handle = await testDatabase(kind);
    const db = handle.db.withPlugin({
      transformQuery: ({ node }) => {
        if (node.kind === 'SelectQueryNode') asked.push(handle.db.getExecutor().compileQuery(node, { queryId: '' }));
        return node;
      },
      transformResult: async ({ result }) => result,
    });
    database = { ...handle, db };
    running = await startAdmin(database);
    accountId = (await running.admin.createAccount({ plan: 'starter' })).id;
    const other = (await running.admin.createAccount({ plan: 'starter' })).id;
    await insertKeys(handle, accountId);
    for (let copy = 0; copy < OTHERS; copy++) await copyKeys(handle, accountId, other, copy);
    await sql.raw('analyze').execute(handle.db);
  });
  afterAll(async () => {
    await running.close();
    await database.close();
  });

  const list = (query: string) => running.admin.request('GET', `/accounts/${accountId}/api-keys?${query}`);

  async function quickestMs(query: string): Promise<number> {
    let leastMs = Infinity;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const beganMs = performance.now();
      expect((await list(query)).status).toBe(200);
      leastMs = Math.min(leastMs, performance.now() - beganMs);
    }
    return leastMs;
  }

  it.each(QUERIES)('?%s takes less than 100 ms', async (query) => {
    expect(await quickestMs(query)).toBeLessThan(MAX_MS);
  });

  it.each(['sort=created', 'sort=name&order=desc', 'sort=last_used&order=desc', 'q=key&sort=last_used'])(
    '?%s takes less than 100 ms in the middle of the list, too',
    async (query) => {
      let cursor = '';
      for (let page = 0; page < 30; page++) {
        const answer = await list(`limit=100&${query}${cursor && `&cursor=${cursor}`}`);
        cursor = String(answer.json()['next_cursor']);
      }
      expect(await quickestMs(`limit=100&${query}&cursor=${cursor}`)).toBeLessThan(MAX_MS);
    },
  );

  const BY_INDEX =
    kind === 'sqlite' ? /SEARCH api_key USING INDEX \S+ \(account_id=\?/ : /Index Cond: \(\(?account_id =/;
  const BY_READING_ALL = /SCAN|Seq Scan/;
  const BY_SORTING = /Sort Key|TEMP B-TREE/;

  async function planFor(query: string): Promise<string> {
    asked.length = 0;
    await list(query);
    const statement = asked.find(({ sql: text }) => /from "api_key"/.test(text));
    return planOf(database, statement!);
  }

  it.each(QUERIES)('?%s finds its keys by an index of the account', async (query) => {
    const plan = await planFor(query);
    expect(plan).toMatch(BY_INDEX);
    expect(plan).not.toMatch(BY_READING_ALL);
  });

  // Lists by last use are not in this table. They are sorted for each request, because an index would be written with
  // every key use.
  it.each(['limit=100', 'limit=100&order=desc', 'limit=100&sort=name', 'limit=100&sort=name&order=desc'])(
    '?%s reads keys in the order of the index',
    async (query) => expect(await planFor(query)).not.toMatch(BY_SORTING),
  );
});

async function planOf(
  { db, kind }: DatabaseHandle,
  { sql: text, parameters }: { sql: string; parameters: readonly unknown[] },
): Promise<string> {
  const explain = kind === 'sqlite' ? 'explain query plan' : 'explain (costs off)';
  // Inlines the parameters. PostgreSQL would otherwise plan for unknown values.
  const parts = text.split(kind === 'sqlite' ? /\?/ : /\$\d+/);
  const whole = sql.join(
    parts.flatMap((part, at) => (at === 0 ? [sql.raw(part)] : [sql.lit(parameters[at - 1]), sql.raw(part)])),
    sql``,
  );
  const { rows } = await sql<Record<string, unknown>>`${sql.raw(explain)} ${whole}`.execute(db);
  return rows.map((row) => String(row['detail'] ?? row['QUERY PLAN'])).join('\n');
}

async function insertKeys({ db }: DatabaseHandle, accountId: string): Promise<void> {
  const statuses = ['active', 'active', 'active', 'paused', 'revoked'] as const;
  for (let from = 0; from < KEYS; from += 500) {
    const rows = Array.from({ length: 500 }, (_, at): ApiKeyTable => {
      const index = from + at;
      // Makes the order of names differ from that of every other column.
      const name = `Key ${(index * 7_919) % KEYS}`;
      return {
        id: `key_${accountId.slice(-8)}${String(index).padStart(17, '0')}`,
        account_id: accountId,
        name,
        scopes: '["customers:read"]',
        environment: index % 10 === 0 ? 'test' : 'live',
        status: statuses[index % statuses.length]!,
        expires_at: index % 7 === 0 ? 1_000 : null,
        allowed_ips: '[]',
        hint: 'tg_live_…a1b2',
        limits: null,
        external_id: null,
        metadata: null,
        grant_period: 0,
        grant_amount: 0,
        last_used_at: index % 3 === 0 ? null : 1_700_000_000_000 + ((index * 104_729) % 1_000_000),
        created_at: index,
        updated_at: index,
        revoked_at: null,
        version: 1,
        search: searchText(name),
        oauth_client_id: index % 500 === 0 ? 'https://claude.ai/oauth/client' : null,
        oauth_client_name: index % 500 === 0 ? 'Claude' : null,
        previous_secret_expires_at: null,
        oauth_member_id: index % 500 === 0 ? 'mem_1' : null,
      };
    });
    await db.insertInto('api_key').values(rows).execute();
  }
}

/** Copies the keys of one account to another. */
async function copyKeys({ db }: DatabaseHandle, from: string, to: string, copy: number): Promise<void> {
  const same = 'name, scopes, environment, status, expires_at, allowed_ips, hint, created_at, updated_at, search';
  await sql`
    insert into api_key (id, account_id, ${sql.raw(same)})
    select id || ${`-${copy}`}, ${to}, ${sql.raw(same)} from api_key where account_id = ${from}
  `.execute(db);
}
