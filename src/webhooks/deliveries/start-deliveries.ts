/** Puts the worker together and starts it. */
import type { Kysely } from 'kysely';
import type { Tables } from '../../stores/database/schema.js';
import { notifyWork, WORK_CHANNEL, type WorkSignal } from '../../outbox/work-signal.js';
import type { Clock } from '../../platform/clock.js';
import type { Logger } from '../../platform/log.js';
import type { ReadsGauges } from '../../platform/metrics-text.js';
import type { WebhookSender } from '../sending/attempt.js';
import { AttemptSlots } from './attempt-slots.js';
import { Delivery } from './deliver.js';
import { DeliveryAttempts } from './delivery-attempt.js';
import { watchBacklog, WorkerGauges } from './delivery-gauges.js';
import { DeliveryWorker } from './delivery-worker.js';
import { DueReader } from './due.js';
import { EndpointHealthChecks } from './endpoint-health-checks.js';
import { EndpointKeys, type OpenKeys } from './endpoint-keys.js';
import { HeldLanes } from './held-lanes.js';
import { isDeadOwner, ownerName, placeOfProcess } from './lane-owner.js';
import { LaneLeases } from './lease.js';
import { DeliveryRecorder } from './record.js';
import { LaneScan } from './rows/lane-scan.js';
import { Lanes } from './rows/lanes.js';
import { WorkListener } from './work-listener.js';
import { WORKER_TIMES, type WorkerTimes } from './worker-times.js';

/** The parts of the program that webhooks are delivered with. */
export interface DeliveriesParts {
  readonly db: Kysely<Tables>;
  readonly kind: 'sqlite' | 'postgres';
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: WorkSignal;
  readonly sender: WebhookSender;
  readonly openKeys: OpenKeys;
  /** Returns the timeout of an attempt where its endpoint has none. */
  readonly timeoutMs: () => number;
  /** Whether owners of an account get mail. */
  readonly hasMail: () => boolean;
  /** The URL of PostgreSQL. */
  readonly databaseUrl: string | undefined;
  /** Whether no other process can work on the same database. */
  readonly isAlone: boolean;
  readonly times?: WorkerTimes;
}

/** The running worker. */
export interface RunningDeliveries {
  readonly gauges: ReadsGauges;
  /** Begins no more attempts. */
  rest(): void;
  /** Waits for attempts under way, at most this long, and leaves the rest to other processes. */
  stop(patienceMs: number): Promise<void>;
}

/** Starts to deliver. */
export async function startDeliveries(parts: DeliveriesParts): Promise<RunningDeliveries> {
  const { db, kind, clock, log, signal, databaseUrl, isAlone, times = WORKER_TIMES } = parts;
  const place = placeOfProcess();
  const isDead = (owner: string): boolean => isDeadOwner(owner, place);
  const rows = new Lanes(db, kind, clock, ownerName(place));
  // The lanes of a process that was killed are free at once where no other process can have them.
  if (isAlone) await rows.endOthers();
  // Where this fails, the leases expire.
  else await rows.endDead(isDead).catch(() => undefined);
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
  const unfollow = signal.follow((endpointIds, changed) => worker.notify(endpointIds, changed));
  const listener = databaseUrl === undefined ? undefined : listen(databaseUrl, parts, worker);
  worker.start();
  const backlog = watchBacklog(db, clock);
  return {
    gauges: new WorkerGauges(worker, clock, listener && (() => listener.isListening)),
    rest: () => worker.rest(),
    stop: async (patienceMs) => {
      unfollow();
      await Promise.all([listener?.stop(), backlog.stop(), worker.stop(patienceMs)]);
      await healthChecks.stop();
    },
  };
}

function listen(databaseUrl: string, { db, signal, log }: DeliveriesParts, worker: DeliveryWorker): WorkListener {
  worker.setListening(false);
  const listener = new WorkListener({
    databaseUrl,
    channel: WORK_CHANNEL,
    notify: (message) => notifyWork(db, message),
    onMessage: (message) => signal.hear(message),
    onUp: () => worker.setListening(true),
    onDown: () => worker.setListening(false),
    log,
  });
  void listener.start();
  return listener;
}
