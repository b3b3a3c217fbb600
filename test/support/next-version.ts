/**
 * Creates the next version of the program: the current build with one more migration, which adds a column and a table.
 */
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { temporaryFolder } from './processes.js';

/** Name of the added migration. */
export const NEXT_MIGRATION = '9000_next_version';
export const NEXT_VERSION = '0.2.0';

/**
 * Copies the build and adds the migration.
 * @param oldestVersion oldest program version that can use the migrated database
 * @returns the path of the copy's `main.js`
 */
export function makeNextVersion(oldestVersion: string): string {
  const folder = temporaryFolder('next-version');
  cpSync('dist', join(folder, 'dist'), { recursive: true, filter: (path) => !path.endsWith('.map') });
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as object;
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...manifest, version: NEXT_VERSION }));
  // Import the files one by one, because the bundle contains the current migrations.
  const main = `await import('reflect-metadata');
const { runProgram } = await import('./program/program.js');
await runProgram(process.argv);`;
  writeFileSync(join(folder, 'dist/main.js'), main);
  const file = join(folder, 'dist/stores/database/migrations.js');
  const [before, after] = readFileSync(file, 'utf8').split(/OLDEST_VERSION = ['"][\d.]+['"]/);
  if (before === undefined || after === undefined) throw new Error(`${file} has no OLDEST_VERSION`);
  const migration = `
MIGRATIONS['${NEXT_MIGRATION}'] = {
  async up(db) {
    await db.schema.alterTable('account').addColumn('next_column', 'text').execute();
    await db.schema.createTable('next_table').addColumn('id', 'text').execute();
  },
};`;
  writeFileSync(file, `${before}OLDEST_VERSION = '${oldestVersion}'${after}${migration}`);
  return join(folder, 'dist/main.js');
}
