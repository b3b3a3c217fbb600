/**
 * Runs SQLite in a worker thread. `node:sqlite` is synchronous, and waiting for the disk must not block the event loop.
 * The thread owns one connection and processes messages in order. It imports only Node modules, so that Node can run
 * this file compiled, or directly with its types stripped.
 */
import { setPriority } from 'node:os';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';

export interface SqliteWorkerData {
  readonly file: string;
  /** Maximum time in milliseconds that a statement waits for a lock of another process. */
  readonly busyTimeoutMs: number;
}

export interface SqliteStatement {
  readonly sql: string;
  readonly parameters: readonly unknown[];
}

/**
 * SqliteRequest is a request to the worker.
 * - `run` runs statements in order until one fails. `begins` starts a transaction before them. `commits` commits the
 *   transaction after them, or rolls it back after a failure.
 * - `reset` rolls back the open transaction, if any.
 * - `close` checkpoints and closes the file.
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

export interface SqliteResult {
  readonly rows?: readonly unknown[];
  readonly changes?: number;
}

/** SqliteReply is the response to the request with the same ID. ID 0 is the result of opening the file. */
export interface SqliteReply {
  readonly id: number;
  readonly results?: readonly SqliteResult[];
  readonly error?: { readonly message: string; readonly code?: string; readonly errcode?: number };
}

const MAX_CACHED_STATEMENTS = 256;
/** Nice value of this thread, so that a flush does not compete with the event loop for a core (decision 0026). */
const NICE = 5;

interface CachedStatement {
  readonly statement: StatementSync;
  readonly isReader: boolean;
}

const { file, busyTimeoutMs } = workerData as SqliteWorkerData;
const statements = new Map<string, CachedStatement>();
let database: DatabaseSync | undefined;

/** Primary result code of SQLite for a locked database, without the extended part. */
const SQLITE_BUSY = 5;

function open(): DatabaseSync {
  const opened = new DatabaseSync(file, { timeout: busyTimeoutMs, enableForeignKeyConstraints: true });
  // Changing to WAL mode does not use the busy timeout. A second process that starts at the same time gets SQLITE_BUSY
  // at once, so this loop waits instead.
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
  // SQLite overwrites deleted content with zeros, so that erased data cannot be read from the file.
  opened.exec('pragma secure_delete = on');
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

function execute(request: SqliteRequest): SqliteReply {
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
    // `begin` is immediate, because two deferred transactions that read before they write would make each other fail.
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

/** Lowers the thread's priority on Linux. On other systems, the call would affect the whole process. */
function lowerPriority(): void {
  if (process.platform !== 'linux') return;
  try {
    setPriority(NICE);
  } catch {
    // The priority affects latency only.
  }
}

lowerPriority();
reply(0, () => {
  database = open();
  return { id: 0 };
});
parentPort?.on('message', (request: SqliteRequest) => reply(request.id, () => execute(request)));
