/** Provides a Kysely dialect for SQLite in a worker thread. All callers share one connection, one after the other. */
import {
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
} from 'kysely';
import { DatabaseUnavailable } from './database-errors.js';
import { SqliteClient, type SqliteClientOptions } from './sqlite-client.js';

/**
 * Creates the dialect. A wait for the connection or for a statement rejects with `DatabaseUnavailable` at the deadline.
 */
export function sqliteDialect(options: SqliteClientOptions): Dialect {
  return {
    createDriver: () => new SqliteWorkerDriver(options),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createAdapter: () => new SqliteWorkerAdapter(),
    createIntrospector: (db) => new SqliteIntrospector(db),
  };
}

class SqliteWorkerAdapter extends SqliteAdapter {
  // Kysely's queue for single connections has no deadline, but the driver's own queue does.
  override get supportsMultipleConnections(): boolean {
    return true;
  }

  // SQLite also rolls back schema changes, and `begin immediate` blocks a second migrating process.
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

class SqliteWorkerDriver implements Driver {
  private readonly client: SqliteClient;
  private readonly queue: ConnectionQueue;

  constructor(options: SqliteClientOptions) {
    this.client = new SqliteClient(options);
    this.queue = new ConnectionQueue(options.deadlineMs);
  }

  init(): Promise<void> {
    return this.client.open();
  }

  async acquireConnection(): Promise<DatabaseConnection> {
    await this.queue.enter();
    try {
      await this.client.open();
      return new SqliteWorkerConnection(this.client);
    } catch (error) {
      this.queue.leave();
      throw error instanceof DatabaseUnavailable
        ? error
        : new DatabaseUnavailable('SQLite: the file cannot be opened', error);
    }
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    session(connection).begin();
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await session(connection).commit();
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    // A broken connection is rolled back on release, so that the caller does not wait for the rollback.
    if (session(connection).broken) return;
    await this.client.rollback();
    session(connection).markEnded();
  }

  async releaseConnection(connection: DatabaseConnection): Promise<void> {
    const { broken, inTransaction } = session(connection);
    if (!broken && !inTransaction) {
      this.queue.leave();
      return;
    }
    // A statement that missed its deadline may still be running. The next caller waits until the statement has been
    // rolled back.
    void this.client.recover().then(() => this.queue.leave());
  }

  destroy(): Promise<void> {
    return this.client.close();
  }
}

/** SqliteWorkerConnection represents the single connection while one caller holds it. */
export class SqliteWorkerConnection implements DatabaseConnection {
  broken = false;
  inTransaction = false;
  /**
   * True while `begin immediate` has not been sent. It is sent together with the first statement of the transaction.
   */
  private mustBegin = false;
  private readonly generation: number;

  constructor(private readonly client: SqliteClient) {
    this.generation = client.generation;
  }

  begin(): void {
    this.inTransaction = true;
    this.mustBegin = true;
  }

  async commit(): Promise<void> {
    // A transaction without statements was never started.
    if (!this.mustBegin) await this.run([], true);
    this.markEnded();
  }

  markEnded(): void {
    this.inTransaction = false;
    this.mustBegin = false;
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const [result] = await this.run<R>([query], false);
    return result!;
  }

  /**
   * Runs statements in one message.
   * @param isTransaction whether to run them as a transaction. No transaction may be open in that case.
   */
  async executeBatch(
    queries: readonly CompiledQuery[],
    isTransaction: boolean,
  ): Promise<readonly QueryResult<unknown>[]> {
    if (isTransaction) this.begin();
    const results = await this.run(queries, isTransaction);
    if (isTransaction) this.markEnded();
    return results;
  }

  streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('streaming is not supported on SQLite; page with a cursor');
  }

  private async run<R>(queries: readonly CompiledQuery[], commits: boolean): Promise<QueryResult<R>[]> {
    // After a lost response or worker, the transaction no longer exists. The next statement would run outside of it.
    if (this.broken || this.generation !== this.client.generation) {
      throw new DatabaseUnavailable('SQLite: the connection was lost in the middle of a transaction');
    }
    const begins = this.mustBegin;
    this.mustBegin = false;
    try {
      const statements = queries.map(({ sql, parameters }) => ({ sql, parameters }));
      const results = await this.client.run(statements, { begins, commits });
      return results.map(({ rows, changes }) => ({
        rows: (rows ?? []) as R[],
        ...(changes === undefined ? {} : { numAffectedRows: BigInt(changes) }),
      }));
    } catch (error) {
      if (error instanceof DatabaseUnavailable) this.broken = true;
      throw error;
    }
  }
}

function session(connection: DatabaseConnection): SqliteWorkerConnection {
  return connection as SqliteWorkerConnection;
}

/**
 * ConnectionQueue admits one caller at a time, in the order of arrival. It rejects callers that wait longer than the
 * deadline.
 */
class ConnectionQueue {
  private occupied = false;
  private readonly waiting = new Set<() => void>();

  constructor(private readonly deadlineMs: number) {}

  async enter(): Promise<void> {
    if (!this.occupied) {
      this.occupied = true;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const admit = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        this.waiting.delete(admit);
        reject(new DatabaseUnavailable(`SQLite: busy for more than ${this.deadlineMs} ms`));
      }, this.deadlineMs);
      this.waiting.add(admit);
    });
  }

  leave(): void {
    const [next] = this.waiting;
    if (next === undefined) {
      this.occupied = false;
      return;
    }
    this.waiting.delete(next);
    next();
  }
}
