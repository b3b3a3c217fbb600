/**
 * Provides a Kysely dialect for PostgreSQL with a limited pool and timeouts. Errors of an unavailable server become
 * `DatabaseUnavailable`.
 */
import { PostgresDialect, type Dialect, type PostgresPool, type PostgresPoolClient } from 'kysely';
import { Client, DatabaseError, Pool, types, type PoolClient } from 'pg';
import { DatabaseUnavailable, translatePostgresError } from './database-errors.js';

const INT8_OID = 20;

/** Matches the statement with which Kysely begins a transaction. */
const BEGIN = /^(?:begin|start transaction)\b/;

// `bigint` columns hold milliseconds and counts far below 2^53. By default, `pg` returns them as strings.
types.setTypeParser(INT8_OID, Number);

export interface PostgresOptions {
  readonly databaseUrl: string;
  /** Timeout for opening a connection, and for waiting for a free connection of the pool. */
  readonly connectTimeoutMs: number;
  /** Timeout of a statement. The server cancels the statement, and the client gives up a little later. */
  readonly statementTimeoutMs: number;
  readonly maxConnections: number;
  /**
   * True if a pooler such as PgBouncer shares the server's sessions, so that sessions cannot keep settings. Each
   * transaction then sets its own timeouts. Outside of a transaction, the caller stops waiting at the timeout, but the
   * server finishes the statement.
   */
  readonly isPooled: boolean;
}

/** Time that the client waits beyond the statement timeout. Only a frozen server or a dead network exceeds it. */
const GRACE_MS = 500;

/** Maximum pause between two statements of a transaction, as a multiple of the statement timeout. */
const IDLE_FACTOR = 5;

/** SQLSTATEs with which poolers reject a startup parameter: protocol violation (PgBouncer), feature not supported. */
const PARAMETER_REFUSED: ReadonlySet<string | undefined> = new Set(['08P01', '0A000']);

/** An unusual timeout, which shows whether the server has applied it. */
const PROBE_TIMEOUT_MS = 59_123;

/**
 * Reports whether connections can set a statement timeout. Poolers reject or ignore the parameter. Rejects if the
 * server cannot be reached for another reason.
 */
export async function supportsTimeouts(databaseUrl: string, connectTimeoutMs: number): Promise<boolean> {
  const settings = {
    connectionString: databaseUrl,
    application_name: 'trailgate',
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: connectTimeoutMs,
  };
  const client = new Client({ ...settings, statement_timeout: PROBE_TIMEOUT_MS });
  client.on('error', () => {});
  try {
    await client.connect();
    const text = "select setting from pg_settings where name = 'statement_timeout'";
    const { rows } = await client.query<{ setting: string }>(text);
    return rows[0]?.setting === String(PROBE_TIMEOUT_MS);
  } catch (error) {
    if (error instanceof DatabaseError && PARAMETER_REFUSED.has(error.code)) return false;
    throw error;
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Creates the dialect. Queries reject with `DatabaseUnavailable` if the server, not the statement, is the cause. */
export function postgresDialect(options: PostgresOptions): Dialect {
  const { statementTimeoutMs, isPooled } = options;
  const idleTimeoutMs = statementTimeoutMs * IDLE_FACTOR;
  const pool = new Pool({
    connectionString: options.databaseUrl,
    application_name: 'trailgate',
    max: options.maxConnections,
    connectionTimeoutMillis: options.connectTimeoutMs,
    query_timeout: statementTimeoutMs + GRACE_MS,
    ...(isPooled ? {} : { statement_timeout: statementTimeoutMs, idle_in_transaction_session_timeout: idleTimeoutMs }),
    keepAlive: true,
  });
  // The pool drops idle connections that the server closes. Without a listener, their errors would end the process.
  pool.on('error', () => {});
  // This listener handles connections that end between two statements of a transaction. The next statement rejects.
  pool.on('connect', (client) => client.on('error', () => {}));
  const timeouts =
    `set local statement_timeout = ${statementTimeoutMs}; ` +
    `set local idle_in_transaction_session_timeout = ${idleTimeoutMs}`;
  return new PostgresDialect({ pool: translatingPool(pool, isPooled ? timeouts : undefined) });
}

/** @param settings statements that are sent at the start of each transaction. */
function translatingPool(pool: Pool, settings: string | undefined): PostgresPool {
  return {
    options: pool.options,
    async connect() {
      try {
        return translatingClient(await pool.connect(), settings);
      } catch (error) {
        throw translatePostgresError(error);
      }
    },
    end: () => pool.end(),
  };
}

function translatingClient(client: PoolClient, settings: string | undefined): PostgresPoolClient {
  let brokenBy: DatabaseUnavailable | undefined;
  async function query(sql: string, parameters: readonly unknown[]): Promise<unknown> {
    // The server rolls back when the connection closes. A rollback on a silent connection would only wait again, and
    // Kysely would report the error of the rollback instead of the first error.
    if (brokenBy !== undefined) throw brokenBy;
    try {
      // Both statements are one message, so that they take one round trip.
      if (settings !== undefined && BEGIN.test(sql)) return await client.query(`${sql}; ${settings}`);
      return await client.query(sql, [...parameters]);
    } catch (error) {
      const translated = translatePostgresError(error);
      if (translated instanceof DatabaseUnavailable) brokenBy = translated;
      throw translated;
    }
  }
  return {
    query: query as PostgresPoolClient['query'],
    // A connection with an outstanding response must not serve the next caller, so the pool destroys it.
    release: (destroy) => client.release(brokenBy !== undefined || destroy === true),
  };
}
