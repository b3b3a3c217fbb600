/**
 * Read position of a client that follows the log. Each process writes its rows in order, but processes write at
 * different times. A row of one process can appear after a later row of another. So the position is stored per process.
 */
import { sql, type RawBuilder } from 'kysely';
import { invalidCursor } from '../stores/database/cursor.js';

/**
 * Rows that arrive later than this behind those of other processes are not found by followers, only by listing
 * backward.
 */
const LATE_MS = 60_000;
/** Maximum number of processes that write at the same time. */
const MOST_NODES = 200;

/** How far the rows of a process have been read. */
export interface PassedRows {
  readonly node: string;
  readonly seq: number;
  readonly at: number;
  readonly rows: number;
}

/** Last row that was read of a process: its sequence number, and the end of its request. */
type SeenRow = readonly [node: string, seq: number, at: number];

/** Position of a row in the sort order of the log. */
export type RowPosition = readonly [day: number, at: number, node: string, seq: number];

/** TailPosition is a read position that moves with the log. */
export class TailPosition {
  /**
   * @param floorMs ignores requests that ended earlier.
   * @param behind ignores rows up to this one.
   */
  constructor(
    readonly floorMs: number,
    private readonly nodes: readonly SeenRow[] = [],
    private readonly behind: RowPosition | null = null,
  ) {}

  /**
   * Parses a position.
   * @throws Problem `invalid_cursor` for one that no page has returned.
   */
  static parse(parts: unknown): TailPosition {
    const [floorMs, nodes, behind = null] = Array.isArray(parts) ? (parts as unknown[]) : [];
    const areNodes = Array.isArray(nodes) && nodes.length <= MOST_NODES && nodes.every(isSeenRow);
    if (!isCount(floorMs) || !areNodes || !(behind === null || isRowPosition(behind))) throw invalidCursor();
    return new TailPosition(floorMs, nodes, behind);
  }

  toString(): string {
    return JSON.stringify([this.floorMs, this.nodes, this.behind]);
  }

  /** Returns conditions that exclude rows already read. Each begins with `and`. */
  beyond(): RawBuilder<unknown> {
    const rest = this.behind === null ? [] : [sql`and (day, at, node, seq) > (${sql.join(this.behind)})`];
    const seen = this.nodes.map(([node, seq]) => sql`and not (node = ${node} and seq <= ${seq})`);
    return seen.length + rest.length === 0 ? sql`` : sql.join([...rest, ...seen], sql` `);
  }

  /**
   * Returns the position after these rows. A clock that is ahead does not move it beyond now.
   * @param last the last row of the page, if there are more.
   */
  after(passed: readonly PassedRows[], last: RowPosition | undefined, nowMs: number): TailPosition {
    // No row can arrive that late, so the time alone is sufficient, even if a clock was set back.
    if (last !== undefined && last[1] < nowMs - LATE_MS) {
      // Processes that were read beyond this time still have rows ahead of it that were already returned.
      const ahead = this.nodes.filter(([, , at]) => at >= last[1]);
      return new TailPosition(last[1], ahead, last);
    }
    const nodes = new Map(this.nodes.map((seen) => [seen[0], seen]));
    for (const { node, seq, at } of passed) nodes.set(node, [node, seq, Math.max(at, nodes.get(node)?.[2] ?? 0)]);
    const latest = Math.min(nowMs, Math.max(0, ...[...nodes.values()].map(([, , at]) => at)));
    const floorMs = Math.max(this.floorMs, latest - LATE_MS);
    // A process without newer rows needs no entry, because `floorMs` excludes its rows.
    const kept = [...nodes.values()].filter(([, , at]) => at >= floorMs).toSorted((a, b) => b[2] - a[2]);
    return new TailPosition(floorMs, kept.slice(0, MOST_NODES), this.behind);
  }
}

/** The last day with an eight-digit number. */
export const LAST_DAY = 99_991_231;

/** Whether a value is a row position. PostgreSQL would reject other values. */
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
