/** Where the processes of one gateway count: in Redis, in a process beside them, or each alone. */
import type { Environment } from '../config/model/schema.js';
import type { Log } from '../platform/log.js';
import { StartError } from '../platform/start-error.js';
import type { CounterPlace } from '../quota/open.js';
import { CountingChild } from './workers/counting-child.js';
import type { Processes, Role } from './roles.js';
import type { Shutdown } from '../platform/shutdown.js';

/**
 * Finds it, and starts the counting process where there has to be one.
 * @param lockedFolder the data folder where nobody else may count for it.
 */
export async function placeCounters(
  { redisUrl }: Environment,
  { workers, isWorker, countersPath }: Processes,
  roles: readonly Role[],
  lockedFolder: string | undefined,
  log: Log,
  shutdown: Shutdown,
): Promise<CounterPlace> {
  if (redisUrl !== undefined) return { url: redisUrl, isOwn: false };
  if (isWorker) return { url: countersPath, isOwn: true };
  if (workers === 1 || !roles.includes('gateway')) return { url: undefined, isOwn: true };
  const child = new CountingChild(workers, lockedFolder, log.logger);
  // Behind the last count that is written.
  shutdown.add('stop counting', () => child.stop());
  try {
    return { url: await child.start(), isOwn: true };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StartError(
      `--workers ${workers} without REDIS_URL needs a process that counts for all of them, and it cannot be started ` +
        `(${reason}).`,
    );
  }
}
