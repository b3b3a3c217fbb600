/** Quota storages with a test clock, whose store a test can make unavailable. */
import { pino } from 'pino';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { Breaker } from '../../src/platform/breaker.js';
import { Degradation } from '../../src/quota/degradation.js';
import { LimiterSink } from '../../src/quota/limiter-sink.js';
import { LocalShare } from '../../src/quota/local-share.js';
import type { MonthSource } from '../../src/quota/model/counter-store.js';
import { ProcessCounters } from '../../src/quota/process/process-counters.js';
import { Limiter } from '../../src/quota/limiter.js';
import { Recovery } from '../../src/quota/recovery.js';
import { RedisCounters } from '../../src/quota/redis/redis-counters.js';
import { ShadowLimits } from '../../src/quota/shadow-limits.js';
import { ProcessThrottleWindows } from '../../src/quota/throttle-windows.js';
import { MonthLedger } from '../../src/quota/usage/month-ledger.js';
import { eventually } from './processes.js';
import type { TestClock } from './stores.js';
import { emptyRedis, PATIENT_DEADLINE_MS, timedClient } from './timed-redis.js';

/** Longer in ms than any pause of the circuit breaker. */
const LONGEST_PAUSE_MS = 5_000;
const log = pino({ level: 'silent' });

/** A limiter with a store that can fail. The test must close it. */
export interface FaultyQuotas {
  readonly storage: Limiter;
  readonly isAway: boolean;
  /** Makes the store unavailable, or available again. */
  toggle(): Promise<void>;
  close(): Promise<void>;
}

/** Wraps a month source that rejects while `isAway()` returns true. */
function losable(months: MonthSource, isAway: () => boolean): MonthSource {
  return {
    usedInMonth: (...asked) => (isAway() ? Promise.reject(new Error('no database')) : months.usedInMonth(...asked)),
  };
}

/**
 * Opens counters in this process, whose database can fail. A failure affects only month counts that are not loaded yet.
 */
export async function openProcessQuotasWithFaults(database: DatabaseHandle, clock: TestClock): Promise<FaultyQuotas> {
  let isAway = false;
  const ledger = new MonthLedger(database.db, clock);
  const shadows = new ShadowLimits(clock, false);
  const sink = new LimiterSink(ledger, shadows, clock);
  const counters = new ProcessCounters(
    clock,
    losable(ledger, () => isAway),
    'store',
    undefined,
    sink,
  );
  const windows = new ProcessThrottleWindows(clock);
  return {
    storage: new Limiter(counters, shadows, ledger, windows, clock, log),
    get isAway() {
      return isAway;
    },
    toggle: async () => void (isAway = !isAway),
    close: async () => undefined,
  };
}

/** Opens counters in Redis, which can fail. Decisions then use the local share of one of two nodes. */
export async function openLosableQuotas(database: DatabaseHandle, clock: TestClock): Promise<FaultyQuotas> {
  let isAway = false;
  const client = await emptyRedis();
  const ledger = new MonthLedger(database.db, clock);
  const own = new ProcessCounters(clock, ledger, 'local');
  const place = () => ({ count: 2, rank: 0 });
  const local = new LocalShare(own, ledger, place, clock, (accountId) => ledger.findLatestSubject(accountId));
  const degradation = new Degradation(new Breaker(clock), local, clock, log);
  const shadows = new ShadowLimits(clock, true);
  const sink = new LimiterSink(ledger, shadows, clock, degradation);
  const counters = new RedisCounters(timedClient(client, clock), clock, ledger, sink, PATIENT_DEADLINE_MS);
  const ask = () => (isAway ? Promise.reject(new Error('no Redis')) : client.ping());
  const recovery = new Recovery(counters, degradation, ledger, ask);
  const windows = new ProcessThrottleWindows(clock);
  const storage = new Limiter(counters, shadows, ledger, windows, clock, log, { degradation, recovery });
  return {
    storage,
    get isAway() {
      return isAway;
    },
    toggle: async () => {
      isAway = !isAway;
      if (isAway) degradation.onCallEnd(false, new Error('no Redis'));
      else await bringBack(storage, recovery, clock);
    },
    close: async () => client.disconnect(),
  };
}

async function bringBack(storage: Limiter, recovery: Recovery, clock: TestClock): Promise<void> {
  clock.advance(LONGEST_PAUSE_MS);
  await recovery.probeIfDue();
  await eventually('the quota store is back', () => storage.storeUp);
}
