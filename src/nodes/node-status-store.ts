/** The interface of the stores through which nodes exchange status reports (statements). */

/** StoredNodeStatus is a stored status report. */
export interface StoredNodeStatus {
  /** ID of the node that wrote the report. */
  readonly id: string;
  /** The report as JSON. */
  readonly text: string;
  readonly ageMs: number;
}

/**
 * NodeStatusStore stores one status report per node. Each call to the store has a deadline, and rejects when it fails.
 */
export interface NodeStatusStore {
  /** Replaces the report of node `id`. Also deletes reports of all nodes that are older than `STATEMENT_LIFE_MS`. */
  put(id: string, text: string): Promise<void>;
  /** Returns the reports written during the last `STATEMENT_LIFE_MS`, at most `MAX_NODES` of them. */
  all(): Promise<StoredNodeStatus[]>;
  /** Removes the report of a node that is stopping. */
  remove(id: string): Promise<void>;
  close(): void;
}

/** Maximum age of a report. Older reports are not shown, and are deleted. */
export const STATEMENT_LIFE_MS = 60_000;
/** Maximum number of reports. The oldest reports beyond it are dropped. */
export const MAX_NODES = 500;
