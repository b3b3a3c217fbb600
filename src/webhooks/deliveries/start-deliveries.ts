/** Creates the parts of the delivery worker, and starts it. */
import type { Kysely } from 'kysely';
import type { Tables } from '../../stores/database/schema.js';
import { notifyWork, WORK_CHANNEL, type WorkSignal } from '../../outbox/work-signal.js';
import type { Clock } from '../../platform/clock.js';
import type { Logger } from '../../platform/log.js';
import type { ReadsGauges } from '../../platform/collect-metrics.js';
import type { WebhookSender } from '../sending/attempt.js';
import { AttemptSlots } from './attempt-slots.js';
import { Delivery } from './delivery.js';
import { DeliveryAttempts } from './delivery-attempt.js';
import { watchBacklog, WorkerGauges } from './delivery-gauges.js';
import { DeliveryWorker } from './delivery-worker.js';
import { EndpointHealthChecks } from './endpoint-health-checks.js';
import { EndpointKeys, type OpenKeys } from './endpoint-keys.js';
import { isDeadOwner, ownerName, processNamespace } from './lane-owner.js';
import { HeldLanes, LaneLeases } from './lease.js';
import { DeliveryRecorder } from './delivery-recorder.js';
import { DueReader } from './rows/due-deliveries.js';
import { LaneScan } from './rows/lane-scan.js';
import { Lanes } from './rows/lanes.js';
import { WorkListener } from './work-listener.js';
import { WORKER_TIMES, type WorkerTimes } from './worker-times.js';

/** Dependencies and settings of the delivery worker. */
export interface DeliveriesParts {
  readonly db: Kysely<Tables>;
  readonly kind: 'sqlite' | 'postgres';
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: WorkSignal;
  readonly sender: WebhookSender;
  readonly openKeys: OpenKeys;
  /** Returns the default timeout of an attempt, in milliseconds. */
  readonly timeoutMs: () => number;
  /** Reports whether email is configured. */
  readonly hasMail: () => boolean;
  /** URL of PostgreSQL; undefined for SQLite. */
  readonly databaseUrl: string | undefined;
  /** Whether no other process can use the same database. */
  readonly isAlone: boolean;
  readonly times?: WorkerTimes;
}

/** RunningDeliveries controls the running delivery worker. */
export interface RunningDeliveries {
  readonly gauges: ReadsGauges;
  /** Stops starting attempts. Attempts in progress continue. */
  stopStarting(): void;
  /** Waits up to `patienceMs` for attempts in progress. Other processes continue with the remaining deliveries. */
  stop(patienceMs: number): Promise<void>;
}

/** Starts the delivery worker. Rejects if the database fails while `isAlone` is set. */
export async function startDeliveries(parts: DeliveriesParts): Promise<RunningDeliveries> {
  const { db, kind, clock, log, signal, databaseUrl, isAlone, times = WORKER_TIMES } = parts;
  const place = processNamespace();
  const isDead = (owner: string): boolean => isDeadOwner(owner, place);
  const rows = new Lanes(db, kind, clock, ownerName(place));
  // If no other process can own lanes, all existing leases belong to processes that have ended.
  if (isAlone) await rows.endOtherLeases();
  // If this fails, the leases expire anyway.
  else await rows.endDeadLeases(isDead).catch(() => undefined);
  const keys = new EndpointKeys(parts.openKeys, clock);
  const lanes = new HeldLanes(keys);
  const leases = new LaneLeases({ db, rows, lanes, log, times });
  const slots = new AttemptSlots();
  const healthChecks = new EndpointHealthChecks({ ...parts, times });
  const results = new DeliveryRecorder({ ...parts, healthChecks });
  const due = new DueReader(db, clock);
  const attempts = new DeliveryAttempts(parts);
  const delivery = new Delivery({ lanes, leases, slots, due, keys, attempts, results, clock, log, times });
  const scan = new LaneScan(db, clock);
  const worker = new DeliveryWorker({ rows, scan, lanes, leases, slots, delivery, results, clock, log, times, isDead });
  const stopFollowing = signal.addFollower((endpointIds, changed) => worker.notify(endpointIds, changed));
  const listener = databaseUrl === undefined ? undefined : listen(databaseUrl, parts, worker);
  worker.start();
  const backlog = watchBacklog(db, clock);
  return {
    gauges: new WorkerGauges(worker, clock, listener && (() => listener.isListening)),
    stopStarting: () => worker.stopStarting(),
    stop: async (patienceMs) => {
      stopFollowing();
      await Promise.all([listener?.stop(), backlog.stop(), worker.stop(patienceMs)]);
      await healthChecks.stop();
    },
  };
}

/** Starts to listen for notifications from other processes. */
function listen(databaseUrl: string, { db, signal, log }: DeliveriesParts, worker: DeliveryWorker): WorkListener {
  worker.setListening(false);
  const listener = new WorkListener({
    databaseUrl,
    channel: WORK_CHANNEL,
    notify: (message) => notifyWork(db, message),
    onMessage: (message) => signal.receiveMessage(message),
    onUp: () => worker.setListening(true),
    onDown: () => worker.setListening(false),
    log,
  });
  void listener.start();
  return listener;
}
