/** One program has a data folder, and counts for it: also while what is left of one that was killed still does. */
import type { Config } from '../config/model/schema.js';
import { lockCounters, lockDataDir } from '../stores/database/data-lock.js';
import type { Log } from '../platform/log.js';
import { StartError } from '../platform/start-error.js';
import { ShutdownBegun, type Shutdown } from '../platform/shutdown.js';

const ASK_INTERVAL_MS = 100;
/** What workers need behind their drain, to write what they know and to end. */
const END_MARGIN_MS = 10_000;

/**
 * Takes the data folder where counters live in this program or beside it: a second one on the same data would hand out
 * every limit twice.
 * @returns the folder; undefined where it is shared. Rejects where another program has it.
 */
export async function lockData(
  { environment: { dataDir, databaseUrl, redisUrl }, file }: Config,
  log: Log,
  shutdown: Shutdown,
): Promise<string | undefined> {
  if (redisUrl !== undefined || databaseUrl !== undefined) return undefined;
  const release = lockDataDir(dataDir);
  shutdown.add('release data folder', async () => release());
  const { delay = 0, drain } = file.gateway.shutdown;
  await countersFree(dataDir, delay + drain + END_MARGIN_MS, log, shutdown);
  return dataDir;
}

/**
 * Workers whose first process was killed answer what is under way, count it in the process that they had, and write it
 * down when they end: what is counted from the database before would be given out once more.
 */
async function countersFree(dataDir: string, longestMs: number, log: Log, shutdown: Shutdown): Promise<void> {
  const startedMs = performance.now();
  for (let asked = 0; ; asked++) {
    const release = lockCounters(dataDir);
    if (release !== undefined) return release();
    if (shutdown.hasBegun) throw new ShutdownBegun();
    if (performance.now() - startedMs > longestMs) {
      throw new StartError(
        `The process that counts for a program that was killed is still there, for ${dataDir}: ` +
          'start again when it and the workers have ended, or end them.',
      );
    }
    if (asked === 0) {
      const text =
        'The process that counts for a program that was killed is still there, and workers may be that write down ' +
        'what it has: the start waits until it has ended';
      log.logger.warn({ event: 'counters_in_use', longest_ms: longestMs }, text);
    }
    await new Promise((resolve) => setTimeout(resolve, ASK_INTERVAL_MS));
  }
}
