/** Opens the modules (`Modules`) that all roles share, in order. The shutdown closes them in the reverse order. */
import { openAccounts, type Accounts } from '../accounts/open.js';
import type { AccountStore } from '../accounts/accounts.js';
import { keepClient } from '../authorization/clients/authorization-requests.js';
import { OAuthObjects } from '../authorization/clients/oauth-objects.js';
import type { SharedDependencies } from '../config/shared-dependencies.js';
import type { RecordTime } from '../idempotency/database-records.js';
import type { KeyedRequests } from '../idempotency/keyed-requests.js';
import { openKeyedRequests } from '../idempotency/open.js';
import { openKeys, type Keys } from '../keys/open.js';
import { AccountDeletion } from '../members/account-deletion.js';
import { AccessChanges } from '../members/credential-ends.js';
import { MemberErasure } from '../members/member-erasure.js';
import { EventOutbox } from '../outbox/outbox.js';
import { notifyBy, WorkSignal } from '../outbox/work-signal.js';
import type { Forwarder } from '../proxy/calls/forwarder.js';
import { openBackends } from '../proxy/open.js';
import { openQuota, type CounterLocation, type Quota } from '../quota/open.js';
import { openRequestLogs } from '../request-logs/open.js';
import type { RequestLogRecorder } from '../request-logs/recorder.js';
import type { DatabaseHandle } from '../stores/database/connect.js';
import { DatabaseHealth } from '../stores/database/database-health.js';
import { EmittedEvents } from '../webhooks/intake/emitted-events.js';
import { openWebhooks, type Webhooks } from '../webhooks/management/open-webhooks.js';
import { webhookSender, type SenderOptions } from './webhook-sender.js';
import type { Role } from './roles.js';
import { tellPoolOfWork } from './workers/worker-process.js';

/** Place describes the roles of this process and the place of its counters. */
export interface Place {
  readonly roles: readonly Role[];
  /** Whether this process forwards requests to backends. */
  readonly forwards: boolean;
  /** False in a worker process. */
  readonly isFirst: boolean;
  readonly counterLocation: CounterLocation;
  /**
   * Difference between the wall clock and the machine's monotonic clock, in milliseconds. See `clockAheadMs` in
   * `idempotency/database-records.ts`.
   */
  readonly clockAheadMs: number;
  /** Returns the current time for records of requests with an `Idempotency-Key`. */
  readonly recordTime: RecordTime;
  /** Overrides of the webhook sender, for tests. */
  readonly sender?: SenderOptions;
}

/** Modules are the opened stores and services that all roles share. */
export interface Modules extends SharedDependencies, Place, Accounts, Quota {
  /** Known state of the database. After `start`, it also probes the database. */
  readonly databaseHealth: DatabaseHealth;
  readonly requestLogs: RequestLogRecorder;
  readonly keys: Keys;
  readonly events: EventOutbox;
  /** Notifies the webhook workers of endpoints that have due deliveries. */
  readonly workSignal: WorkSignal;
  readonly webhooks: Webhooks;
  readonly accountDeletion: AccountDeletion;
  /** Undefined, like `forwarder`, if this process does not forward requests. */
  readonly keyedRequests: KeyedRequests | undefined;
  readonly forwarder: Forwarder | undefined;
  /** Whether this process can read the live counters. */
  readonly hasCounters: boolean;
}

/** Customers are the stores that are available before the backends are opened. */
export interface Customers {
  readonly database: DatabaseHandle;
  readonly accounts: AccountStore;
}

/**
 * Opens the modules, and adds the phases that close them to the shutdown.
 * @param beforeBackends called before the targets of the backends are resolved and checked
 */
export async function openModules(
  shared: SharedDependencies,
  place: Place,
  beforeBackends: (customers: Customers) => Promise<void> = async () => {},
): Promise<Modules> {
  const { config, database, clock, log, shutdown } = shared;
  const { roles, forwards, isFirst, counterLocation, recordTime } = place;
  const databaseHealth = new DatabaseHealth(database, clock, log.logger);
  shared.gauges.push(databaseHealth);
  const requestLogs = openRequestLogs(shared);
  const workSignal = new WorkSignal(database.kind === 'postgres' ? notifyBy(database.db) : tellPoolOfWork);
  const quota = await openQuota(shared, {
    place: counterLocation,
    forwards,
    // Other programs cannot reach the counting process of these workers, so this program must remove unused counters
    // itself.
    sweeps: roles.includes('worker') || (isFirst && counterLocation.isCountingProcess),
    witness: databaseHealth,
    follower: requestLogs.flush,
    signal: workSignal,
  });
  const keys = openKeys(shared, counterLocation.url);
  const hasCounters = counterLocation.url !== undefined || roles.includes('gateway');
  const accounts = await openAccounts(shared, {
    bus: keys.bus,
    signal: workSignal,
    counters: quota.quotas.limiter,
    hasCounters,
    keepClient: (trx, clientId, endsMs) => keepClient(new OAuthObjects(trx, clock), clientId, endsMs),
  });
  await beforeBackends({ database, accounts: accounts.accounts });
  const emitted = new EmittedEvents(database.db, clock, workSignal, log.logger, () => config.current.eventTypes);
  shared.gauges.push(emitted);
  // The shutdown writes events after the last response, and before the database is closed.
  shutdown.add('write emitted events', () => emitted.stop());
  const keyedRequests = forwards ? await openKeyedRequests(shared, recordTime) : undefined;
  const forwarder = forwards ? openBackends(shared, emitted) : undefined;
  const webhooks = openWebhooks({
    ...shared,
    signal: workSignal,
    sender: webhookSender(shared, place.sender),
    throttles: quota.quotas.throttleWindows,
    file: () => config.current.file,
    eventTypes: () => config.current.eventTypes ?? [],
  });
  const events = new EventOutbox(database.db, clock);
  const accountDeletion = new AccountDeletion({
    ...shared,
    bus: keys.bus,
    signal: workSignal,
    erasure: new MemberErasure(database, clock, new AccessChanges(database, clock, accounts.keyStore)),
    redisUrl: config.current.environment.redisUrl,
    keepsUsage: () => config.current.file.usage.deletedAccounts === 'anonymous',
  });
  const outbox = { events, workSignal };
  const requests = { requestLogs: requestLogs.recorder, keyedRequests, forwarder, hasCounters };
  return {
    ...shared,
    ...place,
    databaseHealth,
    ...quota,
    keys,
    ...accounts,
    ...outbox,
    ...requests,
    webhooks,
    accountDeletion,
  };
}
