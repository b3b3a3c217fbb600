/**
 * Watches the memory of Redis, which also holds the quota counters. If memory is scarce, the gateway stores no more
 * responses. If memory is nearly full, the gateway refuses requests with an `Idempotency-Key`.
 */
import { Cluster, type Redis } from 'ioredis';
import type { Logger } from '../platform/log.js';
import type { RedisClient } from '../stores/redis/connect.js';
import type { Room } from './record.js';

const CHECK_INTERVAL_MS = 5_000;
/** Percentage of `maxmemory` from which responses are no longer stored. */
const TIGHT_PERCENT = 75;
/** Percentage of `maxmemory` from which requests with an `Idempotency-Key` are refused. */
const FULL_PERCENT = 90;

/** RedisRoom checks the memory of Redis every five seconds, and sets `room` accordingly. */
export class RedisRoom {
  room: Room = 'plenty';
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly client: RedisClient,
    private readonly log: Logger,
  ) {
    this.timer = setInterval(() => void this.check(), CHECK_INTERVAL_MS).unref();
  }

  /**
   * Checks the memory of Redis, or of all masters of a Redis Cluster. Sets `room` according to the fullest server.
   * Never rejects. A server that does not report its memory counts as empty.
   */
  async check(): Promise<void> {
    const nodes = this.client instanceof Cluster ? this.client.nodes('master') : [this.client];
    const percents = await Promise.all(nodes.map(percentUsed));
    const percent = Math.max(0, ...percents);
    const room = percent >= FULL_PERCENT ? 'none' : percent >= TIGHT_PERCENT ? 'tight' : 'plenty';
    if (room === this.room) return;
    this.room = room;
    this.log.warn(
      { event: 'idempotency_store_room', room, percent: Math.round(percent) },
      'The memory use of Redis changed what is stored for requests with an Idempotency-Key',
    );
  }

  stop(): void {
    clearInterval(this.timer);
  }
}

/** Returns the used percentage of `maxmemory`; 0 if there is no limit or the server does not respond. */
async function percentUsed(client: Redis): Promise<number> {
  try {
    const text = await client.info('memory');
    const numberOf = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(text)?.[1] ?? 0);
    const maxBytes = numberOf('maxmemory');
    return maxBytes === 0 ? 0 : (numberOf('used_memory') / maxBytes) * 100;
  } catch {
    return 0;
  }
}
