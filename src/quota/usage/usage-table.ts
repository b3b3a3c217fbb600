/**
 * Stores usage and month counts in the database. Writes a batch completely and only once, even if it is sent again.
 * Rows of requests in flight contain the ID of their process, so that the sweep can find the rows of a dead process.
 */
import { sql, type Kysely, type RawBuilder, type Transaction } from 'kysely';
import type { DatabaseHandle } from '../../stores/database/connect.js';
import { jsonRows, type JsonColumn } from '../../stores/database/json-rows.js';
import { packedRows } from '../../stores/database/packed-rows.js';
import type { Tables } from '../../stores/database/schema.js';
import type { DayCount } from '../model/calendar-count.js';
import { toObservedColumns } from '../model/observation-time.js';
import { IN_FLIGHT, OUTCOME_NAMES, UNRECORDED } from '../model/usage-cell.js';
import type { UsageChange } from './usage-recorder.js';

/** CounterRow is a month count that was observed at an instant. */
export interface CounterRow {
  readonly accountId: string;
  /** Empty for the account's own count. */
  readonly keyId: string;
  /** Label of the month. */
  readonly month: number;
  readonly used: number;
  /** The day of the observation, and the usage of that day. If undefined, 0 is written for both. */
  readonly day?: DayCount;
  /** When the count was observed, in ms by the counters' clock, with a fraction if known. */
  readonly observedAtMs: number;
}

/** UsageBatch holds changes of usage and month counts that are written in one transaction. */
export interface UsageBatch {
  /**
   * Number of the batch in this process. A batch whose number is not above the last written number was written before.
   * Each flush starts above the next multiple of `ROUND`.
   */
  readonly number: number;
  readonly usage: readonly UsageChange[];
  readonly counters: readonly CounterRow[];
}

/** The batch numbers of each flush begin above a multiple of this number. */
export const ROUND = 1_000_000;

const IN_FLIGHT_NAME = OUTCOME_NAMES[IN_FLIGHT];
/** Maximum number of rows per statement. Bounds how long a statement runs. */
const ROWS_PER_STATEMENT = 5_000;

const KEY_COLUMNS: readonly JsonColumn[] = [
  { name: 'account_id', type: 'text' },
  { name: 'day', type: 'bigint' },
  { name: 'api_key_id', type: 'text' },
  { name: 'operation', type: 'text' },
  { name: 'period', type: 'bigint' },
  { name: 'outcome', type: 'text' },
];
const USAGE_COLUMNS: readonly JsonColumn[] = [
  ...KEY_COLUMNS,
  { name: 'requests', type: 'bigint' },
  { name: 'cost', type: 'bigint' },
];
const COUNTER_COLUMNS: readonly JsonColumn[] = [
  { name: 'account_id', type: 'text' },
  { name: 'api_key_id', type: 'text' },
  { name: 'period', type: 'bigint' },
  { name: 'used', type: 'bigint' },
  { name: 'day', type: 'bigint' },
  { name: 'day_used', type: 'bigint' },
  { name: 'observed_at', type: 'bigint' },
  { name: 'observed_us', type: 'bigint' },
];

/**
 * Tolerance for differences between clocks. If an observation is later than now plus this tolerance, the clock was set
 * back since the observation.
 */
const CLOCK_SLACK_MS = 1_000;

/** UsageTable writes batches of usage and month counts, each batch once. */
export class UsageTable {
  constructor(
    readonly db: Kysely<Tables>,
    readonly kind: DatabaseHandle['kind'],
    /**
     * Whether other processes use the same counters. If so, the latest observation of a count is kept, not the latest
     * write.
     */
    private readonly isShared: boolean,
    /** Returns the counters' clock minus this process's, in ms. */
    private readonly aheadMs: () => number = () => 0,
  ) {}

  /**
   * Writes a batch of a process, unless it was written before. If this method rejects, either nothing was written, or
   * everything was written and the response was lost.
   * @param alongside writes related rows in the same transaction.
   */
  async write(
    node: string,
    batch: UsageBatch,
    nowMs: number,
    alongside: (trx: Transaction<Tables>) => Promise<void> = async () => {},
  ): Promise<void> {
    await this.db.transaction().execute(async (trx) => {
      if (!(await this.isNew(trx, node, batch.number, nowMs))) return;
      const ended = batch.usage.filter(({ outcome }) => outcome !== IN_FLIGHT_NAME);
      for (const rows of chunks(ended)) await this.addUsage(trx, rows, nowMs);
      const inFlight = batch.usage.filter(({ outcome }) => outcome === IN_FLIGHT_NAME);
      for (const rows of chunks(inFlight)) await this.addInFlight(trx, node, rows);
      if (inFlight.length > 0) await deleteEnded(trx, node);
      for (const rows of chunks(batch.counters)) await this.putCounters(trx, rows, nowMs);
      await alongside(trx);
    });
  }

  /**
   * Ends the requests in flight of dead processes as `unrecorded`. If such a process is alive after all, it subtracts
   * these requests from its rows in flight when they end. The sum of all rows is therefore always right.
   * @param silentSinceMs a process without a write since then is considered dead, except `exceptNode`.
   * @returns the IDs of the dead processes.
   */
  async endSilentNodes(silentSinceMs: number, exceptNode: string, nowMs: number): Promise<string[]> {
    return this.db.transaction().execute(async (trx) => {
      // The rows stay locked until the end of the transaction, so that neither another worker nor the process itself
      // interferes.
      const silentNodes = await trx
        .updateTable('usage_node')
        .set({ buried_at: nowMs })
        .where('updated_at', '<', silentSinceMs)
        .where('id', '!=', exceptNode)
        .where('buried_at', '=', 0)
        .returning('id')
        .execute();
      const ids = silentNodes.map(({ id }) => id);
      if (ids.length === 0) return ids;
      await sql`
        insert into usage_daily (account_id, day, api_key_id, operation, period, outcome, requests, cost, updated_at)
        select account_id, day, api_key_id, operation, period, ${UNRECORDED}, sum(requests), sum(cost),
          cast(${nowMs} as bigint)
        from usage_in_flight where node in (${sql.join(ids)})
        group by account_id, day, api_key_id, operation, period
        order by account_id, day, api_key_id, operation, period
        ${ADD_USAGE}
      `.execute(trx);
      await trx.deleteFrom('usage_in_flight').where('node', 'in', ids).execute();
      return ids;
    });
  }

  /**
   * Marks a process as ended after its last write, unless it has requests in flight. If it has requests in flight,
   * `endSilentNodes` ends them later.
   */
  async markEnded(node: string, nowMs: number): Promise<void> {
    await this.db
      .updateTable('usage_node')
      .set({ buried_at: nowMs })
      .where('id', '=', node)
      .where(({ not, exists, selectFrom }) =>
        not(exists(selectFrom('usage_in_flight').select('node').where('node', '=', node))),
      )
      .execute();
  }

  /** Returns the number of the last written flush round of each live process. */
  async readRounds(): Promise<Map<string, number>> {
    const nodes = this.db.selectFrom('usage_node').select(['id', 'batch']).where('buried_at', '=', 0);
    return new Map((await nodes.execute()).map(({ id, batch }) => [id, Math.floor(batch / ROUND)]));
  }

  /**
   * Writes observed month counts. Ignores counts that were observed before an operator set the count. With shared
   * counters, also keeps a written count that was observed later.
   */
  async putCounters(trx: Kysely<Tables>, rows: readonly CounterRow[], nowMs: number): Promise<void> {
    const values = rows.map(({ accountId, keyId, month, used, day, observedAtMs }) => {
      const { observed_at: ms, observed_us: us } = toObservedColumns(observedAtMs);
      return [accountId, keyId, month, used, day?.day ?? 0, day?.used ?? 0, ms, us];
    });
    const isRight = this.isShared ? this.isLater(nowMs) : sql`1 = 1`;
    const right = (column: string) =>
      sql`case when ${isRight} then ${sql.ref(`excluded.${column}`)} else ${sql.ref(`quota_counter.${column}`)} end`;
    await sql`
      insert into quota_counter
        (account_id, api_key_id, period, used, day, day_used, observed_at, observed_us, updated_at)
      select account_id, api_key_id, period, used, day, day_used, observed_at, observed_us, cast(${nowMs} as bigint)
      from ${this.rowsOf(COUNTER_COLUMNS, values, 'seen')} where true
      ${this.kind === 'sqlite' ? sql`` : sql`order by account_id, api_key_id, period`}
      on conflict (account_id, api_key_id, period) do update set
        used = ${right('used')}, day = ${right('day')}, day_used = ${right('day_used')}, observed_at = ${right('observed_at')}, observed_us = ${right('observed_us')},
        updated_at = excluded.updated_at
      where excluded.observed_at >= quota_counter.set_at
    `.execute(trx);
  }

  /**
   * Returns the SQL condition that the new row was observed later than the written row. The later count is right, even
   * if it is lower because of a refund. At the same instant, the higher count is considered later. If the written
   * observation is in the future, the clock was set back since, and the new row is used.
   */
  private isLater(nowMs: number): RawBuilder<unknown> {
    const storeNowMs = Math.floor(nowMs + this.aheadMs()) + CLOCK_SLACK_MS;
    return sql`(
      excluded.observed_at > quota_counter.observed_at
      or (excluded.observed_at = quota_counter.observed_at and (excluded.observed_us > quota_counter.observed_us
        or (excluded.observed_us = quota_counter.observed_us and excluded.used > quota_counter.used)))
      or quota_counter.observed_at > cast(${storeNowMs} as bigint)
    )`;
  }

  /** Returns the number of live nodes that have written usage since an instant. */
  async countWriters(sinceMs: number): Promise<number> {
    const { n } = await this.db
      .selectFrom('usage_node')
      .select(({ fn }) => fn.countAll().as('n'))
      .where('buried_at', '=', 0)
      .where('updated_at', '>=', sinceMs)
      .executeTakeFirstOrThrow();
    return Number(n);
  }

  /** Records the batch number of a process. Returns false if the batch was written before. */
  private async isNew(trx: Transaction<Tables>, node: string, batch: number, nowMs: number): Promise<boolean> {
    const { rows } = await sql`
      insert into usage_node (id, batch, updated_at, buried_at)
      values (${node}, cast(${batch} as bigint), cast(${nowMs} as bigint), 0)
      on conflict (id) do update set batch = excluded.batch, updated_at = excluded.updated_at, buried_at = 0
      where usage_node.batch < excluded.batch
      returning batch
    `.execute(trx);
    return rows.length > 0;
  }

  private async addUsage(trx: Transaction<Tables>, rows: readonly UsageChange[], nowMs: number): Promise<void> {
    await sql`
      insert into usage_daily (account_id, day, api_key_id, operation, period, outcome, requests, cost, updated_at)
      select account_id, day, api_key_id, operation, period, outcome, requests, cost, cast(${nowMs} as bigint)
      from ${this.changes(rows)} where true
      ${ADD_USAGE}
    `.execute(trx);
  }

  /**
   * Returns changes as an SQL table. PostgreSQL accepts no row twice in a statement, but two subjects can have the same
   * key. PostgreSQL also needs the same order of rows in all processes to avoid deadlocks. SQLite needs no sums and no
   * order.
   */
  private changes(rows: readonly UsageChange[]): RawBuilder<unknown> {
    const changed = this.rowsOf(USAGE_COLUMNS, rows.map(valuesOf), 'changed');
    if (this.kind === 'sqlite') return changed;
    const columns = sql.join(KEY_COLUMNS.map(({ name }) => sql.ref(name)));
    return sql`(
      select ${columns}, sum(requests) as requests, sum(cost) as cost from ${changed}
      group by ${columns} order by ${columns}
    ) as summed`;
  }

  private rowsOf(
    columns: readonly JsonColumn[],
    rows: readonly (readonly (string | number)[])[],
    alias: string,
  ): RawBuilder<unknown> {
    return this.kind === 'sqlite' ? packedRows(columns, rows, alias) : jsonRows(this.kind, columns, rows, alias);
  }

  private async addInFlight(trx: Transaction<Tables>, node: string, rows: readonly UsageChange[]): Promise<void> {
    await sql`
      insert into usage_in_flight (node, account_id, day, api_key_id, operation, period, requests, cost)
      select cast(${node} as text), account_id, day, api_key_id, operation, period, requests, cost
      from ${this.changes(rows)} where true
      on conflict (node, account_id, day, api_key_id, operation, period) do update set
        requests = usage_in_flight.requests + excluded.requests,
        cost = usage_in_flight.cost + excluded.cost
    `.execute(trx);
  }
}

/** End of an `insert into usage_daily` statement, which adds the requests and cost to existing rows. */
export const ADD_USAGE = sql`
  on conflict (account_id, day, api_key_id, operation, period, outcome) do update set
    requests = usage_daily.requests + excluded.requests,
    cost = usage_daily.cost + excluded.cost,
    updated_at = excluded.updated_at
`;

async function deleteEnded(trx: Transaction<Tables>, node: string): Promise<void> {
  await trx
    .deleteFrom('usage_in_flight')
    .where('node', '=', node)
    .where('requests', '=', 0)
    .where('cost', '=', 0)
    .execute();
}

function valuesOf(row: UsageChange): (string | number)[] {
  return [row.accountId, row.day, row.keyId, row.operation, row.month, row.outcome, row.requests, row.cost];
}

function* chunks<T>(rows: readonly T[]): Generator<readonly T[]> {
  for (let start = 0; start < rows.length; start += ROWS_PER_STATEMENT) {
    yield rows.slice(start, start + ROWS_PER_STATEMENT);
  }
}
