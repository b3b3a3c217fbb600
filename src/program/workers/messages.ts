/** Defines the messages between the pool and its workers, which they send over Node's IPC channel. */
import type { LogLoss } from '../../platform/log-writer.js';
import type { Family } from '../../platform/metrics/family.js';
import type { TargetStatus } from '../../proxy/targets/target-status.js';

/** Ready reports that a worker accepts connections. */
export interface Ready {
  readonly type: 'ready';
  readonly gatewayUrl: string;
  readonly state: WorkerState;
}

/** WorkerState is the state of the dependencies of a process. */
export interface WorkerState {
  readonly targets: readonly TargetStatus[];
  /** Time at which the counters were lost, in ms since the epoch. Null if the counters are available. */
  readonly quotaStoreLostSinceMs: number | null;
  /** Null if the log can be written. */
  readonly logLoss: LogLoss | null;
}

/** Readings are the values that the pool can request from a worker, by name. */
export interface Readings {
  readonly metrics: readonly Family[];
  readonly state: WorkerState;
}

export interface Ask {
  readonly type: 'ask';
  readonly id: number;
  readonly what: keyof Readings;
}

export interface Reading {
  readonly type: 'answer';
  readonly id: number;
  readonly value: Readings[keyof Readings];
}

/** Work forwards a message of the worker's `WorkSignal` to the `WorkSignal` of the first process. */
export interface Work {
  readonly type: 'work';
  readonly message: string;
}

export type FromWorker = Ready | Reading | Work;
export type ToWorker = Ask;
