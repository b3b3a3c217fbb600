/** Starts real PostgreSQL clusters for tests, in temporary folders and on free loopback ports. */
import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { childrenOf } from './child-processes.js';
import { eventually, freePort, sleep, spawnOwned, temporaryFolder, type OwnedProcess } from './processes.js';
import { findPostgresBin } from './servers.js';

const USER = 'trailgate';
/** Password of the superuser. The clusters require it (`scram-sha-256`). */
const PASSWORD = 'postgres-test-password';
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: 200,
  shared_buffers: '32MB',
  // Without fsync, data survives a killed process, but not a power failure. Tests only kill processes.
  fsync: 'off',
  full_page_writes: 'off',
  // Test databases are emptied often, so vacuuming them is not worth the load.
  autovacuum: 'off',
  jit: 'off',
  max_parallel_workers_per_gather: 0,
  wal_level: 'minimal',
  max_wal_senders: 0,
};

export interface PostgresServer {
  /** URL of the database `postgres`, with the superuser. */
  readonly url: string;
  readonly port: number;
  /** Process ID of the postmaster. Changes with `restart`. */
  readonly pid: number;
  /** Stops the server and removes its folder. Safe to call if the server has already ended. */
  stop(): Promise<void>;
  /** Kills the postmaster. The sessions notice and end. The folder stays for `restart`. */
  kill9(): Promise<void>;
  /**
   * Freezes the server with all its sessions (SIGSTOP). Connections stay open, the kernel accepts new ones, and nothing
   * answers.
   */
  pause(): void;
  resume(): void;
  /** Starts the server again on the same port and folder. Stops it first if it is running. */
  restart(): Promise<void>;
  /** Creates an empty database and returns its URL. */
  createDatabase(name: string): Promise<string>;
}

/**
 * Returns the user and group to run PostgreSQL as. PostgreSQL refuses to run as root, so this is the user `postgres` or
 * `nobody` if this process runs as root. Otherwise the result is empty.
 */
export function unprivilegedUser(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const user = ['postgres', 'nobody'].find((name) => spawnSync('id', ['-u', name]).status === 0) ?? 'nobody';
  const id = (flag: string) => Number(execFileSync('id', [flag, user], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

function initialise(bin: string, folder: string): string {
  const user = unprivilegedUser();
  const data = join(folder, 'data');
  const passwordFile = join(folder, 'password');
  mkdirSync(data, { mode: 0o700 });
  writeFileSync(passwordFile, PASSWORD, { mode: 0o600 });
  for (const path of [data, passwordFile]) chownSync(path, user.uid ?? -1, user.gid ?? -1);
  const version = Number(/(\d+)/.exec(execFileSync(join(bin, 'postgres'), ['--version'], { encoding: 'utf8' }))?.[1]);
  // A linguistic collation, as most installations have, so that no test relies on SQLite's byte order.
  const locale = version >= 15 ? ['--locale=C', '--locale-provider=icu', '--icu-locale=en-US'] : ['--locale=C'];
  const args = ['-D', data, '-U', USER, '-E', 'UTF8', '-A', 'scram-sha-256', `--pwfile=${passwordFile}`, '--no-sync'];
  execFileSync(join(bin, 'initdb'), [...args, ...locale], { ...user, cwd: folder, stdio: 'pipe' });
  return data;
}

async function canConnect(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1_000 });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}

/** Part of the error while sessions of a killed postmaster still run. A new one can start when they have ended. */
const STILL_THERE = 'pre-existing shared memory block';

async function launch(bin: string, data: string, port: number): Promise<OwnedProcess> {
  const settings = Object.entries({ ...SETTINGS, port }).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  let output = '';
  const begin = (): OwnedProcess => {
    output = '';
    const begun = spawnOwned(join(bin, 'postgres'), ['-D', data, ...settings], { ...unprivilegedUser(), cwd: data });
    for (const stream of [begun.child.stdout, begun.child.stderr]) stream?.on('data', (chunk) => (output += chunk));
    return begun;
  };
  let server = begin();
  await eventually(
    `PostgreSQL answers on port ${port}`,
    async () => {
      if (server.isRunning()) return canConnect(urlOf(port, 'postgres'));
      // The last output can arrive after the exit.
      await sleep(100);
      if (!output.includes(STILL_THERE)) throw new Error(`PostgreSQL ended at once:\n${output}`);
      server = begin();
      return false;
    },
    60_000,
  );
  return server;
}

const urlOf = (port: number, database: string) => `postgres://${USER}:${PASSWORD}@127.0.0.1:${port}/${database}`;

async function run(url: string, statement: string): Promise<void> {
  await withClient(url, (client) => client.query(statement));
}

/** Signals the postmaster, then its child processes. In this order, a frozen postmaster starts no new sessions. */
function signalAll(postmaster: number, signal: NodeJS.Signals): void {
  process.kill(postmaster, signal);
  for (const pid of childrenOf(postmaster)) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      // The session has ended since it was listed.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}

/** Creates a cluster and waits until it accepts connections, which takes a few seconds. The caller must stop it. */
export async function startPostgres(): Promise<PostgresServer> {
  const bin = findPostgresBin();
  if (bin === null) throw new Error('PostgreSQL (initdb) was not found');
  const folder = temporaryFolder('postgres');
  const data = initialise(bin, folder);
  const port = await freePort();
  let running = await launch(bin, data, port);
  return {
    url: urlOf(port, 'postgres'),
    port,
    get pid() {
      return running.pid;
    },
    pause: () => signalAll(running.pid, 'SIGSTOP'),
    resume: () => signalAll(running.pid, 'SIGCONT'),
    async stop() {
      if (running.isRunning()) signalAll(running.pid, 'SIGCONT');
      await running.end('SIGINT'); // "fast": does not wait for clients
      await rm(folder, { recursive: true, force: true });
    },
    async kill9() {
      await running.end('SIGKILL');
    },
    async restart() {
      if (running.isRunning()) await running.end('SIGINT');
      running = await launch(bin, data, port);
    },
    async createDatabase(name) {
      await run(urlOf(port, 'postgres'), `create database "${name}"`);
      return urlOf(port, name);
    },
  };
}

/** FreshDatabase is a database that only the caller uses. */
export interface FreshDatabase {
  readonly url: string;
  /** Ends open sessions, then removes the database or keeps it for reuse. */
  drop(): Promise<void>;
}

let ownShared: Promise<PostgresServer> | undefined;

/**
 * Returns the URL of the PostgreSQL that all test files share. `npm test` starts it. Without it, the first call starts
 * one that ends with this process.
 */
async function sharedServer(): Promise<string> {
  const given = process.env['TEST_DATABASE_URL'] ?? process.env['DATABASE_URL'];
  ownShared ??= given === undefined ? startPostgres() : undefined;
  return given ?? (await ownShared)?.url ?? '';
}

/**
 * Creates a database on the shared PostgreSQL. The caller must drop it.
 * @param templateUrl URL of a database there to copy. It must have no connections. By default, there are no tables.
 */
export function newDatabase(templateUrl?: string): Promise<FreshDatabase> {
  return createDatabase(templateUrl === undefined ? '' : `template "${new URL(templateUrl).pathname.slice(1)}"`);
}

/** Creates a database with a collation of ICU, without tables. Needs PostgreSQL 15. The caller must drop it. */
export function newDatabaseIn(icuLocale: string): Promise<FreshDatabase> {
  return createDatabase(`template template0 locale_provider icu icu_locale '${icuLocale}'`);
}

async function createDatabase(options: string): Promise<FreshDatabase> {
  const admin = await sharedServer();
  const name = `test_${randomBytes(8).toString('hex')}`;
  await run(admin, `create database "${name}" ${options}`);
  const url = new URL(admin);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => run(admin, `drop database if exists "${name}" with (force)`) };
}

/** Template of this worker's databases, with all tables. */
let template: Promise<MigratedTemplate> | undefined;
/** Empty databases of this worker, for reuse. Emptying one takes a tenth of the time of creating one. */
const unused: FreshDatabase[] = [];

interface MigratedTemplate {
  readonly url: string;
  readonly schemaHash: string;
}

async function makeTemplate(): Promise<MigratedTemplate> {
  // Imported here, because `test/run.mjs` also loads this module, but needs no template.
  const { openDatabase } = await import('../../src/stores/database/connect.js');
  const { url } = await newDatabase();
  await (await openDatabase({ databaseUrl: url, dataDir: '' })).close();
  const schemaHash = await withClient(url, async (client) => (await readSchema(queryWith(client))).schemaHash);
  return { url, schemaHash };
}

/** Returns a database on the shared PostgreSQL with all tables and no rows. The caller must drop it. */
export async function freshDatabase(): Promise<FreshDatabase> {
  template ??= makeTemplate();
  const { url } = await template;
  const database = unused.pop() ?? (await newDatabase(url));
  let isDropped = false;
  return {
    url: database.url,
    async drop() {
      if (isDropped) return;
      isDropped = true;
      const isEmpty = await withClient(database.url, async (client) => {
        await client.query(END_OTHERS);
        return emptyTables(queryWith(client));
      }).catch(() => false);
      if (isEmpty) unused.push(database);
      else await database.drop();
    },
  };
}

/** Sends a statement and returns its rows. */
export type RunQuery = (statement: string) => Promise<readonly object[]>;

const queryWith =
  (client: pg.Client): RunQuery =>
  async (statement) =>
    (await client.query<object>(statement)).rows;

const END_OTHERS = `select pg_terminate_backend(pid, 10000) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid()`;

/**
 * Query for the size of each table in bytes, and for a hash of the schema. The hash changes with columns, constraints,
 * triggers, settings of the database and migrations.
 */
const SCHEMA_QUERY = `select
  (select md5(string_agg(part, ' ' order by part)) from (
    select c.relname || a.attname || a.attnum as part from pg_class as c join pg_attribute as a on a.attrelid = c.oid
      where c.relnamespace = 'public'::regnamespace and not a.attisdropped
    union all select conname from pg_constraint where connamespace = 'public'::regnamespace
    union all select name from kysely_migration
    union all select tgname from pg_trigger where not tgisinternal
    union all select setconfig::text from pg_db_role_setting as s join pg_database as d on d.oid = s.setdatabase
      where d.datname = current_database()) as parts) as "schemaHash",
  (select json_object_agg(relname, pg_table_size(oid)) from pg_class
    where relkind = 'r' and relnamespace = 'public'::regnamespace and relname <> 'kysely_migration') as tables`;

/** Tables above this size are truncated. That is faster than deleting their rows, and leaves no dead rows. */
const LARGE_BYTES = 512 * 1024;

const quoted = (name: string): string => `"${name}"`;

async function readSchema(runQuery: RunQuery): Promise<{ schemaHash: string; tables: Record<string, number> }> {
  const [row] = await runQuery(SCHEMA_QUERY);
  return row as { schemaHash: string; tables: Record<string, number> };
}

/** Deletes all rows of a `freshDatabase`. @returns false if its schema has changed, so it cannot be reused. */
export async function emptyTables(runQuery: RunQuery): Promise<boolean> {
  const { schemaHash, tables } = await readSchema(runQuery);
  if (template === undefined || schemaHash !== (await template).schemaHash) return false;
  const [large, small] = [true, false].map((isLarge) =>
    Object.keys(tables).filter((name) => tables[name]! > LARGE_BYTES === isLarge),
  );
  if (large!.length > 0) await runQuery(`truncate ${large!.map(quoted).join(', ')} cascade`);
  // In one statement, because foreign keys are checked at its end.
  await runQuery(`with ${small!.map((name, at) => `d${at} as (delete from ${quoted(name)})`).join(', ')} select`);
  return true;
}

async function withClient<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}
