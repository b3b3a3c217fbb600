/** The embedded database is copied before a migration, so that the earlier version can start from the copy. */
import { beforeEach, describe, expect, it } from '@jest/globals';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { openDatabase } from '../../src/stores/database/connect.js';
import { olderSqlite } from '../support/database.js';
import { describeUnless } from '../support/describe-with.js';
import { temporaryFolder } from '../support/processes.js';
import { canMountDisk, mountSmallDisk } from '../support/small-disk.js';

const LAST = '0020_request_sources';
const COPY = 'trailgate.db.before-0021_open_deliveries';

const lastMigration = (file: string): unknown => {
  const database = new DatabaseSync(file, { readOnly: true });
  const row = database.prepare('select max(name) as name from kysely_migration').get();
  database.close();
  return row?.['name'];
};

describe('a copy of the embedded database', () => {
  let dataDir: string;
  beforeEach(() => {
    dataDir = temporaryFolder('copies');
  });
  const copies = () => readdirSync(dataDir).filter((name) => name.includes('.before-') || name.includes('copy'));

  it('is made once, before the first migration, and never of a new database', async () => {
    await (await openDatabase({ dataDir: temporaryFolder('new') })).close();
    const file = await olderSqlite(dataDir, LAST);
    for (let start = 0; start < 2; start++) {
      const database = await openDatabase({ dataDir });
      expect(database.migrated?.copy).toBe(start === 0 ? `${dataDir}/${COPY}` : undefined);
      await database.close();
    }
    expect(copies()).toEqual([COPY]);
    expect(lastMigration(`${dataDir}/${COPY}`)).toBe(LAST);
    await copyFile(`${dataDir}/${COPY}`, file);
    expect(lastMigration(file)).toBe(LAST);
  });

  it('replaces older copies, so that two are kept', async () => {
    for (const last of ['0018_held_deliveries', '0019_idempotent_requests', LAST]) {
      for (const name of readdirSync(dataDir))
        if (name === 'trailgate.db') await copyFile('/dev/null', `${dataDir}/${name}`);
      await olderSqlite(dataDir, last);
      await (await openDatabase({ dataDir })).close();
    }
    expect(copies().toSorted()).toEqual(['trailgate.db.before-0020_request_sources', COPY]);
  });

  describeUnless(canMountDisk() ? null : 'needs root to mount a disk')('without enough disk space', () => {
    it('prevents the start, names the space it needs, and leaves the database unchanged', async () => {
      const disk = mountSmallDisk(2);
      try {
        const file = await olderSqlite(disk.folder, LAST);
        // Leaves enough space for SQLite to begin a transaction.
        disk.fill(128 * 1_024);
        const before = readFileSync(file);
        await expect(openDatabase({ dataDir: disk.folder })).rejects.toThrow(
          /is not migrated: the copy that is made first cannot be written \(.*\)\. Free 1 MiB on its disk/,
        );
        disk.clear();
        expect(readFileSync(file).equals(before)).toBe(true);
        expect(readdirSync(disk.folder).filter((name) => name.includes('copy'))).toEqual([]);
        expect(existsSync(`${disk.folder}/${COPY}`)).toBe(false);
      } finally {
        disk.unmount();
      }
    });
  });
});
