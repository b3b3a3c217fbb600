/** The worker's end of the channel to the pool: says when it accepts connections, and hands out its metrics. */
import process from 'node:process';
import type { Metrics, Ready, ToWorker } from './messages.js';

/**
 * Reports to the pool from now on.
 * @param onOrphaned called when the pool is gone, and with it the listener.
 */
export function reportToPool(gatewayUrl: string, metricsText: () => Promise<string>, onOrphaned: () => void): void {
  process.on('message', (message: ToWorker) => {
    if (message.type !== 'ask_metrics') return;
    void metricsText().then((text) => tell({ type: 'metrics', id: message.id, text }));
  });
  process.on('disconnect', onOrphaned);
  tell({ type: 'ready', gatewayUrl });
}

function tell(message: Ready | Metrics): void {
  // A pool that is gone is noticed by `disconnect`.
  process.send?.(message, undefined, undefined, () => undefined);
}
