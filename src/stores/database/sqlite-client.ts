/**
 * The main thread's end of the SQLite worker: numbered requests, a deadline on each, and a new worker when one dies.
 */
import { Worker } from 'node:worker_threads';
import { DatabaseUnavailable, SqliteError, translateSqliteError } from './database-errors.js';
import type { SqliteReply, SqliteRequest, SqliteResult, SqliteStatement, SqliteWorkerData } from './sqlite-worker.js';

export interface SqliteClientOptions extends SqliteWorkerData {
  /** A call that has no response by then rejects with `DatabaseUnavailable`. */
  readonly deadlineMs: number;
}

type RequestBody = SqliteRequest extends infer R ? (R extends { id: number } ? Omit<R, 'id'> : never) : never;

interface Pending {
  resolve(reply: SqliteReply): void;
  reject(error: Error): void;
  /** Called when the worker has really answered or died, also after the deadline. */
  settle(): void;
}

/** Compiled beside this file; under a test runner that loads TypeScript, Node strips the worker's types itself. */
const WORKER_FILE = new URL(
  import.meta.url.endsWith('.ts') ? './sqlite-worker.ts' : './sqlite-worker.js',
  import.meta.url,
);

/** One SQLite connection in its own thread. Calls are answered in the order in which they were made. */
export class SqliteClient {
  /** Counts workers: a transaction that was begun in one generation is lost in the next. */
  generation = 0;
  private worker: Worker | undefined;
  private opening: Promise<void> | undefined;
  private nextId = 1;
  private readonly pending = new Map<number, Pending>();

  constructor(private readonly options: SqliteClientOptions) {}

  /** Starts the worker if none runs. Rejects with SQLite's error where the file cannot be opened. */
  open(): Promise<void> {
    this.opening ??= this.start().catch((error: unknown) => {
      this.opening = undefined;
      throw error;
    });
    return this.opening;
  }

  /**
   * Statements, in one message: what the event loop has to do for several is what it has to do for one. Rejects with
   * `SqliteError`, or `DatabaseUnavailable` after the deadline or where the worker died.
   */
  async run(
    statements: readonly SqliteStatement[],
    { begins = false, commits = false }: { readonly begins?: boolean; readonly commits?: boolean } = {},
  ): Promise<readonly SqliteResult[]> {
    const { results = [] } = await this.call({ kind: 'run', statements, begins, commits });
    return results;
  }

  /** Rolls back the open transaction, if there is one: SQLite has itself rolled back after some errors. */
  async rollback(): Promise<void> {
    await this.call({ kind: 'reset' });
  }

  /**
   * Waits, with no deadline, until the worker has ended what it is doing, then rolls back what is open. Never rejects.
   */
  async recover(): Promise<void> {
    await Promise.all(
      [...this.pending.values()].map((call) => new Promise<void>((resolve) => chainSettle(call, resolve))),
    );
    const { worker } = this;
    if (worker === undefined) return;
    const failed = await new Promise<boolean>((resolve) => {
      let rejected = false;
      this.post(
        { kind: 'reset' },
        { resolve: () => {}, reject: () => (rejected = true), settle: () => resolve(rejected) },
      );
    });
    if (!failed) return;
    this.retire(worker, new DatabaseUnavailable('SQLite: the connection is started anew'));
    await worker.terminate();
  }

  /** Checkpoints, closes the file and ends the thread. */
  async close(): Promise<void> {
    const { worker } = this;
    if (worker === undefined) return;
    await this.call({ kind: 'close' }).catch(() => {});
    this.retire(worker, new DatabaseUnavailable('SQLite: the database is closed'));
    await worker.terminate();
  }

  private start(): Promise<void> {
    const { file, busyTimeoutMs } = this.options;
    const worker = new Worker(WORKER_FILE, {
      workerData: { file, busyTimeoutMs } satisfies SqliteWorkerData,
      name: 'sqlite',
    });
    this.worker = worker;
    this.generation += 1;
    worker.on('message', (reply: SqliteReply) => this.receive(reply));
    worker.on('error', (error: Error) =>
      this.retire(worker, new DatabaseUnavailable(`SQLite: the worker failed: ${error.message}`, error)),
    );
    worker.on('exit', () => this.retire(worker, new DatabaseUnavailable('SQLite: the worker ended')));
    return new Promise<void>((resolve, reject) => {
      const pending = { resolve: () => resolve(), reject, settle: () => {} };
      // Opening waits for another process that changes the journal mode, so it gets that much more time.
      this.expect(0, pending, this.options.deadlineMs + busyTimeoutMs);
    }).catch(async (error: unknown) => {
      this.retire(worker, new DatabaseUnavailable('SQLite: the file could not be opened', error));
      await worker.terminate();
      throw error;
    });
  }

  private call(body: RequestBody): Promise<SqliteReply> {
    return new Promise((resolve, reject) => this.post(body, { resolve, reject, settle: () => {} }));
  }

  private post(body: RequestBody, pending: Pending): void {
    if (this.worker === undefined) {
      pending.reject(new DatabaseUnavailable('SQLite: the worker is not running'));
      pending.settle();
      return;
    }
    const id = this.nextId++;
    this.expect(id, pending, this.options.deadlineMs);
    this.worker.postMessage({ ...body, id });
  }

  private expect(id: number, pending: Pending, deadlineMs: number): void {
    const timer = setTimeout(() => {
      // The entry stays: `reset` has to know that the worker is still busy with it.
      pending.reject(new DatabaseUnavailable(`SQLite: no answer within ${deadlineMs} ms`));
    }, deadlineMs);
    const settle = pending.settle.bind(pending);
    // Assigned by its name: written there it would be an old object from the beginning, and keep what
    // was asked and answered (decision 0026).
    const settleInTime = (): void => {
      clearTimeout(timer);
      settle();
    };
    pending.settle = settleInTime;
    this.pending.set(id, pending);
  }

  private receive(reply: SqliteReply): void {
    const pending = this.pending.get(reply.id);
    if (pending === undefined) return;
    this.pending.delete(reply.id);
    if (reply.error === undefined) pending.resolve(reply);
    else
      pending.reject(translateSqliteError(new SqliteError(reply.error.message, reply.error.code, reply.error.errcode)));
    pending.settle();
  }

  /** Forgets a worker that is gone; whoever waited for it hears so now and not at the deadline. */
  private retire(worker: Worker, reason: DatabaseUnavailable): void {
    if (this.worker !== worker) return;
    this.worker = undefined;
    this.opening = undefined;
    const lost = [...this.pending.values()];
    this.pending.clear();
    for (const pending of lost) {
      pending.reject(reason);
      pending.settle();
    }
  }
}

function chainSettle(pending: Pending, next: () => void): void {
  const settle = pending.settle.bind(pending);
  pending.settle = () => {
    settle();
    next();
  };
}
