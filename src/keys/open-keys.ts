/** Puts the keys of the request path together: look-up, cache, invalidation, times of use. */
import type { Kysely } from 'kysely';
import type { Clock } from '../platform/clock.js';
import type { GatewayFile } from '../config/model/schema.js';
import type { DatabaseHandle } from '../stores/database/connect.js';
import type { Tables } from '../stores/database/schema.js';
import type { Logger } from '../platform/log.js';
import type { ReadsGauges } from '../platform/metrics-text.js';
import { connectRedis, connectSubscriber } from '../stores/redis/connect.js';
import type { ApiKeyRecord, InvalidationBus } from './api-key.js';
import { ApiKeyCache } from './api-key-cache.js';
import { DatabaseKeyLookup } from './api-key-lookup.js';
import { Authenticator } from './authenticator.js';
import { CachedKeyFactory, type CachedKey } from './cached-key.js';
import { LastUsed } from './last-used.js';
import { ProcessBus } from './process-bus.js';
import { RedisBus } from './redis-bus.js';
import { ScopeSets } from './scopes.js';

export interface Keys extends ReadsGauges {
  readonly authenticator: Authenticator;
  readonly bus: InvalidationBus;
  /** The key of a record as requests would find it; see `ApiKeyCache.build`. */
  build(record: ApiKeyRecord): CachedKey;
  /** Goes by these plans from now on. */
  use(plans: GatewayFile['plans']): void;
  /** Writes the times of use that wait, and closes connections. Never rejects. */
  stop(): Promise<void>;
}

export interface KeyParts {
  readonly db: Kysely<Tables>;
  readonly kind: DatabaseHandle['kind'];
  readonly clock: Clock;
  readonly log: Logger;
  readonly plans: GatewayFile['plans'];
  /**
   * As `connectRedis` takes it. Undefined: changes made in this process reach it without a message, those of others do
   * not.
   */
  readonly redisUrl: string | undefined;
  /** Whether every process that can work on the same database is heard there. */
  readonly hearsAll: boolean;
}

export function openKeys({ db, kind, clock, log, plans, redisUrl, hearsAll }: KeyParts): Keys {
  const { bus, close, gauges } =
    redisUrl === undefined ? processBus(hearsAll) : redisBus(redisUrl, hearsAll, clock, log);
  const lookup = new DatabaseKeyLookup(db, kind);
  const factory = new CachedKeyFactory(plans, new ScopeSets(), log);
  const cache = new ApiKeyCache(lookup, factory, bus, clock);
  const lastUsed = new LastUsed(lookup, log);
  lastUsed.start();
  return {
    authenticator: new Authenticator(cache, lastUsed, clock),
    bus,
    build: (record) => cache.build(record),
    use: (changed) => factory.use(changed),
    readGauges: () => {
      for (const source of [cache, ...gauges]) source.readGauges();
    },
    stop: async () => {
      await lastUsed.stop();
      close();
    },
  };
}

/** OpenBus is how changes to keys reach this process. */
interface OpenBus {
  readonly bus: InvalidationBus;
  readonly gauges: readonly ReadsGauges[];
  close(): void;
}

function processBus(alone: boolean): OpenBus {
  return { bus: new ProcessBus(alone), gauges: [], close: () => undefined };
}

function redisBus(redisUrl: string, hearsAll: boolean, clock: Clock, log: Logger): OpenBus {
  const publisher = connectRedis(redisUrl, 'publisher', log);
  const subscriber = connectSubscriber(redisUrl, log);
  const bus = new RedisBus(publisher, subscriber, clock, log, hearsAll);
  bus.start();
  return {
    bus,
    gauges: [bus],
    close: () => {
      bus.stop();
      publisher.disconnect();
      subscriber.disconnect();
    },
  };
}
