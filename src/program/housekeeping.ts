/**
 * Runs the housekeeping tasks of the worker role, such as deleting expired rows. Any number of workers may run a task
 * at once. `trailgate_housekeeping_runs_total` counts the runs.
 */
import { addExpiringKeys } from '../accounts/change-events.js';
import { OAuthObjects } from '../authorization/clients/oauth-objects.js';
import { RecordSweep } from '../idempotency/record-sweep.js';
import { deleteExpiredSignIns } from '../members/housekeeping.js';
import type { Logger } from '../platform/log.js';
import { METRICS, type HousekeepingTask } from '../platform/metrics.js';
import { RepeatedRun, type IsStopped } from '../platform/repeated-run.js';
import { UsageRetention } from '../quota/usage/usage-retention.js';
import { RequestLogRetention } from '../request-logs/request-log-retention.js';
import { DeliveryRetention } from '../webhooks/deliveries/rows/retention.js';
import type { Modules } from './modules.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Task is a periodic job of the worker role, such as the deletion of expired rows. */
export interface Task {
  readonly name: HousekeepingTask;
  /** Pause in milliseconds between the end of a run and the next run. The first run is at the start of the program. */
  readonly everyMs: number;
  /**
   * Runs the task once. Repeated and concurrent runs must be harmless. A long run must end when `isStopped` returns
   * true.
   */
  readonly run: (isStopped: IsStopped) => Promise<unknown>;
}

/** Returns the housekeeping tasks of a worker. */
export function tasksOf(modules: Modules): readonly Task[] {
  const { config, database, keyStore, events, workSignal, webhooks, accountDeletion, recordTime, clock } = modules;
  const { db, kind } = database;
  const { usage: settings } = config.current.file;
  const usage = new UsageRetention(db, kind, settings.retention, clock);
  const deliveries = new DeliveryRetention(db, clock, workSignal);
  const objects = new OAuthObjects(db, clock);
  const records = new RecordSweep(db, recordTime);
  const logDays = (): number => config.current.file.usage.requestLogRetention;
  const requestLogs = new RequestLogRetention(db, kind, logDays, clock);
  return [
    { name: 'key_secrets', everyMs: DAY_MS, run: () => keyStore.deleteDeadSecrets() },
    { name: 'expiring_keys', everyMs: DAY_MS, run: () => addExpiringKeys(db, workSignal, clock.now()) },
    { name: 'deliveries', everyMs: DAY_MS, run: (isStopped) => deliveries.sweep(isStopped) },
    // Only events without deliveries are deleted. Tasks do not wait for each other, so an event can remain until the
    // next run.
    { name: 'events', everyMs: DAY_MS, run: (isStopped) => events.deleteOld(isStopped) },
    { name: 'webhook_secrets', everyMs: DAY_MS, run: () => webhooks.secrets.deleteExpired(clock.now()) },
    { name: 'usage', everyMs: DAY_MS, run: (isStopped) => usage.deleteOld(isStopped) },
    { name: 'sign_ins', everyMs: DAY_MS, run: (isStopped) => deleteExpiredSignIns(database, clock, isStopped) },
    // This task also creates the partitions of the next days.
    { name: 'request_logs', everyMs: HOUR_MS, run: (isStopped) => requestLogs.run(isStopped) },
    // Anyone can start an authorization request, so expired requests must not accumulate for a day.
    { name: 'oauth_objects', everyMs: 10 * MINUTE_MS, run: (isStopped) => objects.forgetExpired(isStopped) },
    { name: 'idempotency', everyMs: MINUTE_MS, run: (isStopped) => records.run(isStopped) },
    { name: 'account_deletions', everyMs: MINUTE_MS, run: (isStopped) => accountDeletion.continueAll(isStopped) },
  ];
}

/**
 * Starts all tasks. A failed run is logged and counted, and repeated after the task's interval.
 * @returns a function that stops the tasks. Its promise resolves when the current runs have ended.
 */
export function startHousekeeping(tasks: readonly Task[], log: Pick<Logger, 'warn'>): () => Promise<void> {
  const runs = tasks.map(({ name, everyMs, run }) => {
    const repeated: RepeatedRun = new RepeatedRun(
      async () => {
        await run(() => repeated.isStopped);
        METRICS.housekeepingRuns.series(name, 'done').inc();
      },
      everyMs,
      (error) => {
        if (repeated.isStopped) return; // The database may be closed by now.
        METRICS.housekeepingRuns.series(name, 'failed').inc();
        const seconds = everyMs / 1_000;
        log.warn({ event: 'housekeeping_failed', task: name, retry_in_s: seconds, err: error }, 'Housekeeping failed');
      },
    );
    repeated.start();
    return repeated;
  });
  return async () => {
    await Promise.all(runs.map((repeated) => repeated.stop()));
  };
}
