/** What a process of the program is for, and how the gateway role is spread over processes. */

export const ROLES = ['gateway', 'admin', 'worker'] as const;
export type Role = (typeof ROLES)[number];

export interface Processes {
  /** More than one: that many workers share the listener, and this process holds it. */
  readonly workers: number;
  /** Command line of a worker. */
  readonly workerArgs: readonly string[];
  /** This process is one of them: health and metrics are the pool's. */
  readonly isWorker: boolean;
  /** Of a worker: the socket of the process that counts for all of them. Undefined: they count in Redis. */
  readonly countersPath?: string | undefined;
  /** Of a worker that counts there: `clockAheadMs` of the first process. */
  readonly clockAheadMs?: number | undefined;
}

export const ONE_PROCESS: Processes = { workers: 1, workerArgs: [], isWorker: false };
