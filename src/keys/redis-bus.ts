/**
 * Sends changes of keys and accounts between processes by Redis pub/sub. Messages are lost while the connection is
 * down, so the bus reports since when the connection has been up. A ping every second detects dead connections.
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
/** Maximum number of changes that wait to be published again. Above it, the oldest change is dropped. */
const MAX_UNPUBLISHED = 10_000;

export class RedisBus implements InvalidationBus {
  private readonly listeners: ((change: Invalidation) => void)[] = [];
  /** Start of the uninterrupted subscription, in ms since the epoch. Null while the bus is down. */
  private connectedSinceMs: number | null = null;
  /**
   * Time of the last successful ping, in ms since the epoch. All messages that were published earlier have arrived.
   * `-Infinity` before the first ping.
   */
  private heardUntilMs = -Infinity;
  /** Value of `Heard.gapFromMs`. */
  private gapFromMs: number | null = -Infinity;
  private subscription: 'none' | 'asked for' | 'stands' = 'none';
  /**
   * Changes that could not be published, as JSON. They are published again. Otherwise, processes with a working bus
   * would use the old rows for minutes.
   */
  private readonly unpublished = new Set<string>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly publisher: RedisClient,
    private readonly subscriber: Redis,
    private readonly clock: Clock,
    private readonly log: Logger,
    /**
     * Whether all processes that can change keys publish on this bus. If not, cached keys are trusted for a shorter
     * time.
     */
    private readonly hearsAll = true,
  ) {
    subscriber.on('message', (_channel: string, text: string) => this.receive(text));
    subscriber.on('close', () => this.onLost());
  }

  readGauges(): void {
    METRICS.invalidationBusUp.series().set(this.connectedSinceMs === null ? 0 : 1);
  }

  /** Starts to subscribe and to ping. Does not wait for the subscription; see `connectedSince`. */
  start(): void {
    this.timer = setInterval(() => this.tick(), PING_INTERVAL_MS);
    this.timer.unref();
    this.tick();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  async publish(change: Invalidation): Promise<void> {
    // Redis also sends the message back to this process. Delivering a change twice is harmless.
    this.deliver(change);
    const text = JSON.stringify(change);
    try {
      await this.publisher.publish(INVALIDATION_CHANNEL, text);
    } catch (error) {
      if (this.unpublished.size >= MAX_UNPUBLISHED)
        this.unpublished.delete(this.unpublished.values().next().value ?? '');
      this.unpublished.add(text);
      this.log.warn(
        { event: 'invalidation_not_published', change, err: error },
        'Other processes may not know this change for up to ten seconds, or until it is published again',
      );
    }
  }

  subscribe(listener: (change: Invalidation) => void): void {
    this.listeners.push(listener);
  }

  connectedSince(): number | null {
    return this.hearsAll ? this.connectedSinceMs : null;
  }

  lastReceived(): Heard {
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

  /** Subscribes or pings, and publishes failed changes again. Runs every second. */
  private tick(): void {
    if (this.subscription === 'stands') void this.ping();
    else if (this.subscription === 'none') void this.listen();
    if (this.unpublished.size > 0) void this.publishAgain();
  }

  /**
   * Subscribes to the channel. After the first success, the Redis client subscribes again after each reconnection,
   * before it sends anything else.
   */
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

  private async publishAgain(): Promise<void> {
    for (const text of this.unpublished) {
      this.unpublished.delete(text);
      try {
        await this.publisher.publish(INVALIDATION_CHANNEL, text);
      } catch {
        this.unpublished.add(text);
        return;
      }
    }
  }

  private async ping(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error('no answer to a ping')), PING_TIMEOUT_MS);
    });
    const pingedMs = this.clock.now();
    try {
      // Ping on the subscribed connection. There, the response proves that all earlier messages have arrived.
      await Promise.race([this.subscriber.ping(), timeout]);
      // Don't use `pingedMs`. The ping may have waited until the subscription was active again.
      this.connectedSinceMs ??= this.clock.now();
      this.heardUntilMs = Math.max(pingedMs, this.connectedSinceMs);
    } catch {
      this.onLost();
      if (this.subscriber.status === 'ready') this.subscriber.disconnect(true);
    } finally {
      clearTimeout(timer);
    }
  }

  private onLost(): void {
    if (this.connectedSinceMs === null) return;
    this.connectedSinceMs = null;
    this.gapFromMs = this.heardUntilMs;
    this.log.warn(
      { event: 'invalidation_bus_lost' },
      'Changes to keys now take up to ten seconds to reach this process',
    );
  }
}
