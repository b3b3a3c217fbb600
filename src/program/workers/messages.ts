/** What the processes of one gateway tell each other over Node's channel between parent and child. */
import type { LogLoss } from '../../platform/log-writer.js';
import type { TargetStatus } from '../../proxy/targets/target-status.js';

/** A worker accepts connections. */
export interface Ready {
  readonly type: 'ready';
  readonly gatewayUrl: string;
  readonly state: WorkerState;
}

/** How a worker sees what it stands on. */
export interface WorkerState {
  readonly targets: readonly TargetStatus[];
  /** Milliseconds since the epoch; null: it reaches the counters. */
  readonly quotaStoreLostSinceMs: number | null;
  /** Null: its log can be written. */
  readonly logLoss: LogLoss | null;
}

/** What a worker can be asked for: its metrics in Prometheus's text format, or its state. */
export interface Readings {
  readonly metrics: string;
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

/** Webhook endpoints have something to do: a message of the worker's `WorkSignal` for that of the pool. */
export interface Work {
  readonly type: 'work';
  readonly message: string;
}

export type FromWorker = Ready | Reading | Work;
export type ToWorker = Ask;
