/**
 * Implements the read position of a client that follows the request log. Each process writes its rows in order, but
 * processes write at different times. So a row of one process can appear after a newer row of another process.
 * Therefore the position contains the last row of each process.
 */
import { sql, type RawBuilder } from 'kysely';
import { invalidCursor } from '../stores/database/cursor.js';

/**
 * Maximum delay of rows compared with the rows of other processes. Clients that follow the log miss rows with a longer
 * delay. Listing in descending order finds these rows.
 */
const LATE_MS = 60_000;
/** Maximum number of processes in a position. */
const MAX_NODES = 200;

/** The rows of one process that a page has read. */
export interface PassedRows {
  readonly node: string;
  /** Highest sequence number that was read. */
  readonly seq: number;
  /** Latest end of a request that was read, in milliseconds since the epoch. */
  readonly at: number;
  /** Number of rows that were read. */
  readonly rows: number;
}

/** The last row of a process that was read: its sequence number, and the end of its request. */
type SeenRow = readonly [node: string, seq: number, at: number];

/** Position of a row in the sort order of the log. */
export type RowPosition = readonly [day: number, at: number, node: string, seq: number];

/** TailPosition is an immutable read position. `after` returns the position for the next page. */
export class TailPosition {
  /**
   * @param floorMs excludes requests that ended before this time.
   * @param nodes excludes rows of these processes up to the given sequence number.
   * @param lastRow excludes all rows up to this row in the sort order.
   */
  constructor(
    readonly floorMs: number,
    private readonly nodes: readonly SeenRow[] = [],
    private readonly lastRow: RowPosition | null = null,
  ) {}

  /**
   * Parses the decoded JSON of `toString`.
   * @throws Problem `invalid_cursor` for other values.
   */
  static parse(parts: unknown): TailPosition {
    const [floorMs, nodes, lastRow = null] = Array.isArray(parts) ? (parts as unknown[]) : [];
    const areNodes = Array.isArray(nodes) && nodes.length <= MAX_NODES && nodes.every(isSeenRow);
    if (!isCount(floorMs) || !areNodes || !(lastRow === null || isRowPosition(lastRow))) throw invalidCursor();
    return new TailPosition(floorMs, nodes, lastRow);
  }

  /** Returns the position as JSON for a cursor. */
  toString(): string {
    return JSON.stringify([this.floorMs, this.nodes, this.lastRow]);
  }

  /** Returns the SQL conditions that exclude rows already read. Each begins with `and`. `floorMs` is not included. */
  unreadConditions(): RawBuilder<unknown> {
    const rest = this.lastRow === null ? [] : [sql`and (day, at, node, seq) > (${sql.join(this.lastRow)})`];
    const seen = this.nodes.map(([node, seq]) => sql`and not (node = ${node} and seq <= ${seq})`);
    return seen.length + rest.length === 0 ? sql`` : sql.join([...rest, ...seen], sql` `);
  }

  /**
   * Returns the position after a page. A process whose clock is ahead does not move `floorMs` beyond now.
   * @param passed rows that the page has read.
   * @param last the last row of the page if more rows match; otherwise undefined.
   */
  after(passed: readonly PassedRows[], last: RowPosition | undefined, nowMs: number): TailPosition {
    // No more rows that are this old arrive. The sort order alone is sufficient, even if a clock was set back.
    if (last !== undefined && last[1] < nowMs - LATE_MS) {
      // Rows after `last` may already have been returned for processes that were read beyond `last`. Keep the positions
      // of these processes.
      const ahead = this.nodes.filter(([, , at]) => at >= last[1]);
      return new TailPosition(last[1], ahead, last);
    }
    const nodes = new Map(this.nodes.map((seen) => [seen[0], seen]));
    for (const { node, seq, at } of passed) nodes.set(node, [node, seq, Math.max(at, nodes.get(node)?.[2] ?? 0)]);
    const latest = Math.min(nowMs, Math.max(0, ...[...nodes.values()].map(([, , at]) => at)));
    const floorMs = Math.max(this.floorMs, latest - LATE_MS);
    // Processes without rows since `floorMs` need no entry, because `floorMs` excludes their rows.
    const kept = [...nodes.values()].filter(([, , at]) => at >= floorMs).toSorted((a, b) => b[2] - a[2]);
    return new TailPosition(floorMs, kept.slice(0, MAX_NODES), this.lastRow);
  }
}

/** The last day whose number has eight digits. */
export const LAST_DAY = 99_991_231;

/** Reports whether a value is a row position. PostgreSQL would reject other values. */
export function isRowPosition(value: unknown): value is RowPosition {
  if (!Array.isArray(value) || value.length !== 4) return false;
  const [day, at, node, seq] = value as readonly unknown[];
  return [day, at, seq].every(isCount) && (day as number) <= LAST_DAY && typeof node === 'string';
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isSeenRow(value: unknown): value is SeenRow {
  return Array.isArray(value) && value.length === 3 && typeof value[0] === 'string' && value.slice(1).every(isCount);
}
