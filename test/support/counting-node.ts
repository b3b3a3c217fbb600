/** A process of the gateway as far as it counts, on a store that may forget everything. */
import type { Redis } from 'ioredis';
import { pino } from 'pino';
import type { Degradation } from '../../src/limits/degradation.js';
import { EmptiedStore } from '../../src/limits/emptied-store.js';
import { LimiterSink } from '../../src/limits/limiter-sink.js';
import { Limiter } from '../../src/limits/limiter.js';
import { CounterMemory } from '../../src/limits/model/counter-memory.js';
import type { QuotaSubject } from '../../src/limits/model/subject.js';
import { Recovery } from '../../src/limits/recovery.js';
import { NodeCount } from '../../src/limits/redis/node-count.js';
import { RedisCounters } from '../../src/limits/redis/redis-counters.js';
import { ShadowLimits } from '../../src/limits/shadow-limits.js';
import { ProcessThrottleWindows } from '../../src/limits/throttle-windows.js';
import { systemClock } from '../../src/platform/clock.js';
import { MonthLedger } from '../../src/usage/month-ledger.js';
import { UsageFlush } from '../../src/usage/usage-flush.js';
import { UsageRecorder } from '../../src/usage/usage-recorder.js';
import { UsageTable } from '../../src/usage/usage-table.js';
import type { testDatabase } from './database.js';
import { PATIENT_DEADLINE_MS } from './timed-redis.js';

const LOG = pino({ level: 'silent' });

export type TestDatabase = Awaited<ReturnType<typeof testDatabase>>;

/** A process as the program puts it together, but that nothing happens in it by itself. */
export class CountingNode {
  readonly counters: RedisCounters;
  readonly ledger: MonthLedger;
  private readonly emptied: EmptiedStore;
  private isDeaf = false;
  private readonly usage: UsageFlush;
  readonly limiter: Limiter;

  constructor(client: Redis, database: TestDatabase) {
    this.ledger = new MonthLedger(database.db, systemClock);
    const memory = new CounterMemory(this.ledger);
    // Nothing takes the place of a decision that failed.
    const degradation = {
      isOver: true,
      refund: () => undefined,
      called: () => {},
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
    this.emptied = new EmptiedStore(nodes, this.counters, this.ledger, memory, LOG);
    const table = new UsageTable(database.db, database.kind, true, () => this.counters.aheadMs);
    this.usage = new UsageFlush(table, this.ledger, new UsageRecorder(systemClock), systemClock, LOG, {
      isShared: true,
      memory,
    });
  }

  /** What it does every second. */
  look(): Promise<void> {
    return this.emptied.look();
  }

  /** The same, but this process stands still until the first reply comes too late: the call was carried out. */
  async lookTooLate(): Promise<void> {
    this.isDeaf = true;
    await this.emptied.look();
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

  /** What it does every few seconds. */
  flush(): Promise<void> {
    return this.usage.flush();
  }
}
