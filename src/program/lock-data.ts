/**
 * Locks the data folder, and waits for the counting process of a killed program. Without the lock, two programs could
 * admit the same quota.
 */
import type { Config } from '../config/model/schema.js';
import { lockCounters, lockDataDir } from '../stores/database/data-lock.js';
import type { Log } from '../platform/log.js';
import { StartError } from '../platform/start-error.js';
import { ShutdownBegun, type Shutdown } from '../platform/shutdown.js';

const RETRY_INTERVAL_MS = 100;
/** Time for workers to write their state and exit after the drain. */
const END_MARGIN_MS = 10_000;

/**
 * Locks the data folder if the database is SQLite and there is no Redis. Two programs with the same folder would each
 * admit the whole quota.
 * @returns the folder, or undefined if no lock is needed. Rejects with `StartError` if another program has the lock or
 * the leftover counting process does not end. Rejects with `ShutdownBegun` if the shutdown begins.
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
  await untilCountersFree(dataDir, delay + drain + END_MARGIN_MS, log, shutdown);
  return dataDir;
}

/**
 * Waits for the counting process of a killed program. The workers of that program still serve and count requests. They
 * write the counts to the database when they end. Counters loaded before that write would admit the same quota again.
 * Rejects with `StartError` after `timeoutMs`.
 */
async function untilCountersFree(dataDir: string, timeoutMs: number, log: Log, shutdown: Shutdown): Promise<void> {
  const startedMs = performance.now();
  for (let attempts = 0; ; attempts++) {
    const release = lockCounters(dataDir);
    if (release !== undefined) return release();
    if (shutdown.hasBegun) throw new ShutdownBegun();
    if (performance.now() - startedMs > timeoutMs) {
      throw new StartError(
        `The counting process of a killed program is still running, for ${dataDir}: ` +
          'start again when it and the workers have ended, or end them.',
      );
    }
    if (attempts === 0) {
      const text =
        'The counting process of a killed program is still running, and its workers may still write its counts: the ' +
        'start waits until it has ended';
      log.logger.warn({ event: 'counters_in_use', longest_ms: timeoutMs }, text);
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_INTERVAL_MS));
  }
}
