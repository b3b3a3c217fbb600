/** A real PostgreSQL cluster for tests: made by initdb in a temporary folder, on a free loopback port, stopped by pid. */
import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { eventually, freePort, sleep, spawnOwned, temporaryFolder, type OwnedProcess } from './processes.js';
import { findPostgresBin } from './servers.js';

const USER = 'trailgate';
/** Real, so that a test can look for it where it must not stand. */
const PASSWORD = 'postgres-test-password';
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: 200,
  shared_buffers: '32MB',
  // Safe against the end of the process, which tests do; not against a power cut, which they do not.
  fsync: 'off',
  full_page_writes: 'off',
  // Of databases that are emptied all the time there is nothing to tidy up.
  autovacuum: 'off',
  jit: 'off',
  max_parallel_workers_per_gather: 0,
  wal_level: 'minimal',
  max_wal_senders: 0,
};

export interface PostgresServer {
  /** URL of the administrator, on the database `postgres`. */
  readonly url: string;
  readonly port: number;
  /** Process ID of the postmaster; changes with `restart`. */
  readonly pid: number;
  /** Ends it and removes its folder. Harmless when it has ended already. */
  stop(): Promise<void>;
  /** Kills the postmaster; the sessions notice and end. The folder stays for `restart`. */
  kill9(): Promise<void>;
  /** Freezes it with all its sessions: connections stay open, new ones are taken by the system alone, and nothing answers. */
  pause(): void;
  resume(): void;
  /** Starts it again on the same port and folder; ends it first where it still runs. */
  restart(): Promise<void>;
  /** Creates an empty database and returns its URL. */
  createDatabase(name: string): Promise<string>;
}

/** PostgreSQL refuses to run as root: then it runs as the user that its package made, or as nobody. */
export function unprivileged(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const user = ['postgres', 'nobody'].find((name) => spawnSync('id', ['-u', name]).status === 0) ?? 'nobody';
  const id = (flag: string) => Number(execFileSync('id', [flag, user], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

function initialise(bin: string, folder: string): string {
  const user = unprivileged();
  const data = join(folder, 'data');
  const passwordFile = join(folder, 'password');
  mkdirSync(data, { mode: 0o700 });
  writeFileSync(passwordFile, PASSWORD, { mode: 0o600 });
  for (const path of [data, passwordFile]) chownSync(path, user.uid ?? -1, user.gid ?? -1);
  const version = Number(/(\d+)/.exec(execFileSync(join(bin, 'postgres'), ['--version'], { encoding: 'utf8' }))?.[1]);
  // A linguistic order of text, as most installations have, so that no test leans on SQLite's order of bytes.
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

/** Sessions of a postmaster that was killed are still there: until the last of them has noticed, there is no new one. */
const STILL_THERE = 'pre-existing shared memory block';

async function launch(bin: string, data: string, port: number): Promise<OwnedProcess> {
  const settings = Object.entries({ ...SETTINGS, port }).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  let output = '';
  const begin = (): OwnedProcess => {
    output = '';
    const begun = spawnOwned(join(bin, 'postgres'), ['-D', data, ...settings], { ...unprivileged(), cwd: data });
    for (const stream of [begun.child.stdout, begun.child.stderr]) stream?.on('data', (chunk) => (output += chunk));
    return begun;
  };
  let server = begin();
  await eventually(
    `PostgreSQL answers on port ${port}`,
    async () => {
      if (server.isRunning()) return canConnect(urlOf(port, 'postgres'));
      // Its last words may come behind its end.
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

/** The postmaster first: it makes no more sessions, or hears of those that go on. */
function signalAll(postmaster: number, signal: NodeJS.Signals): void {
  process.kill(postmaster, signal);
  const { stdout } = spawnSync('ps', ['-o', 'pid=', '--ppid', String(postmaster)], { encoding: 'utf8' });
  for (const pid of stdout.split('\n').map(Number)) {
    try {
      if (pid > 0) process.kill(pid, signal);
    } catch (error) {
      // A session may have ended since it was listed.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}

/** Makes a cluster and waits until it answers, a few seconds. The caller stops it. */
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

/** A database that is the caller's alone. */
export interface FreshDatabase {
  readonly url: string;
  /** Gives it back, or removes it; sessions that are still open are ended. */
  drop(): Promise<void>;
}

let ownShared: Promise<PostgresServer> | undefined;

/** URL of the PostgreSQL that all test files share. `npm test` starts it; else the first call starts one that ends with this process. */
async function sharedServer(): Promise<string> {
  const given = process.env['TEST_DATABASE_URL'] ?? process.env['DATABASE_URL'];
  ownShared ??= given === undefined ? startPostgres() : undefined;
  return given ?? (await ownShared)?.url ?? '';
}

/**
 * A new database on the shared PostgreSQL, without tables.
 * @param templateUrl of a database there, which nobody is connected to: the new one is a copy of it.
 */
export async function newDatabase(templateUrl?: string): Promise<FreshDatabase> {
  const admin = await sharedServer();
  const name = `test_${randomBytes(8).toString('hex')}`;
  const template = templateUrl === undefined ? '' : ` template "${new URL(templateUrl).pathname.slice(1)}"`;
  await run(admin, `create database "${name}"${template}`);
  const url = new URL(admin);
  url.pathname = `/${name}`;
  return { url: url.href, drop: () => run(admin, `drop database if exists "${name}" with (force)`) };
}

/** Template of this worker's databases. */
let template: Promise<MigratedTemplate> | undefined;
/** Databases of this worker that are nobody's, without rows: emptying one takes a tenth of what a new one does. */
const unused: FreshDatabase[] = [];

interface MigratedTemplate {
  readonly url: string;
  readonly shape: string;
}

async function makeTemplate(): Promise<MigratedTemplate> {
  // Not where the run's server is started: that is no test.
  const { openDatabase } = await import('../../src/stores/database/connect.js');
  const { url } = await newDatabase();
  await (await openDatabase({ databaseUrl: url, dataDir: '' })).close();
  const shape = await withClient(url, async (client) => (await readShape(asking(client))).shape);
  return { url, shape };
}

/** A database on the shared PostgreSQL with the tables of the program and no rows. */
export async function freshDatabase(): Promise<FreshDatabase> {
  template ??= makeTemplate();
  const { url } = await template;
  const database = unused.pop() ?? (await newDatabase(url));
  let isGiven = false;
  return {
    url: database.url,
    async drop() {
      if (isGiven) return;
      isGiven = true;
      const isEmpty = await withClient(database.url, async (client) => {
        await client.query(END_OTHERS);
        return emptyTables(asking(client));
      }).catch(() => false);
      if (isEmpty) unused.push(database);
      else await database.drop();
    },
  };
}

/** Sends a statement and returns its rows. */
export type Ask = (statement: string) => Promise<readonly object[]>;

const asking =
  (client: pg.Client): Ask =>
  async (statement) =>
    (await client.query<object>(statement)).rows;

const END_OTHERS = `select pg_terminate_backend(pid, 10000) from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid()`;

/** Tables with what they take, and a text that differs as soon as tables, constraints, triggers, settings or the list of migrations are others. */
const SHAPE = `select
  (select md5(string_agg(part, ' ' order by part)) from (
    select c.relname || a.attname || a.attnum as part from pg_class as c join pg_attribute as a on a.attrelid = c.oid
      where c.relnamespace = 'public'::regnamespace and not a.attisdropped
    union all select conname from pg_constraint where connamespace = 'public'::regnamespace
    union all select name from kysely_migration
    union all select tgname from pg_trigger where not tgisinternal
    union all select setconfig::text from pg_db_role_setting as s join pg_database as d on d.oid = s.setdatabase
      where d.datname = current_database()) as parts) as shape,
  (select json_object_agg(relname, pg_table_size(oid)) from pg_class
    where relkind = 'r' and relnamespace = 'public'::regnamespace and relname <> 'kysely_migration') as tables`;

/** From this size on new files are quicker than rows that are deleted one by one, and leave no holes. */
const LARGE_BYTES = 512 * 1024;

const quoted = (name: string): string => `"${name}"`;

async function readShape(ask: Ask): Promise<{ shape: string; tables: Record<string, number> }> {
  const [row] = await ask(SHAPE);
  return row as { shape: string; tables: Record<string, number> };
}

/** Deletes all rows of a database that `freshDatabase` made. @returns false where its tables are others now: nobody else can use it. */
export async function emptyTables(ask: Ask): Promise<boolean> {
  const { shape, tables } = await readShape(ask);
  if (template === undefined || shape !== (await template).shape) return false;
  const [large, small] = [true, false].map((isLarge) =>
    Object.keys(tables).filter((name) => tables[name]! > LARGE_BYTES === isLarge),
  );
  if (large!.length > 0) await ask(`truncate ${large!.map(quoted).join(', ')} cascade`);
  // In one statement foreign keys are looked at when all is gone.
  await ask(`with ${small!.map((name, at) => `d${at} as (delete from ${quoted(name)})`).join(', ')} select`);
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
