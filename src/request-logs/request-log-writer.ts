/** Writes request log rows. Writing the same row again has no effect, so that a failed write can be repeated. */
import { sql, type Kysely } from 'kysely';
import type { DatabaseHandle } from '../stores/database/connect.js';
import { jsonRows, type JsonColumn } from '../stores/database/json-rows.js';
import { packedRows } from '../stores/database/packed-rows.js';
import type { RequestLogTable, Tables } from '../stores/database/schema.js';
import { dayOf } from './days.js';
import { lacksPartition, makePartitions } from './partitions.js';
import type { RequestLogRow } from './request-log-row.js';

const COLUMNS: readonly (JsonColumn & { readonly name: keyof RequestLogTable })[] = [
  { name: 'account_id', type: 'text' },
  { name: 'day', type: 'bigint' },
  { name: 'at', type: 'bigint' },
  { name: 'node', type: 'text' },
  { name: 'seq', type: 'bigint' },
  { name: 'request_id', type: 'text' },
  { name: 'api_key_id', type: 'text' },
  { name: 'operation', type: 'text' },
  { name: 'method', type: 'text' },
  { name: 'route', type: 'text' },
  { name: 'status', type: 'bigint' },
  { name: 'code', type: 'text' },
  { name: 'duration_us', type: 'bigint' },
  { name: 'bytes_in', type: 'bigint' },
  { name: 'bytes_out', type: 'bigint' },
  { name: 'ip', type: 'text' },
  { name: 'weight', type: 'bigint' },
  { name: 'source', type: 'text' },
  { name: 'tool', type: 'text' },
];

/** RequestLogWriter writes rows to the database. */
export class RequestLogWriter {
  constructor(
    private readonly db: Kysely<Tables>,
    private readonly kind: DatabaseHandle['kind'],
  ) {}

  /** Writes all rows or none. After a rejection, the rows may have been written, and the call can be repeated. */
  async write(rows: readonly RequestLogRow[]): Promise<void> {
    try {
      await this.insert(rows);
    } catch (error) {
      if (this.kind === 'sqlite' || !lacksPartition(error)) throw error;
      // No worker has created the partition of the day in advance, or the clock was changed.
      await makePartitions(
        this.db,
        rows.map(({ at }) => dayOf(at)),
      );
      await this.insert(rows);
    }
  }

  private async insert(rows: readonly RequestLogRow[]): Promise<void> {
    const names = sql.join(COLUMNS.map(({ name }) => sql.ref(name)));
    await sql`
      insert into request_log (${names}) select ${names} from ${this.source(rows.map(valuesOf))} where true
      on conflict do nothing
    `.execute(this.db);
  }

  private source(values: readonly (readonly (string | number)[])[]): ReturnType<typeof packedRows> {
    return this.kind === 'sqlite'
      ? packedRows(COLUMNS, values, 'ended')
      : jsonRows(this.kind, COLUMNS, values, 'ended');
  }
}

function valuesOf(row: RequestLogRow): (string | number)[] {
  return [
    row.accountId,
    dayOf(row.at),
    row.at,
    row.node,
    row.seq,
    row.requestId,
    row.keyId,
    row.operation,
    row.method,
    row.route,
    row.status,
    row.code,
    row.durationUs,
    row.bytesIn,
    row.bytesOut,
    row.ip,
    row.weight,
    row.source,
    row.tool,
  ];
}
