/** Roles of a process, and the distribution of the gateway role over processes. */

export const ROLES = ['gateway', 'admin', 'worker'] as const;
export type Role = (typeof ROLES)[number];

export interface Processes {
  /** Number of worker processes that share the listener. With 1, this process serves requests itself. */
  readonly workers: number;
  /** Command line of a worker. */
  readonly workerArgs: readonly string[];
  /** Whether this process is a worker. Then the pool serves health and metrics. */
  readonly isWorker: boolean;
  /** Socket of the counting process, for workers. Undefined if counters are in Redis. */
  readonly countersPath?: string | undefined;
  /** `clockAheadMs` of the first process, for workers with a counting process. */
  readonly clockAheadMs?: number | undefined;
}

export const ONE_PROCESS: Processes = { workers: 1, workerArgs: [], isWorker: false };
