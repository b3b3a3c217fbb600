/** Builds the quota parts of a gateway process, for tests of a store that can lose its data. */
import type { Redis } from 'ioredis';
import { pino } from 'pino';
import type { Degradation } from '../../src/quota/degradation.js';
import { StoreRestoration } from '../../src/quota/store-restoration.js';
import { LimiterSink } from '../../src/quota/limiter-sink.js';
import { Limiter } from '../../src/quota/limiter.js';
import { CounterMemory } from '../../src/quota/model/counter-memory.js';
import type { QuotaSubject } from '../../src/quota/model/subject.js';
import { Recovery } from '../../src/quota/recovery.js';
import { NodeCount } from '../../src/quota/redis/node-count.js';
import { RedisCounters } from '../../src/quota/redis/redis-counters.js';
import { ShadowLimits } from '../../src/quota/shadow-limits.js';
import { ProcessThrottleWindows } from '../../src/quota/throttle-windows.js';
import { systemClock } from '../../src/platform/clock.js';
import { MonthLedger } from '../../src/quota/usage/month-ledger.js';
import { UsageFlush } from '../../src/quota/usage/usage-flush.js';
import { UsageRecorder } from '../../src/quota/usage/usage-recorder.js';
import { UsageTable } from '../../src/quota/usage/usage-table.js';
import type { testDatabase } from './database.js';
import { PATIENT_DEADLINE_MS } from './timed-redis.js';

const LOG = pino({ level: 'silent' });

export type TestDatabase = Awaited<ReturnType<typeof testDatabase>>;

/** CountingNode is a process with the program's quota parts, but without timers. The test triggers each step. */
export class CountingNode {
  readonly counters: RedisCounters;
  readonly ledger: MonthLedger;
  private readonly restoration: StoreRestoration;
  private isDeaf = false;
  private readonly usage: UsageFlush;
  readonly limiter: Limiter;

  constructor(client: Redis, database: TestDatabase) {
    this.ledger = new MonthLedger(database.db, systemClock);
    const memory = new CounterMemory(this.ledger);
    // A failed decision fails the request: there is no fallback.
    const degradation = {
      isOver: true,
      refund: () => undefined,
      onCallEnd: () => {},
      decide: (_subject: QuotaSubject, _cost: number, cause: unknown) => {
        throw cause;
      },
    } as unknown as Degradation;
    const shadows = new ShadowLimits(systemClock, true);
    const sink = new LimiterSink(this.ledger, shadows, systemClock, degradation);
    this.counters = new RedisCounters(client, systemClock, this.ledger, sink, PATIENT_DEADLINE_MS, memory);
    const recovery = new Recovery(this.counters, degradation, this.ledger, () => client.ping());
    const fallback = { degradation, recovery };
    const windows = new ProcessThrottleWindows(systemClock);
    this.limiter = new Limiter(this.counters, shadows, this.ledger, windows, systemClock, LOG, fallback);
    const nodes = new NodeCount(this.whoseReplyMayBeLost(client), true);
    this.restoration = new StoreRestoration(nodes, this.counters, this.ledger, memory, LOG);
    const table = new UsageTable(database.db, database.kind, true, () => this.counters.aheadMs);
    this.usage = new UsageFlush(table, this.ledger, new UsageRecorder(systemClock), systemClock, LOG, {
      isShared: true,
      memory,
    });
  }

  /** Checks whether the store was emptied, as the program does periodically. */
  look(): Promise<void> {
    return this.restoration.checkStore();
  }

  /** Checks the store, but loses the reply to the first script call. The store has executed the call. */
  async lookTooLate(): Promise<void> {
    this.isDeaf = true;
    await this.restoration.checkStore();
  }

  private whoseReplyMayBeLost(client: Redis): Redis {
    const evalsha = async (...args: Parameters<Redis['evalsha']>): Promise<unknown> => {
      const reply = await client.evalsha(...args);
      if (!this.isDeaf) return reply;
      this.isDeaf = false;
      throw new Error('Command timed out');
    };
    return Object.assign(Object.create(client) as Redis, { evalsha });
  }

  /** Writes the usage to the database, as the program does periodically. */
  flush(): Promise<void> {
    return this.usage.flush();
  }
}
