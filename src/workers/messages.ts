/** What the processes of one gateway tell each other over Node's channel between parent and child. */

/** A worker accepts connections. */
export interface Ready {
  readonly type: 'ready';
  readonly gatewayUrl: string;
}

/** The pool asks a worker for its metrics. */
export interface AskMetrics {
  readonly type: 'ask_metrics';
  readonly id: number;
}

export interface Metrics {
  readonly type: 'metrics';
  readonly id: number;
  /** Prometheus's text format. */
  readonly text: string;
}

export type FromWorker = Ready | Metrics;
export type ToWorker = AskMetrics;
