/**
 * Kysely on PostgreSQL: a bounded pool, a deadline on connecting and on each statement, one
 * error for a server that cannot be asked.
 */
import { PostgresDialect, type Dialect, type PostgresPool, type PostgresPoolClient } from 'kysely';
import { Pool, types, type PoolClient } from 'pg';
import { DatabaseUnavailable, translatePostgresError } from './database-errors.js';

const INT8_OID = 20;

// `bigint` holds milliseconds and counts here, all far below 2^53; `pg` would hand them out as strings.
types.setTypeParser(INT8_OID, Number);

export interface PostgresOptions {
  readonly databaseUrl: string;
  /** For a connection, and also for a free one of the pool. */
  readonly connectTimeoutMs: number;
  /** For a statement: the server cancels it then, and a little later we stop listening. */
  readonly statementTimeoutMs: number;
  readonly maxConnections: number;
}

/**
 * How much longer than the server's own statement timeout we listen: only a frozen
 * server or a dead network lets it pass.
 */
const GRACE_MS = 500;

/**
 * A Kysely dialect on the server. Rejects with `DatabaseUnavailable` where the server, not the statement, is to blame.
 */
export function postgresDialect(options: PostgresOptions): Dialect {
  const pool = new Pool({
    connectionString: options.databaseUrl,
    application_name: 'trailgate',
    max: options.maxConnections,
    connectionTimeoutMillis: options.connectTimeoutMs,
    statement_timeout: options.statementTimeoutMs,
    query_timeout: options.statementTimeoutMs + GRACE_MS,
    idle_in_transaction_session_timeout: options.statementTimeoutMs * 5,
    keepAlive: true,
  });
  // An idle connection that the server closes: the pool drops it by itself, but
  // without a listener the process would end.
  pool.on('error', () => {});
  // One in use that is ended between two statements of a transaction has no listener of
  // the pool's; the next statement rejects.
  pool.on('connect', (client) => client.on('error', () => {}));
  return new PostgresDialect({ pool: translatingPool(pool) });
}

function translatingPool(pool: Pool): PostgresPool {
  return {
    options: pool.options,
    async connect() {
      try {
        return translatingClient(await pool.connect());
      } catch (error) {
        throw translatePostgresError(error);
      }
    },
    end: () => pool.end(),
  };
}

function translatingClient(client: PoolClient): PostgresPoolClient {
  let brokenBy: DatabaseUnavailable | undefined;
  async function query(sql: string, parameters: readonly unknown[]): Promise<unknown> {
    // A rollback on a connection that does not answer would wait as long again; the server rolls back when it is
    // closed. It is the first error that says why: Kysely hands on that of the rollback.
    if (brokenBy !== undefined) throw brokenBy;
    try {
      return await client.query(sql, [...parameters]);
    } catch (error) {
      const translated = translatePostgresError(error);
      if (translated instanceof DatabaseUnavailable) brokenBy = translated;
      throw translated;
    }
  }
  return {
    query: query as PostgresPoolClient['query'],
    // A connection whose response is still outstanding must not serve the next caller.
    release: (destroy) => client.release(brokenBy !== undefined || destroy === true),
  };
}
