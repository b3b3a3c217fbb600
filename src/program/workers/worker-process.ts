/**
 * Connects a worker process to the pool. Reports when the worker accepts connections, and responds to the pool's
 * requests.
 */
import cluster from 'node:cluster';
import process from 'node:process';
import type { Family } from '../../platform/metrics/family.js';
import type { FromWorker, ToWorker, WorkerState } from './messages.js';

/** ReadingSources return the values that the pool can request. */
export interface ReadingSources {
  readonly metrics: () => Promise<readonly Family[]>;
  readonly state: () => WorkerState;
}

/**
 * Reports that the worker is ready, and responds to the pool's requests from then on.
 * @param onOrphaned called when the pool has ended. Must end this process.
 */
export function reportToPool(gatewayUrl: string, sources: ReadingSources, onOrphaned: () => void): void {
  process.on('message', (message: ToWorker) => {
    if (message.type === 'ask') void read(message, sources);
  });
  // Without this flag, Node exits as soon as the channel closes, and aborts open requests.
  if (cluster.worker !== undefined) cluster.worker.exitedAfterDisconnect = true;
  process.on('disconnect', onOrphaned);
  tell({ type: 'ready', gatewayUrl, state: sources.state() });
}

/**
 * Sends a message about due webhook deliveries to the pool. Does nothing in a process that is not a worker. If the
 * message is lost, the webhook workers find the deliveries later.
 */
export function tellPoolOfWork(message: string): void {
  if (cluster.isWorker) tell({ type: 'work', message });
}

async function read({ id, what }: ToWorker, sources: ReadingSources): Promise<void> {
  tell({ type: 'answer', id, value: await sources[what]() });
}

function tell(message: FromWorker): void {
  // Errors are ignored, because the `disconnect` event follows.
  process.send?.(message, undefined, undefined, () => undefined);
}
