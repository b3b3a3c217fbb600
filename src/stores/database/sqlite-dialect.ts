/**
 * Kysely on SQLite in a worker thread: one connection, which one caller at a time
 * holds for a statement or a transaction.
 */
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

/** A Kysely dialect on the file. Every wait in it ends by the deadline, with `DatabaseUnavailable`. */
export function sqliteDialect(options: SqliteClientOptions): Dialect {
  return {
    createDriver: () => new SqliteWorkerDriver(options),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createAdapter: () => new SqliteWorkerAdapter(),
    createIntrospector: (db) => new SqliteIntrospector(db),
  };
}

class SqliteWorkerAdapter extends SqliteAdapter {
  // Kysely's own queue for single connections has no deadline; the driver's has.
  override get supportsMultipleConnections(): boolean {
    return true;
  }

  // SQLite rolls schema changes back like any other, and `begin immediate` keeps a
  // second process that migrates waiting.
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

class SqliteWorkerDriver implements Driver {
  private readonly client: SqliteClient;
  private readonly turn: Turnstile;

  constructor(options: SqliteClientOptions) {
    this.client = new SqliteClient(options);
    this.turn = new Turnstile(options.deadlineMs);
  }

  init(): Promise<void> {
    return this.client.open();
  }

  async acquireConnection(): Promise<DatabaseConnection> {
    await this.turn.enter();
    try {
      await this.client.open();
      return new SqliteWorkerConnection(this.client);
    } catch (error) {
      this.turn.leave();
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
    // A broken session is rolled back on its release, without making the caller wait for it.
    if (session(connection).broken) return;
    await this.client.rollback();
    session(connection).ended();
  }

  async releaseConnection(connection: DatabaseConnection): Promise<void> {
    const { broken, inTransaction } = session(connection);
    if (!broken && !inTransaction) {
      this.turn.leave();
      return;
    }
    // What missed its deadline may still be running: the next caller comes in once it has ended and is rolled back.
    void this.client.recover().then(() => this.turn.leave());
  }

  destroy(): Promise<void> {
    return this.client.close();
  }
}

/** SqliteWorkerConnection is the one connection, in the hands of one caller. */
export class SqliteWorkerConnection implements DatabaseConnection {
  broken = false;
  inTransaction = false;
  /** Its transaction begins with its first statement, in the same message. */
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
    // Where it has had no statement there is nothing to end.
    if (!this.mustBegin) await this.run([], true);
    this.ended();
  }

  /** There is no transaction any more. */
  ended(): void {
    this.inTransaction = false;
    this.mustBegin = false;
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const [result] = await this.run<R>([query], false);
    return result!;
  }

  /** Statements in one message; those that are a whole transaction where no transaction is open. */
  async executeTogether(
    queries: readonly CompiledQuery[],
    isTransaction: boolean,
  ): Promise<readonly QueryResult<unknown>[]> {
    if (isTransaction) this.begin();
    const results = await this.run(queries, isTransaction);
    if (isTransaction) this.ended();
    return results;
  }

  streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('streaming is not supported on SQLite; page with a cursor');
  }

  private async run<R>(queries: readonly CompiledQuery[], commits: boolean): Promise<QueryResult<R>[]> {
    // After a lost response or worker the transaction is gone: the next statement would run, and stay, on its own.
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

/** Lets one in at a time, in order of arrival; who waits longer than the deadline is turned away. */
class Turnstile {
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
