/**
 * Invalidation across processes by Redis pub/sub. Messages can be missed while the connection is down, so the bus says
 * since when it is known to be up: a ping every second finds a connection that died without a word.
 */
import type { Redis } from 'ioredis';
import type { Clock } from '../clock.js';
import type { Logger } from '../log.js';
import { METRICS } from '../metrics.js';
import { INVALIDATION_CHANNEL } from '../redis/keys.js';
import type { Invalidation, InvalidationBus } from './api-key.js';

const PING_INTERVAL_MS = 1_000;
const PING_TIMEOUT_MS = 1_000;

export class RedisBus implements InvalidationBus {
  private readonly listeners: ((change: Invalidation) => void)[] = [];
  private since: number | null = null;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly publisher: Redis,
    private readonly subscriber: Redis,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {
    subscriber.on('message', (_channel: string, text: string) => this.receive(text));
    subscriber.on('close', () => this.lost());
    METRICS.invalidationBusUp.collect = () => METRICS.invalidationBusUp.series().set(this.since === null ? 0 : 1);
  }

  /** Subscribes and keeps watch. Resolves at once; `connectedSince` tells when it stands. */
  start(): void {
    this.subscriber.subscribe(INVALIDATION_CHANNEL).catch((error: unknown) => {
      this.log.warn({ event: 'subscribe_failed', err: error }, 'Could not subscribe to changes of keys');
    });
    this.timer = setInterval(() => void this.ping(), PING_INTERVAL_MS);
    this.timer.unref();
    void this.ping();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  async publish(change: Invalidation): Promise<void> {
    // This process hears itself through Redis too; hearing it twice is harmless, not hearing it is not.
    this.deliver(change);
    try {
      await this.publisher.publish(INVALIDATION_CHANNEL, JSON.stringify(change));
    } catch (error) {
      this.log.warn(
        { event: 'invalidation_not_published', change, err: error },
        'Other nodes will notice this change within ten seconds',
      );
    }
  }

  subscribe(listener: (change: Invalidation) => void): void {
    this.listeners.push(listener);
  }

  connectedSince(): number | null {
    return this.since;
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

  private async ping(): Promise<void> {
    const sentAtMs = this.clock.now();
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error('no answer to a ping')), PING_TIMEOUT_MS);
    });
    try {
      // On the subscribed connection itself: an answer proves that every message before it has arrived.
      await Promise.race([this.subscriber.ping(), timeout]);
      this.since ??= sentAtMs;
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
    this.log.warn(
      { event: 'invalidation_bus_lost' },
      'Changes to keys now take up to ten seconds to reach this process',
    );
  }
}
