/** Quota storages whose stores a test takes away and brings back, by a clock of the test. */
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

/** Longer than the breaker ever waits. */
const LONGEST_PAUSE_MS = 5_000;
const log = pino({ level: 'silent' });

export interface FaultyQuotas {
  readonly storage: Limiter;
  readonly isAway: boolean;
  /** Takes the store away that is there, and brings back the one that is not. */
  toggle(): Promise<void>;
  close(): Promise<void>;
}

/** Month counts that cannot be asked for while `isAway()`. */
function losable(months: MonthSource, isAway: () => boolean): MonthSource {
  return {
    usedInMonth: (...asked) => (isAway() ? Promise.reject(new Error('no database')) : months.usedInMonth(...asked)),
  };
}

/** Counters in the process; their database goes away, by which counters are lost that nobody has asked for yet. */
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

/** Counters in Redis, which goes away for two nodes that share what is left. */
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
  await recovery.probe();
  await eventually('the store is back', () => storage.storeUp);
}
