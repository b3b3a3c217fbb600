/**
 * Sends statements from the main thread to the SQLite worker thread. Each call has a deadline. If the worker has died,
 * the next `open` starts another worker.
 */
import { Worker } from 'node:worker_threads';
import { DatabaseUnavailable, SqliteError, translateSqliteError } from './database-errors.js';
import type { SqliteReply, SqliteRequest, SqliteResult, SqliteStatement, SqliteWorkerData } from './sqlite-worker.js';

export interface SqliteClientOptions extends SqliteWorkerData {
  /** Maximum time of a call, in milliseconds. A call without a response by then rejects with `DatabaseUnavailable`. */
  readonly deadlineMs: number;
}

type RequestBody = SqliteRequest extends infer R ? (R extends { id: number } ? Omit<R, 'id'> : never) : never;

interface Pending {
  resolve(reply: SqliteReply): void;
  reject(error: Error): void;
  /** Called when the worker has responded or died, even after the deadline. */
  settle(): void;
}

/**
 * The worker is compiled next to this file. In tests that load TypeScript, Node strips the types of the worker's
 * source.
 */
const WORKER_FILE = new URL(
  import.meta.url.endsWith('.ts') ? './sqlite-worker.ts' : './sqlite-worker.js',
  import.meta.url,
);

/** SqliteClient is one SQLite connection in its own thread. The thread processes calls in order. */
export class SqliteClient {
  /** Number of workers started so far. If the number changes during a transaction, the transaction is lost. */
  generation = 0;
  private worker: Worker | undefined;
  private opening: Promise<void> | undefined;
  private nextId = 1;
  private readonly pending = new Map<number, Pending>();

  constructor(private readonly options: SqliteClientOptions) {}

  /** Starts the worker if none is running. Rejects with SQLite's error if the file cannot be opened. */
  open(): Promise<void> {
    this.opening ??= this.start().catch((error: unknown) => {
      this.opening = undefined;
      throw error;
    });
    return this.opening;
  }

  /**
   * Runs statements in one message, because each message costs time in the event loop. Rejects with `SqliteError`.
   * Rejects with `DatabaseUnavailable` if the deadline has passed, the worker has died, or SQLite is unavailable.
   */
  async run(
    statements: readonly SqliteStatement[],
    { begins = false, commits = false }: { readonly begins?: boolean; readonly commits?: boolean } = {},
  ): Promise<readonly SqliteResult[]> {
    const { results = [] } = await this.call({ kind: 'run', statements, begins, commits });
    return results;
  }

  /**
   * Rolls back the open transaction. Does nothing without an open transaction, because SQLite itself rolls back after
   * some errors.
   */
  async rollback(): Promise<void> {
    await this.call({ kind: 'reset' });
  }

  /**
   * Waits without a deadline until the worker is idle, then rolls back an open transaction. Ends the worker if the
   * rollback fails. The next `open` then starts another worker. Never rejects.
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
    this.discardWorker(worker, new DatabaseUnavailable('SQLite: the connection is being restarted'));
    await worker.terminate();
  }

  /** Writes the write-ahead log into the file, closes the file and ends the thread. */
  async close(): Promise<void> {
    const { worker } = this;
    if (worker === undefined) return;
    await this.call({ kind: 'close' }).catch(() => {});
    this.discardWorker(worker, new DatabaseUnavailable('SQLite: the database is closed'));
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
      this.discardWorker(worker, new DatabaseUnavailable(`SQLite: the worker failed: ${error.message}`, error)),
    );
    worker.on('exit', () => this.discardWorker(worker, new DatabaseUnavailable('SQLite: the worker ended')));
    return new Promise<void>((resolve, reject) => {
      const pending = { resolve: () => resolve(), reject, settle: () => {} };
      // Opening may wait for another process that changes the journal mode, so its deadline is longer.
      this.addPending(0, pending, this.options.deadlineMs + busyTimeoutMs);
    }).catch(async (error: unknown) => {
      this.discardWorker(worker, new DatabaseUnavailable('SQLite: the file could not be opened', error));
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
    this.addPending(id, pending, this.options.deadlineMs);
    this.worker.postMessage({ ...body, id });
  }

  private addPending(id: number, pending: Pending, deadlineMs: number): void {
    const timer = setTimeout(() => {
      // The entry stays in `pending`, because `recover` must know that the worker is still busy.
      pending.reject(new DatabaseUnavailable(`SQLite: no answer within ${deadlineMs} ms`));
    }, deadlineMs);
    const settle = pending.settle.bind(pending);
    // The function is assigned from a variable. V8 would allocate a function literal here among the old objects, which
    // keeps request and response in memory (decision 0026).
    const settleAndClearTimer = (): void => {
      clearTimeout(timer);
      settle();
    };
    pending.settle = settleAndClearTimer;
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

  /** Discards a worker that has failed or ended, and rejects its pending calls at once. */
  private discardWorker(worker: Worker, reason: DatabaseUnavailable): void {
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
