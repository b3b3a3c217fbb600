/**
 * The thread that SQLite lives in: `node:sqlite` is synchronous, and an fsync must never stop the event loop.
 *
 * It owns one connection and answers messages one after the other. It imports nothing but Node, so that Node can run
 * this file as it stands (types stripped) as well as compiled.
 */
import { setPriority } from 'node:os';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';

/** What the thread is started with. */
export interface SqliteWorkerData {
  readonly file: string;
  /** How long a statement waits for a lock that another process holds. */
  readonly busyTimeoutMs: number;
}

/** A statement with what is bound to it. */
export interface SqliteStatement {
  readonly sql: string;
  readonly parameters: readonly unknown[];
}

/**
 * `run` runs statements one behind the other, up to the first that fails: behind the begin of a transaction and before
 * its end, where it is told so. What it was to end and could not is rolled back. `reset` rolls back whatever
 * transaction is open; `close` checkpoints and closes the file.
 */
export type SqliteRequest =
  | {
      readonly id: number;
      readonly kind: 'run';
      readonly statements: readonly SqliteStatement[];
      readonly begins: boolean;
      readonly commits: boolean;
    }
  | { readonly id: number; readonly kind: 'reset' }
  | { readonly id: number; readonly kind: 'close' };

/** What came of a statement. */
export interface SqliteResult {
  readonly rows?: readonly unknown[];
  readonly changes?: number;
}

/** The response to the request of the same id; id 0 is the response to opening the file. */
export interface SqliteReply {
  readonly id: number;
  /** Of each statement. */
  readonly results?: readonly SqliteResult[];
  readonly error?: { readonly message: string; readonly code?: string; readonly errcode?: number };
}

const MAX_CACHED_STATEMENTS = 256;
/** Of this thread: a flush must not take turns with the event loop on a core that both want (decision 0026). */
const NICE = 5;

interface CachedStatement {
  readonly statement: StatementSync;
  readonly isReader: boolean;
}

const { file, busyTimeoutMs } = workerData as SqliteWorkerData;
const statements = new Map<string, CachedStatement>();
let database: DatabaseSync | undefined;

/** Result code, without the extended part that says what it is busy with. */
const SQLITE_BUSY = 5;

function open(): DatabaseSync {
  const opened = new DatabaseSync(file, { timeout: busyTimeoutMs, enableForeignKeyConstraints: true });
  // Changing to WAL does not wait for other connections as statements do: a second process that starts at the same
  // moment sees SQLITE_BUSY at once, so the wait is ours.
  const giveUpAt = performance.now() + busyTimeoutMs;
  for (;;) {
    try {
      opened.exec('pragma journal_mode = wal');
      break;
    } catch (error) {
      if (performance.now() > giveUpAt || ((error as { errcode?: number }).errcode ?? 0) % 256 !== SQLITE_BUSY)
        throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  }
  opened.exec('pragma synchronous = full');
  return opened;
}

function prepare(connection: DatabaseSync, sql: string): CachedStatement {
  const known = statements.get(sql);
  if (known !== undefined) return known;
  const statement = connection.prepare(sql);
  const cached = { statement, isReader: statement.columns().length > 0 };
  if (statements.size >= MAX_CACHED_STATEMENTS) statements.clear();
  statements.set(sql, cached);
  return cached;
}

function carryOut(request: SqliteRequest): SqliteReply {
  const { id } = request;
  if (database === undefined) throw new Error('the database is closed');
  if (request.kind === 'close') {
    statements.clear();
    database.close();
    database = undefined;
    return { id };
  }
  if (request.kind === 'reset') {
    if (database.isTransaction) database.exec('rollback');
    return { id };
  }
  return { id, results: run(database, request) };
}

function run(
  connection: DatabaseSync,
  { statements, begins, commits }: SqliteRequest & { kind: 'run' },
): SqliteResult[] {
  try {
    // Not deferred: two transactions that both read and then want to write would otherwise fail each other at once.
    if (begins) prepare(connection, 'begin immediate').statement.run();
    const results = statements.map((statement) => runOne(connection, statement));
    if (commits) prepare(connection, 'commit').statement.run();
    return results;
  } catch (error) {
    if (commits && connection.isTransaction) connection.exec('rollback');
    throw error;
  }
}

function runOne(connection: DatabaseSync, { sql, parameters }: SqliteStatement): SqliteResult {
  const { statement, isReader } = prepare(connection, sql);
  const values = parameters as SQLInputValue[];
  if (isReader) return { rows: statement.all(...values) };
  return { changes: Number(statement.run(...values).changes) };
}

function failure(id: number, error: unknown): SqliteReply {
  const { message, code, errcode } = error as { message: string; code?: string; errcode?: number };
  return {
    id,
    error: { message, ...(code === undefined ? {} : { code }), ...(errcode === undefined ? {} : { errcode }) },
  };
}

function reply(id: number, produce: () => SqliteReply): void {
  let result: SqliteReply;
  try {
    result = produce();
  } catch (error) {
    result = failure(id, error);
  }
  parentPort?.postMessage(result);
}

/** Elsewhere than on Linux it would be the priority of the whole process. */
function stepBack(): void {
  if (process.platform !== 'linux') return;
  try {
    setPriority(NICE);
  } catch {
    // Only latency is at stake.
  }
}

stepBack();
reply(0, () => {
  database = open();
  return { id: 0 };
});
parentPort?.on('message', (request: SqliteRequest) => reply(request.id, () => carryOut(request)));
