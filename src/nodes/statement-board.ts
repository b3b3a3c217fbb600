/** Where nodes put what they say, and find what others have said. */

/** WrittenStatement is a text as it was put, and how long ago that was. */
export interface WrittenStatement {
  readonly id: string;
  readonly text: string;
  readonly ageMs: number;
}

/** StatementBoard keeps one text of each node; every call has a deadline, and rejects where it cannot be done. */
export interface StatementBoard {
  /** Takes the place of what this node said before, and forgets what is older than `STATEMENT_LIFE_MS`. */
  put(id: string, text: string): Promise<void>;
  /** What was put within `STATEMENT_LIFE_MS`, of at most `MOST_NODES`. */
  all(): Promise<WrittenStatement[]>;
  /** The node has ended. */
  remove(id: string): Promise<void>;
  close(): void;
}

/** A node that has said nothing for so long is not spoken of any more. */
export const STATEMENT_LIFE_MS = 60_000;
/** Of more than these the oldest statements go. */
export const MOST_NODES = 500;
