/** Locks the data folder, and waits for leftover workers of a killed program. */
import type { Config } from '../config/model/schema.js';
import { lockCounters, lockDataDir } from '../stores/database/data-lock.js';
import type { Log } from '../platform/log.js';
import { StartError } from '../platform/start-error.js';
import { ShutdownBegun, type Shutdown } from '../platform/shutdown.js';

const ASK_INTERVAL_MS = 100;
/** Time for workers to write their state and exit after the drain. */
const END_MARGIN_MS = 10_000;

/**
 * Locks the data folder if the database is SQLite and there is no Redis. A second program on it would admit each quota
 * again.
 * @returns the folder, or undefined if no lock is needed. Rejects if another program has the lock.
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
 * Waits for the workers of a killed program. They still serve and count requests, and write the counts when they end.
 * Counters loaded from the database before that would admit these requests again.
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
