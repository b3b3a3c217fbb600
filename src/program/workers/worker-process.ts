/** The worker's end of the channel to the pool: says when it accepts connections, and answers what the pool asks. */
import cluster from 'node:cluster';
import process from 'node:process';
import type { FromWorker, ToWorker, WorkerState } from './messages.js';

/** Where the readings come from. */
export interface ReadingSources {
  readonly metrics: () => Promise<string>;
  readonly state: () => WorkerState;
}

/**
 * Reports to the pool from now on.
 * @param onOrphaned called when the pool is gone; nothing else ends the process then.
 */
export function reportToPool(gatewayUrl: string, sources: ReadingSources, onOrphaned: () => void): void {
  process.on('message', (message: ToWorker) => {
    if (message.type === 'ask') void read(message, sources);
  });
  // Else Node ends the process as soon as the channel closes, and with it what is under way here.
  if (cluster.worker !== undefined) cluster.worker.exitedAfterDisconnect = true;
  process.on('disconnect', onOrphaned);
  tell({ type: 'ready', gatewayUrl, state: sources.state() });
}

/**
 * Tells the process that has started this one what there is to deliver; in a process that is no worker nobody is told.
 * What is lost with the channel is found by those who deliver.
 */
export function tellPoolOfWork(message: string): void {
  if (cluster.isWorker) tell({ type: 'work', message });
}

async function read({ id, what }: ToWorker, sources: ReadingSources): Promise<void> {
  tell({ type: 'answer', id, value: await sources[what]() });
}

function tell(message: FromWorker): void {
  // A pool that is gone is noticed by `disconnect`.
  process.send?.(message, undefined, undefined, () => undefined);
}
