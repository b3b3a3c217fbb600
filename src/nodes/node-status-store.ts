/**
 * Defines the stores through which nodes exchange status reports. The table and the Redis keys call a report a
 * statement.
 */

/** StoredNodeStatus is a status report as a store returns it. */
export interface StoredNodeStatus {
  /** ID of the node that wrote the report. */
  readonly id: string;
  /** The report as JSON. */
  readonly text: string;
  readonly ageMs: number;
}

/**
 * NodeStatusStore stores the latest status report of each node. A call rejects if the store fails or does not respond
 * before the call's deadline.
 */
export interface NodeStatusStore {
  /** Replaces the report of node `id`. Also deletes all reports that are older than `NODE_STATUS_LIFETIME_MS`. */
  saveStatus(id: string, text: string): Promise<void>;
  /** Returns at most `MAX_NODES` reports, all of them written during the last `NODE_STATUS_LIFETIME_MS`. */
  listStatuses(): Promise<StoredNodeStatus[]>;
  /** Removes the report of a node that is stopping. */
  removeStatus(id: string): Promise<void>;
  close(): void;
}

/** Maximum age of a report. Stores do not return older reports, and delete them at the next write. */
export const NODE_STATUS_LIFETIME_MS = 60_000;
/** Maximum number of reports that a store returns. Beyond this number, the oldest reports are omitted. */
export const MAX_NODES = 500;
