import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { CustomersRepository } from './customers.repository.js';
import { openDatabase, type Database } from './database/connection.js';
import { prepareDatabase } from './prepare.js';
import { seedAccount } from './seed/seed.js';
import type { CustomerFilters } from './list-query.js';

const clock = { now: () => Date.parse('2026-11-20T12:00:00Z') };

describe('the list on SQLite', () => {
  const folder = mkdtempSync(join(tmpdir(), 'customers-'));
  let database: Database;
  let customers: CustomersRepository;

  beforeAll(async () => {
    database = openDatabase(folder);
    await prepareDatabase(database, [], clock);
    await database.tables.transaction().execute((trx) => seedAccount(trx, 'acc_a', 50, clock));
    customers = new CustomersRepository(database, clock);
  });

  afterAll(async () => {
    await database.tables.destroy();
    rmSync(folder, { recursive: true });
  });

  it.each<[string, CustomerFilters]>([
    ['customer_by_time', {}],
    ['customer_by_time', { activity: 'rafting' }],
    ['customer_by_time', { created_after: 1, created_before: 2 }],
    ['customer_by_time', { search: 'anna' }],
    ['customer_by_status', { status: 'active' }],
    ['customer_by_email', { email: 'anna@example.com' }],
  ])('uses the index %s for %j without sorting', async (index, filters) => {
    const after = { createdAt: clock.now(), id: 'cus_00000000000000000001' };
    const compiled = customers.listQuery('acc_a', filters, after).limit(20).compile();
    const explained = await database.tables.executeQuery<{ detail: string }>({
      ...compiled,
      sql: `explain query plan ${compiled.sql}`,
    });
    const plan = explained.rows.map(({ detail }) => detail).join('\n');
    expect(plan).toContain(`USING INDEX ${index}`);
    expect(plan).not.toContain('TEMP B-TREE');
  });

  it('uses WAL with synchronous FULL', async () => {
    const { rows } = await sql<{ synchronous: number }>`pragma synchronous`.execute(database.tables);
    const FULL = 2;
    expect(rows[0]?.synchronous).toBe(FULL);
    const journal = await sql<{ journal_mode: string }>`pragma journal_mode`.execute(database.tables);
    expect(journal.rows[0]?.journal_mode).toBe('wal');
  });

  it('keeps concurrent updates of different fields', async () => {
    const page = await customers.list('acc_a', {}, 1);
    const id = page.customers[0]?.id ?? '';
    await Promise.all([
      customers.update('acc_a', id, { notes: 'first' }),
      customers.update('acc_a', id, { last_name: 'Second' }),
      customers.update('acc_a', id, { status: 'inactive' }),
    ]);
    expect(await customers.get('acc_a', id)).toMatchObject({ notes: 'first', last_name: 'Second', status: 'inactive' });
  });
});
