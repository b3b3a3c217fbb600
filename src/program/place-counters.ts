/** Chooses the place of the live counters: Redis, a counting process, or this process. */
import type { Environment } from '../config/model/schema.js';
import type { Log } from '../platform/log.js';
import { StartError } from '../platform/start-error.js';
import type { CounterLocation } from '../quota/open.js';
import { CountingChild } from './workers/counting-child.js';
import type { Processes, Role } from './roles.js';
import type { Shutdown } from '../platform/shutdown.js';

/**
 * Returns the place of the counters. Starts the counting process if workers share counters without Redis. Rejects with
 * `StartError` if that process does not start.
 * @param lockedFolder the locked data folder; undefined if the database is not SQLite
 */
export async function locateCounters(
  { redisUrl }: Environment,
  { workers, isWorker, countersPath }: Processes,
  roles: readonly Role[],
  lockedFolder: string | undefined,
  log: Log,
  shutdown: Shutdown,
): Promise<CounterLocation> {
  if (redisUrl !== undefined) return { url: redisUrl, isCountingProcess: false };
  if (isWorker) return { url: countersPath, isCountingProcess: true };
  if (workers === 1 || !roles.includes('gateway')) return { url: undefined, isCountingProcess: true };
  const child = new CountingChild(workers, lockedFolder, log.logger);
  // This phase runs after the workers have written their last counts.
  shutdown.add('stop counting', () => child.stop());
  try {
    return { url: await child.start(), isCountingProcess: true };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StartError(
      `--workers ${workers} without REDIS_URL needs a process that counts for all of them, and it cannot be started ` +
        `(${reason}).`,
    );
  }
}
