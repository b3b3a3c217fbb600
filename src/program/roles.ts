/** Lists the roles of a process, and describes how the gateway role is distributed over processes. */

/**
 * ROLES are the roles of a process. `gateway` serves API requests. `admin` serves the admin API and the panel. `worker`
 * delivers webhooks and mail, and runs housekeeping tasks.
 */
export const ROLES = ['gateway', 'admin', 'worker'] as const;
export type Role = (typeof ROLES)[number];

export interface Processes {
  /** Number of worker processes that share the listener. With 1, this process serves requests itself. */
  readonly workers: number;
  /** Command line arguments of a worker process. */
  readonly workerArgs: readonly string[];
  /** Whether this process is a worker process. Workers leave health and metrics to the first process. */
  readonly isWorker: boolean;
  /** Path of the counting process's socket, for worker processes. Undefined if the counters are in Redis. */
  readonly countersPath?: string | undefined;
  /**
   * Value of `clockAheadMs` in the first process, for workers with a counting process. See
   * `idempotency/database-records.ts`.
   */
  readonly clockAheadMs?: number | undefined;
}

export const ONE_PROCESS: Processes = { workers: 1, workerArgs: [], isWorker: false };
