/**
 * Invalidation across processes by Redis pub/sub. Messages can be missed while the connection is down, so the bus says
 * since when it is known to be up: a ping every second finds a connection that died without a word.
 */
import type { Redis } from 'ioredis';
import type { Clock } from '../platform/clock.js';
import type { RedisClient } from '../stores/redis/connect.js';
import type { Logger } from '../platform/log.js';
import { METRICS } from '../platform/metrics.js';
import { INVALIDATION_CHANNEL } from '../stores/redis/keys.js';
import type { Heard, Invalidation, InvalidationBus } from './api-key.js';

const PING_INTERVAL_MS = 1_000;
const PING_TIMEOUT_MS = 1_000;
/** Most changes that wait to be said again; a process that makes more while Redis is away forgets the oldest. */
const MOST_UNSAID = 10_000;

export class RedisBus implements InvalidationBus {
  private readonly listeners: ((change: Invalidation) => void)[] = [];
  private since: number | null = null;
  /** When the last ping was sent that has been answered: whatever was published before it has arrived. */
  private heardUntilMs = -Infinity;
  private gapFromMs: number | null = -Infinity;
  private subscription: 'none' | 'asked for' | 'stands' = 'none';
  /**
   * Messages that could not be published: other processes that do hear the bus would trust the old rows for minutes.
   */
  private readonly unsaid = new Set<string>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly publisher: RedisClient,
    private readonly subscriber: Redis,
    private readonly clock: Clock,
    private readonly log: Logger,
    /** Whether every process that can change keys is heard here; else what is known is old sooner. */
    private readonly hearsAll = true,
  ) {
    subscriber.on('message', (_channel: string, text: string) => this.receive(text));
    subscriber.on('close', () => this.lost());
  }

  readGauges(): void {
    METRICS.invalidationBusUp.series().set(this.since === null ? 0 : 1);
  }

  /** Subscribes and keeps watch. Resolves at once; `connectedSince` tells when it stands. */
  start(): void {
    this.timer = setInterval(() => this.keepWatch(), PING_INTERVAL_MS);
    this.timer.unref();
    this.keepWatch();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  async publish(change: Invalidation): Promise<void> {
    // This process hears itself through Redis too; hearing it twice is harmless, not hearing it is not.
    this.deliver(change);
    const text = JSON.stringify(change);
    try {
      await this.publisher.publish(INVALIDATION_CHANNEL, text);
    } catch (error) {
      if (this.unsaid.size >= MOST_UNSAID) this.unsaid.delete(this.unsaid.values().next().value ?? '');
      this.unsaid.add(text);
      this.log.warn(
        { event: 'invalidation_not_published', change, err: error },
        'Processes that have lost the bus too will notice this change within ten seconds, others when it is back here',
      );
    }
  }

  subscribe(listener: (change: Invalidation) => void): void {
    this.listeners.push(listener);
  }

  connectedSince(): number | null {
    return this.hearsAll ? this.since : null;
  }

  heard(): Heard {
    return this.hearsAll
      ? { untilMs: this.heardUntilMs, gapFromMs: this.gapFromMs }
      : { untilMs: -Infinity, gapFromMs: null };
  }

  private receive(text: string): void {
    try {
      this.deliver(JSON.parse(text) as Invalidation);
    } catch (error) {
      this.log.warn(
        { event: 'invalidation_unreadable', err: error },
        'A message on the invalidation channel is not ours',
      );
    }
  }

  private deliver(change: Invalidation): void {
    for (const listener of this.listeners) listener(change);
  }

  private keepWatch(): void {
    if (this.subscription === 'stands') void this.ping();
    else if (this.subscription === 'none') void this.listen();
    if (this.unsaid.size > 0) void this.sayAgain();
  }

  /** Once it stands, the subscription comes back by itself with every reconnection, before anything else is sent. */
  private async listen(): Promise<void> {
    this.subscription = 'asked for';
    try {
      await this.subscriber.subscribe(INVALIDATION_CHANNEL);
      this.subscription = 'stands';
      await this.ping();
    } catch (error) {
      this.subscription = 'none';
      this.log.warn({ event: 'subscribe_failed', err: error }, 'Could not subscribe to changes of keys');
    }
  }

  private async sayAgain(): Promise<void> {
    for (const text of this.unsaid) {
      this.unsaid.delete(text);
      try {
        await this.publisher.publish(INVALIDATION_CHANNEL, text);
      } catch {
        this.unsaid.add(text);
        return;
      }
    }
  }

  private async ping(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error('no answer to a ping')), PING_TIMEOUT_MS);
    });
    const askedMs = this.clock.now();
    try {
      // On the subscribed connection itself: a response proves that every message before it has arrived.
      await Promise.race([this.subscriber.ping(), timeout]);
      // From now on, not from when it was asked: the question may have waited until the subscription stood again.
      this.since ??= this.clock.now();
      this.heardUntilMs = Math.max(askedMs, this.since);
    } catch {
      this.lost();
      if (this.subscriber.status === 'ready') this.subscriber.disconnect(true);
    } finally {
      clearTimeout(timer);
    }
  }

  private lost(): void {
    if (this.since === null) return;
    this.since = null;
    this.gapFromMs = this.heardUntilMs;
    this.log.warn(
      { event: 'invalidation_bus_lost' },
      'Changes to keys now take up to ten seconds to reach this process',
    );
  }
}
