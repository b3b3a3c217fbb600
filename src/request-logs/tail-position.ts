/**
 * Where somebody is who follows the log. Each process writes its rows in the order in which its requests ended, but not
 * all of them at the same moment: a row of one can stand there later than a younger one of another. So how far one has
 * come is known of each process by itself.
 */
import { sql, type RawBuilder } from 'kysely';
import { invalidCursor } from '../stores/database/cursor.js';

/** A row that comes later than this behind those of other processes is left to whoever lists them backwards. */
const LATE_MS = 60_000;
/** Processes that write at the same time. */
const MOST_NODES = 200;

/** What has been looked at of one process. */
export interface PassedRows {
  readonly node: string;
  readonly seq: number;
  readonly at: number;
  readonly rows: number;
}

/** The last row that was seen of a process: its number, and when its request ended. */
type Seen = readonly [node: string, seq: number, at: number];

/** A row, by what the log is sorted by. */
export type RowPlace = readonly [day: number, at: number, node: string, seq: number];

/** TailPosition is a place in the log that moves with it. */
export class TailPosition {
  /**
   * @param floorMs nothing that ended earlier is looked for.
   * @param behind nor anything up to this row.
   */
  constructor(
    readonly floorMs: number,
    private readonly nodes: readonly Seen[] = [],
    private readonly behind: RowPlace | null = null,
  ) {}

  /** Reads one again. Throws `invalid_cursor` for what no page has given out. */
  static of(parts: unknown): TailPosition {
    const [floorMs, nodes, behind = null] = Array.isArray(parts) ? (parts as unknown[]) : [];
    const areNodes = Array.isArray(nodes) && nodes.length <= MOST_NODES && nodes.every(isSeen);
    if (!isCount(floorMs) || !areNodes || !(behind === null || isPlace(behind))) throw invalidCursor();
    return new TailPosition(floorMs, nodes, behind);
  }

  toString(): string {
    return JSON.stringify([this.floorMs, this.nodes, this.behind]);
  }

  /** Leaves out what has been seen; goes on with `and`. */
  beyond(): RawBuilder<unknown> {
    const rest = this.behind === null ? [] : [sql`and (day, at, node, seq) > (${sql.join(this.behind)})`];
    const seen = this.nodes.map(([node, seq]) => sql`and not (node = ${node} and seq <= ${seq})`);
    return seen.length + rest.length === 0 ? sql`` : sql.join([...rest, ...seen], sql` `);
  }

  /**
   * The position behind these rows. A clock that runs ahead moves it no further than to now.
   * @param last the last of them, where there are more.
   */
  after(passed: readonly PassedRows[], last: RowPlace | undefined, nowMs: number): TailPosition {
    // So long ago that nothing comes in between: there the time says it all, also where a clock was set back.
    if (last !== undefined && last[1] < nowMs - LATE_MS) {
      // Of those who were ahead of it, what has been handed out still lies before us.
      const ahead = this.nodes.filter(([, , at]) => at >= last[1]);
      return new TailPosition(last[1], ahead, last);
    }
    const nodes = new Map(this.nodes.map((seen) => [seen[0], seen]));
    for (const { node, seq, at } of passed) nodes.set(node, [node, seq, Math.max(at, nodes.get(node)?.[2] ?? 0)]);
    const latest = Math.min(nowMs, Math.max(0, ...[...nodes.values()].map(([, , at]) => at)));
    const floorMs = Math.max(this.floorMs, latest - LATE_MS);
    // Of a process that has written nothing since, nothing would be found a second time.
    const kept = [...nodes.values()].filter(([, , at]) => at >= floorMs).toSorted((a, b) => b[2] - a[2]);
    return new TailPosition(floorMs, kept.slice(0, MOST_NODES), this.behind);
  }
}

/** The last day that there is a number for. */
export const LAST_DAY = 99_991_231;

/** Whether it is a row's place: PostgreSQL refuses a statement with any other value. */
export function isPlace(value: unknown): value is RowPlace {
  if (!Array.isArray(value) || value.length !== 4) return false;
  const [day, at, node, seq] = value as readonly unknown[];
  return [day, at, seq].every(isCount) && (day as number) <= LAST_DAY && typeof node === 'string';
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isSeen(value: unknown): value is Seen {
  return Array.isArray(value) && value.length === 3 && typeof value[0] === 'string' && value.slice(1).every(isCount);
}
