/** The rooms that every role of the program stands on, in the order in which they are opened; closed the other way round. */
import { openAccounts, type Accounts } from '../accounts/open.js';
import type { AccountStore } from '../accounts/accounts.js';
import { keepClient } from '../authorization/clients/authorization-requests.js';
import { OAuthObjects } from '../authorization/clients/oauth-objects.js';
import type { Ground } from '../config/ground.js';
import type { RecordTime } from '../idempotency/database-records.js';
import type { KeyedRequests } from '../idempotency/keyed-requests.js';
import { openKeyedRequests } from '../idempotency/open.js';
import { openKeys, type Keys } from '../keys/open.js';
import { EventOutbox } from '../outbox/outbox.js';
import { notifyBy, WorkSignal } from '../outbox/work-signal.js';
import type { Forwarder } from '../proxy/calls/forwarder.js';
import { openBackends } from '../proxy/open.js';
import { openQuota, type CounterPlace, type Quota } from '../quota/open.js';
import { openRequestLogs } from '../request-logs/open.js';
import type { RequestLogRecorder } from '../request-logs/recorder.js';
import type { DatabaseHandle } from '../stores/database/connect.js';
import { DatabaseHealth } from '../stores/database/database-health.js';
import { EmittedEvents } from '../webhooks/intake/emitted-events.js';
import { openWebhooks, type Webhooks } from '../webhooks/management/open-webhooks.js';
import { webhookSender, type SenderOptions } from './webhook-sender.js';
import type { Role } from './roles.js';
import { tellPoolOfWork } from './workers/worker-process.js';

/** Place is what this process is for, and where it counts. */
export interface Place {
  readonly roles: readonly Role[];
  readonly forwards: boolean;
  /** Whether it is no worker of another process, which has the data folder. */
  readonly isFirst: boolean;
  readonly counterPlace: CounterPlace;
  /** How far ahead of the machine's count the clock was when the first process began. */
  readonly clockAheadMs: number;
  /** The time for records of requests with an `Idempotency-Key`. */
  readonly recordTime: RecordTime;
  /** How receivers of webhooks are reached, where tests choose it. */
  readonly sender?: SenderOptions;
}

/** Rooms is what every role stands on. */
export interface Rooms extends Ground, Place, Accounts, Quota {
  /** Knows how the database is; probes it once it is started. */
  readonly databaseHealth: DatabaseHealth;
  readonly requestLogs: RequestLogRecorder;
  readonly keys: Keys;
  readonly events: EventOutbox;
  /** Tells workers of webhook endpoints that have something to do. */
  readonly workSignal: WorkSignal;
  readonly webhooks: Webhooks;
  /** Undefined where no requests are forwarded, as the forwarder is. */
  readonly keyedRequests: KeyedRequests | undefined;
  readonly forwarder: Forwarder | undefined;
}

/** Customers is what can be made before a backend is asked. */
export interface Customers {
  readonly database: DatabaseHandle;
  readonly accounts: AccountStore;
}

/** Opens them. @param beforeBackends called before the targets are resolved and their health is checked. */
export async function openRooms(
  ground: Ground,
  place: Place,
  beforeBackends: (customers: Customers) => Promise<void> = async () => {},
): Promise<Rooms> {
  const { config, database, clock, log, shutdown } = ground;
  const { roles, forwards, isFirst, counterPlace, recordTime } = place;
  const databaseHealth = new DatabaseHealth(database, clock, log.logger);
  ground.gauges.push(databaseHealth);
  const requestLogs = openRequestLogs(ground);
  const workSignal = new WorkSignal(database.kind === 'postgres' ? notifyBy(database.db) : tellPoolOfWork);
  const quota = await openQuota(ground, {
    place: counterPlace,
    forwards,
    // A program with another role cannot ask the process that counts for these workers.
    sweeps: roles.includes('worker') || (isFirst && counterPlace.isOwn),
    witness: databaseHealth,
    follower: requestLogs.flush,
    signal: workSignal,
  });
  const keys = openKeys(ground, counterPlace.url);
  const accounts = await openAccounts(ground, {
    bus: keys.bus,
    signal: workSignal,
    counters: quota.quotas.limiter,
    hasCounters: counterPlace.url !== undefined || roles.includes('gateway'),
    keepClient: (trx, clientId, endsMs) => keepClient(new OAuthObjects(trx, clock), clientId, endsMs),
  });
  await beforeBackends({ database, accounts: accounts.accounts });
  const emitted = new EmittedEvents(database.db, clock, workSignal, log.logger, () => config.current.eventTypes);
  ground.gauges.push(emitted);
  // Behind the last response, and before the database is closed.
  shutdown.add('write emitted events', () => emitted.stop());
  const keyedRequests = forwards ? await openKeyedRequests(ground, recordTime) : undefined;
  const forwarder = forwards ? openBackends(ground, emitted) : undefined;
  const webhooks = openWebhooks({
    ...ground,
    signal: workSignal,
    sender: webhookSender(ground, place.sender),
    throttles: quota.quotas.throttleWindows,
    file: () => config.current.file,
    eventTypes: () => config.current.eventTypes ?? [],
  });
  const events = new EventOutbox(database.db, clock);
  const outbox = { events, workSignal };
  const requests = { requestLogs: requestLogs.recorder, keyedRequests, forwarder };
  return { ...ground, ...place, databaseHealth, ...quota, keys, ...accounts, ...outbox, ...requests, webhooks };
}
