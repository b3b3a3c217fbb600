/**
 * Kysely on PostgreSQL: a bounded pool, a deadline on connecting and on each statement, one
 * error for a server that cannot be asked.
 */
import { PostgresDialect, type Dialect, type PostgresPool, type PostgresPoolClient } from 'kysely';
import { Client, DatabaseError, Pool, types, type PoolClient } from 'pg';
import { DatabaseUnavailable, translatePostgresError } from './database-errors.js';

const INT8_OID = 20;

/** Matches the statement with which Kysely begins a transaction. */
const BEGIN = /^(?:begin|start transaction)\b/;

// `bigint` holds milliseconds and counts here, all far below 2^53; `pg` would hand them out as strings.
types.setTypeParser(INT8_OID, Number);

export interface PostgresOptions {
  readonly databaseUrl: string;
  /** For a connection, and also for a free one of the pool. */
  readonly connectTimeoutMs: number;
  /** For a statement: the server cancels it then, and a little later we stop listening. */
  readonly statementTimeoutMs: number;
  readonly maxConnections: number;
  /**
   * True where a pooler shares the server's sessions, so that no session can keep settings. Each transaction brings
   * its own timeouts then. A single statement ends for the caller at the deadline, and for the server when it is done.
   */
  readonly isPooled: boolean;
}

/**
 * How much longer than the server's own statement timeout we listen: only a frozen
 * server or a dead network lets it pass.
 */
const GRACE_MS = 500;

/** The longest pause between two statements of a transaction, in statement timeouts. */
const IDLE_FACTOR = 5;

/** SQLSTATEs of a pooler that refuses a parameter: protocol violation (PgBouncer), feature not supported. */
const PARAMETER_REFUSED: ReadonlySet<string | undefined> = new Set(['08P01', '0A000']);

/** A timeout that no one else sets. */
const PROBE_TIMEOUT_MS = 59_123;

/**
 * Reports whether connections can have a statement timeout. Poolers refuse the parameter, or ignore it. Rejects where
 * the server cannot be reached for another reason.
 */
export async function takesTimeouts(databaseUrl: string, connectTimeoutMs: number): Promise<boolean> {
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

/**
 * A Kysely dialect on the server. Rejects with `DatabaseUnavailable` where the server, not the statement, is to blame.
 */
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
  // An idle connection that the server closes: the pool drops it by itself, but
  // without a listener the process would end.
  pool.on('error', () => {});
  // One in use that is ended between two statements of a transaction has no listener of
  // the pool's; the next statement rejects.
  pool.on('connect', (client) => client.on('error', () => {}));
  const timeouts =
    `set local statement_timeout = ${statementTimeoutMs}; ` +
    `set local idle_in_transaction_session_timeout = ${idleTimeoutMs}`;
  return new PostgresDialect({ pool: translatingPool(pool, isPooled ? timeouts : undefined) });
}

/** @param settings statements that each transaction begins with. */
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
    // A rollback on a connection that does not answer would wait as long again; the server rolls back when it is
    // closed. It is the first error that says why: Kysely hands on that of the rollback.
    if (brokenBy !== undefined) throw brokenBy;
    try {
      // One message: both together are one round trip.
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
    // A connection whose response is still outstanding must not serve the next caller.
    release: (destroy) => client.release(brokenBy !== undefined || destroy === true),
  };
}
