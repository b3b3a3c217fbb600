/** Opens the stores of accounts and keys. Also rejects configuration reloads that remove a plan in use. */
import { longestAccessMs } from '../config/model/mcp-schema.js';
import type { SharedDependencies } from '../config/shared-dependencies.js';
import type { InvalidationBus } from '../keys/api-key.js';
import type { WorkSignal } from '../outbox/work-signal.js';
import type { Limiter } from '../quota/limiter.js';
import { AccountStore, type StoreDependencies } from './accounts.js';
import { ApiKeyStore } from './api-key-store.js';
import { Catalogue } from './catalogue.js';
import { keepPlansInUse, plansMissing } from './plans-in-use.js';
import { QuotaAdjustmentStore } from './quota-adjustments.js';

/** AccountDependencies are the services that the account stores use. */
export interface AccountDependencies {
  /** Publishes changes of keys and accounts to all processes. */
  readonly bus: InvalidationBus;
  readonly signal: WorkSignal;
  readonly counters: Limiter;
  /** Whether this process can query the counters. Without Redis, only the gateway process has the counters. */
  readonly hasCounters: boolean;
  readonly keepClient: NonNullable<StoreDependencies['keepClient']>;
}

/** Accounts contains the stores of `src/accounts`. */
export interface Accounts {
  readonly accounts: AccountStore;
  readonly keyStore: ApiKeyStore;
  readonly catalogue: Catalogue;
  readonly quotaAdjustments: QuotaAdjustmentStore;
}

/**
 * Opens the stores. Logs an error if the configuration lacks plans that accounts have. Rejects with the database's
 * error.
 */
export async function openAccounts(shared: SharedDependencies, modules: AccountDependencies): Promise<Accounts> {
  const { config, database, clock } = shared;
  const { bus, signal, keepClient, counters, hasCounters } = modules;
  const catalogue = new Catalogue(() => config.current);
  const longestAccess = (): number => longestAccessMs(config.current.file.mcp);
  const parts = { database, clock, bus, catalogue, signal, longestAccessMs: longestAccess, keepClient };
  await warnOfUnknownPlans(shared);
  config.onChange(async ({ config: next }) => {
    await keepPlansInUse(database.db, config.current.file.plans, next);
    return () => void warnOfUnknownPlans(shared, next.file.plans).catch(() => undefined);
  });
  return {
    accounts: new AccountStore(parts),
    keyStore: new ApiKeyStore(parts),
    catalogue,
    quotaAdjustments: new QuotaAdjustmentStore({ ...parts, counters, hasCounters }),
  };
}

/** Logs an error that names the plans of accounts that the configuration lacks. Requests of these accounts get 503. */
async function warnOfUnknownPlans(
  { config, database, log }: SharedDependencies,
  plans = config.current.file.plans,
): Promise<void> {
  const unknown = await plansMissing(database.db, plans);
  if (unknown.length === 0) return;
  log.logger.error(
    { event: 'unknown_plans', plans: unknown },
    'Accounts have plans that gateway.yaml does not have; their requests are refused with 503',
  );
}
