/** Interface of the store through which nodes exchange statements. */

/** WrittenStatement is a statement as stored, with its age. */
export interface WrittenStatement {
  readonly id: string;
  readonly text: string;
  readonly ageMs: number;
}

/** StatementBoard stores one statement per node. Every call has a deadline and rejects on failure. */
export interface StatementBoard {
  /** Replaces the node's statement, and deletes those older than `STATEMENT_LIFE_MS`. */
  put(id: string, text: string): Promise<void>;
  /** Returns the statements of the last `STATEMENT_LIFE_MS`, at most `MOST_NODES`. */
  all(): Promise<WrittenStatement[]>;
  /** Removes the statement of a node that is stopping. */
  remove(id: string): Promise<void>;
  close(): void;
}

/** Older statements are deleted and not shown. */
export const STATEMENT_LIFE_MS = 60_000;
/** Maximum number of statements. The oldest are deleted. */
export const MOST_NODES = 500;
