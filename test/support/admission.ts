/** Opens the admission steps of the request path on a database, with a clock that the test controls. */
import type { Logger } from 'pino';
import { LifeCycle } from '../../src/admission/life-cycle.js';
import { QuotaReport } from '../../src/admission/quota-report.js';
import { Routes } from '../../src/admission/routes.js';
import { openSteps, type StepParts, type Steps } from '../../src/admission/steps.js';
import type { Config } from '../../src/config/model/schema.js';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import type { ApiKeyRecord, InvalidationBus } from '../../src/keys/api-key.js';
import { ApiKeyCache } from '../../src/keys/api-key-cache.js';
import { DatabaseKeyLookup } from '../../src/keys/api-key-lookup.js';
import { Authenticator } from '../../src/keys/authenticator.js';
import { ForeignKeys } from '../../src/keys/foreign-keys.js';
import { FailedAttempts } from '../../src/keys/failed-attempts.js';
import { CachedKeyFactory, type CachedKey } from '../../src/keys/cached-key.js';
import { LastUsed } from '../../src/keys/last-used.js';
import { ScopeSets } from '../../src/keys/scopes.js';
import type { Limiter } from '../../src/quota/limiter.js';
import type { Clock } from '../../src/platform/clock.js';
import { UsageRecorder } from '../../src/quota/usage/usage-recorder.js';

/** AdmissionUnderTest holds the admission steps of a test. */
export interface AdmissionUnderTest {
  readonly parts: StepParts;
  readonly steps: Steps;
  /** Returns the cached form of a key record, as requests get it from the key cache. */
  readonly known: (record: ApiKeyRecord) => CachedKey;
}

/** Opens the admission steps for a configuration. */
export function admissionOn(
  config: Config,
  database: DatabaseHandle,
  quotas: Limiter,
  { clock, bus, log }: { readonly clock: Clock; readonly bus: InvalidationBus; readonly log: Logger },
): AdmissionUnderTest {
  const lookup = new DatabaseKeyLookup(database.db, database.kind);
  const cache = new ApiKeyCache(lookup, new CachedKeyFactory(config.file.plans, new ScopeSets()), bus, clock);
  const parts: StepParts = {
    routes: new Routes(config),
    lifeCycle: new LifeCycle(config, () => 'http://localhost:8080', clock),
    authenticator: new Authenticator(cache, new ForeignKeys(lookup, bus, clock), new LastUsed(lookup, log), clock),
    failedAttempts: new FailedAttempts(config.file.gateway?.failedAuthentication.perMinute ?? 0, clock, log),
    quotas,
    quotaReport: new QuotaReport(quotas, clock),
    recorder: new UsageRecorder(clock),
    // Requests in these tests have no `Idempotency-Key`.
    keyedRequests: undefined,
  };
  return { parts, steps: openSteps(parts), known: (record) => cache.build(record) };
}
